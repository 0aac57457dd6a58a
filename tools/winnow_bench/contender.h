// What --engine lists: an engine's name, or "<engine>@<filter>", so that one engine runs several
// times in one comparison, each time with another filter.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_CONTENDER_H_
#define WINNOW_TOOLS_WINNOW_BENCH_CONTENDER_H_

#include <optional>
#include <string>
#include <string_view>

namespace winnow::bench {

// "rocksdb" of "rocksdb@cuckoo:1%" and of "rocksdb".
std::string_view EngineOf(std::string_view contender);

// "rocksdb" of "rocksdb_tuned@cuckoo:1%" as well, and "winnow" of "winnow_mapped": whose filters
// and settings the contender takes.
std::string_view StoreOf(std::string_view contender);

// "cuckoo:1%" of "rocksdb@cuckoo:1%"; nothing of "rocksdb".
std::optional<std::string_view> FilterOf(std::string_view contender);

// The list with each "<engine>@*:<amount>" replaced by one contender for each kind of filter that
// Winnow has and that takes this amount.
std::string ExpandContenders(std::string_view list);

// The list with "rocksdb_tuned@<filter>" after each "rocksdb@<filter>", if it is not in it already.
std::string AddTunedContenders(std::string_view list);

// The contender as the name of a folder.
std::string FolderOf(std::string_view contender);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_CONTENDER_H_
