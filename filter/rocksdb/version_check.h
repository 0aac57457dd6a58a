// Is the RocksDB in this process the one whose headers this library was compiled with? Classes are
// shared with it by their layout in memory, which differs between versions.

#ifndef WINNOW_FILTER_ROCKSDB_VERSION_CHECK_H_
#define WINNOW_FILTER_ROCKSDB_VERSION_CHECK_H_

#include <string_view>

#include "absl/status/status.h"

namespace winnow::filter::internal {

// Versions as "major.minor". FailedPrecondition with the way out if they differ.
absl::Status CompareRocksDbVersions(std::string_view compiled_for, std::string_view loaded);

// The same for the RocksDB that this process has loaded.
absl::Status CheckLoadedRocksDb();

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_VERSION_CHECK_H_
