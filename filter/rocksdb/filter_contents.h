// What lies in a RocksDB filter block: a filter block of Winnow's in a form that RocksDB, which
// looks for its own filters under the same name, takes for one that rejects nothing. See FORMAT.md.

#ifndef WINNOW_FILTER_ROCKSDB_FILTER_CONTENTS_H_
#define WINNOW_FILTER_ROCKSDB_FILTER_CONTENTS_H_

#include <optional>
#include <string_view>

namespace winnow::filter::internal {

// RocksDB's trailer of a filter with zero probes, which every version answers "may match" for.
inline constexpr std::string_view kZeroProbes("\0\0\0\0\0", 5);
// What stands for a filter that could not be built at all, as RocksDB itself writes it: its readers
// and ours answer "may contain".
inline constexpr std::string_view kUnbuiltFilter("\0\0\0\0\0\0", 6);

// Is it ours to read? Otherwise it is one of RocksDB's own kinds.
inline bool IsWinnowFilter(std::string_view contents) {
  // Either mark alone, so that no damaged filter of ours is read as one of RocksDB's.
  return contents.starts_with("WNWFILTR") ||
         (contents.ends_with(kZeroProbes) && contents.size() > kUnbuiltFilter.size());
}

// The filter block inside; nothing if the trailer is not as it was written.
inline std::optional<std::string_view> FilterBlockIn(std::string_view contents) {
  if (!contents.ends_with(kZeroProbes)) return std::nullopt;
  contents.remove_suffix(kZeroProbes.size());
  return contents;
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_FILTER_CONTENTS_H_
