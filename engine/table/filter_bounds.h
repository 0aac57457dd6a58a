// What can be known of a filter's answers before anything is read.
#ifndef WINNOW_ENGINE_TABLE_FILTER_BOUNDS_H_
#define WINNOW_ENGINE_TABLE_FILTER_BOUNDS_H_

#include "engine/table/byte_ranges.h"
#include "engine/table/filter_node.h"

namespace winnow {

// Fills in FilterNode::ranges, once the node has its arguments: a filter may have thousands of
// ranges, and each read asks for them.
void KeepRanges(FilterNode* node);

// A read that passes over all other rows, and over all other columns in each, gives what it would
// give without that.
ByteRanges RowsOf(const FilterNode& node);
ByteRanges ColumnsOf(const FilterNode& node);

// Whether what is shown of a row is known only at its end.
bool DecidesRows(const FilterNode& node);
// Whether it may show a cell, keep its row at the end, and take the cell away then.
bool TakesCellsLate(const FilterNode& node);
// Whether what it lets through depends on how many rows or cells it has seen, or which.
bool CountsCells(const FilterNode& node);
// Whether it counts the rows that it keeps. Such a filter must be asked last about the end of a
// row: a row that another refuses there takes no place on the page.
bool CountsRows(const FilterNode& node);
// Whether what it refuses may end the read.
bool MayEndReads(const FilterNode& node);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_FILTER_BOUNDS_H_
