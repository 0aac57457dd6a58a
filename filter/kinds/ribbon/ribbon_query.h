// Queries of a ribbon filter: its operations that do not build. Internal to the ribbon kind.

#ifndef WINNOW_FILTER_KINDS_RIBBON_RIBBON_QUERY_H_
#define WINNOW_FILTER_KINDS_RIBBON_RIBBON_QUERY_H_

#include <cstddef>
#include <cstdint>

#include "filter/kinds/kind.h"

namespace winnow::filter::internal {

// KindOperations::prepare, may_contain_of, may_contain, prefetch and may_contain_batch.
void PrepareRibbon(UnitView* unit);
MayContainFunction RibbonMayContainOf(const UnitView& unit);
bool RibbonMayContain(const UnitView& unit, uint64_t key_hash);
void PrefetchRibbon(const UnitView& unit, uint64_t key_hash);
void RibbonMayContainBatch(const UnitView& unit, const uint64_t* key_hashes, size_t count,
                           uint8_t* may_contain);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_RIBBON_RIBBON_QUERY_H_
