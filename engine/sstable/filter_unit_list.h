// What a table, or a filter file, says of the units of its filter block (FORMAT.md).
#ifndef WINNOW_ENGINE_SSTABLE_FILTER_UNIT_LIST_H_
#define WINNOW_ENGINE_SSTABLE_FILTER_UNIT_LIST_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "winnow/filter/builder.h"

namespace winnow {

inline constexpr size_t kListedUnitBytes = 24;
inline constexpr size_t kMostListedUnits = filter::FilterBuilder::kMaxUnitsToBuild;

std::string EncodeUnitList(std::span<const filter::BuiltUnit> units);
// False: it is none, or of no unit or too many; `*units` then holds nothing of use.
bool DecodeUnitList(std::string_view bytes, std::vector<filter::BuiltUnit>* units);
// Are these all units of a filter block of `block_bytes` bytes?
bool UnitsFillBlock(std::span<const filter::BuiltUnit> units, uint64_t block_bytes);

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_FILTER_UNIT_LIST_H_
