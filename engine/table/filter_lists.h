// Filters of other filters at work: AND, OR, SKIP, WHILE.
#ifndef WINNOW_ENGINE_TABLE_FILTER_LISTS_H_
#define WINNOW_ENGINE_TABLE_FILTER_LISTS_H_

#include <memory>

#include "engine/table/filter_state.h"

namespace winnow {

// Of a node that has one of these kinds.
std::unique_ptr<FilterState> NewFilterListState(const FilterNode& node, bool is_reverse);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_FILTER_LISTS_H_
