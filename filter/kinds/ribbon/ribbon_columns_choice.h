// How many columns a ribbon filter's blocks get, and the false-positive rate that follows. Internal
// to the ribbon kind.

#ifndef WINNOW_FILTER_KINDS_RIBBON_RIBBON_COLUMNS_CHOICE_H_
#define WINNOW_FILTER_KINDS_RIBBON_RIBBON_COLUMNS_CHOICE_H_

#include <cstdint>

#include "filter/kinds/ribbon/ribbon_shape.h"

namespace winnow::filter::internal {

// Chooses columns, form and narrow blocks for layers that have their sizes: of the forms that keep
// to the budget the one that is the smallest, or has the lowest rate. Only large filters, which
// have several shards, get a ternary column. `bumped_share` is what share of the keys is expected
// to be bumped from the first layer.
void ChooseColumns(uint64_t num_keys, const RibbonBudget& budget, double bumped_share,
                   RibbonShape* shape);

// Chooses the narrow blocks again, of a first layer of one shard with these thresholds and further
// layers that have their true sizes.
void ChooseNarrowBlocks(uint64_t num_keys, const RibbonBudget& budget, const uint8_t* thresholds,
                        RibbonShape* shape);

double ExpectedRibbonFpr(const RibbonShape& shape, double bumped_share);
// Of a filter that is built; `thresholds` begins its payload.
double RibbonFpr(const RibbonShape& shape, const uint8_t* thresholds);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_RIBBON_RIBBON_COLUMNS_CHOICE_H_
