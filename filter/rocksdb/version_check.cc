#include "filter/rocksdb/version_check.h"

#include <rocksdb/version.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace winnow::filter::internal {

absl::Status CompareRocksDbVersions(std::string_view compiled_for, std::string_view loaded) {
  // Older ones are refused like newer ones: no two minor versions promise the same layout.
  if (compiled_for == loaded) return absl::OkStatus();
  const auto to_absl = [](std::string_view text) {
    return absl::string_view(text.data(), text.size());
  };
  return absl::FailedPreconditionError(absl::StrCat(
      "Winnow's filters were compiled for RocksDB ", to_absl(compiled_for),
      ", but this process runs RocksDB ", to_absl(loaded),
      "; compile Winnow with that version's headers (-DRocksDB_ROOT=...). No winnow.* filter "
      "policy is available; databases stay readable without them"));
}

// By major and minor number: patches keep the layout of classes. The function that is called lives
// in the loaded library and touches no class of ours or theirs but std::string.
absl::Status CheckLoadedRocksDb() {
  return CompareRocksDbVersions(absl::StrCat(ROCKSDB_MAJOR, ".", ROCKSDB_MINOR),
                                ROCKSDB_NAMESPACE::GetRocksVersionAsString(/*with_patch=*/false));
}

}  // namespace winnow::filter::internal
