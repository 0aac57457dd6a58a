// The functions that query a kind whose slots have one of many widths, in bits. Internal.

#ifndef WINNOW_FILTER_KINDS_QUERIES_BY_WIDTH_H_
#define WINNOW_FILTER_KINDS_QUERIES_BY_WIDTH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "filter/kinds/kind.h"

namespace winnow::filter::internal {

// QueriesOf<width>::MayContain and MayContainBatch query a unit of that width, unit.parameter,
// which is at most kMaxWidth.
template <template <int kWidth> class QueriesOf, int kMaxWidth>
class QueriesByWidth {
 public:
  // KindOperations::may_contain_of, may_contain and may_contain_batch.
  static MayContainFunction MayContainOf(const UnitView& unit) {
    return Functions::kMayContain[unit.parameter];
  }
  static bool MayContain(const UnitView& unit, uint64_t key_hash) {
    return MayContainOf(unit)(unit, key_hash);
  }
  static void MayContainBatch(const UnitView& unit, const uint64_t* key_hashes, size_t count,
                              uint8_t* may_contain) {
    Functions::kMayContainBatch[unit.parameter](unit, key_hashes, count, may_contain);
  }

 private:
  template <typename Widths>
  struct FunctionsOf;

  template <int... kWidths>
  struct FunctionsOf<std::integer_sequence<int, kWidths...>> {
    static constexpr std::array<MayContainFunction, sizeof...(kWidths)> kMayContain = {
        &QueriesOf<kWidths>::MayContain...};
    static constexpr std::array<MayContainBatchFunction, sizeof...(kWidths)> kMayContainBatch = {
        &QueriesOf<kWidths>::MayContainBatch...};
  };

  using Functions = FunctionsOf<std::make_integer_sequence<int, kMaxWidth + 1>>;
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_QUERIES_BY_WIDTH_H_
