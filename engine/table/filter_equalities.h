// Which values a row must have for a filter to show anything of it.
#ifndef WINNOW_ENGINE_TABLE_FILTER_EQUALITIES_H_
#define WINNOW_ENGINE_TABLE_FILTER_EQUALITIES_H_

#include <string_view>
#include <vector>

#include "engine/table/filter_node.h"

namespace winnow {

// A cell of this column with this value, of whatever time; the filter's bytes.
struct ColumnEquality {
  std::string_view family;
  std::string_view qualifier;
  std::string_view value;
};

// A read that passes over all rows that lack one of these gives what it would give without that.
// None: it has to read all rows.
std::vector<ColumnEquality> EqualitiesOf(const FilterNode& node);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_FILTER_EQUALITIES_H_
