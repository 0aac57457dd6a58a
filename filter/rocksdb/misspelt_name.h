// What is said of a filter policy's name that is nearly one of ours.

#ifndef WINNOW_FILTER_ROCKSDB_MISSPELT_NAME_H_
#define WINNOW_FILTER_ROCKSDB_MISSPELT_NAME_H_

#include <string>
#include <string_view>

namespace winnow::filter::internal {

// One line for a name that is not "winnow." and something: which name was meant, if what remains of
// it without a prefix is a spec, otherwise what names look like.
std::string AdviceOnMisspeltName(std::string_view name);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_MISSPELT_NAME_H_
