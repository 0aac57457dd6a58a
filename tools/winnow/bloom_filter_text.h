// BLOOMFILTER of a table's family, as people write it.
#ifndef WINNOW_TOOLS_WINNOW_BLOOM_FILTER_TEXT_H_
#define WINNOW_TOOLS_WINNOW_BLOOM_FILTER_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

namespace winnow::cli {

// FamilySchema::bloom_filter of several things that the filters shall know: parts of a filter key,
// as "prefix:8", or HBase's names for some, as "ROWCOL", each once: "ROWCOL" and "prefix:8" make
// "component:1+component:2+prefix:8". One stands for itself. What is neither is kept as it is, for
// the schema's own check to name.
std::string BloomFilterOf(const std::vector<std::string>& items);

// The items of "ROWCOL,prefix:8". A comma right behind "delimiter:" is the delimiter.
std::vector<std::string> BloomFilterItems(std::string_view text);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_BLOOM_FILTER_TEXT_H_
