// Cuts the key range of a compaction into parts that threads of their own can work on
// (sub-compactions).
#ifndef WINNOW_ENGINE_COMPACTION_COMPACTION_PARTS_H_
#define WINNOW_ENGINE_COMPACTION_COMPACTION_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/entry_collector.h"
#include "engine/compaction/compaction.h"

namespace winnow {

// User keys >= begin and < end; unset: no bound.
struct CompactionPart {
  std::optional<std::string> begin;
  std::optional<std::string> end;
};

// Between 1 and `most` parts of about equal bytes, in order, that have every key in exactly one of
// them; fewer where they would be smaller than `least_bytes`. Reads nothing from files but indexes
// that are not in memory. A boundary is a user key: all versions of a key are in one part. With
// `collectors` it is one of theirs.
std::vector<CompactionPart> SplitIntoParts(const Compaction& compaction, int most,
                                           uint64_t least_bytes,
                                           const EntryCollectorFactory* collectors = nullptr);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_COMPACTION_PARTS_H_
