// What the adapter counts and warns of.

#ifndef WINNOW_FILTER_ROCKSDB_DIAGNOSTICS_H_
#define WINNOW_FILTER_ROCKSDB_DIAGNOSTICS_H_

#include <cstdint>
#include <string>

#include "winnow/filter/reader.h"

namespace winnow::filter::internal {

void CountBuiltFilter(bool fell_back);
// `state` is how opening went; counts, and warns once for each kind of failure.
void CountOpenedFilter(const FilterState& state);

// Warns of a policy name that is refused, unless it was the last one: RocksDB reads an options file
// more than once, and goes on without a filter and without a word when a name in it is wrong.
void WarnOfRefusedName(const std::string& reason);

// A line to the handler of SetFilterPolicyWarningHandler.
void Warn(const std::string& line);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_DIAGNOSTICS_H_
