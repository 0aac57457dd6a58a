#include "engine/version/level_files.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace winnow {

void SortLevels(const InternalKeyComparator& comparator, LevelFiles* levels) {
  // Not by sequence numbers: an ingested table's is newer than entries in the memtable that have no
  // key of its range, and are flushed after it. Once it is merged with neighbours that have, the
  // largest number of each of two files may be newer than the other's for some key.
  std::sort((*levels)[0].begin(), (*levels)[0].end(), [](const auto& a, const auto& b) {
    return a->metadata().epoch_number > b->metadata().epoch_number;
  });
  for (size_t level = 1; level < levels->size(); level++) {
    // They do not overlap, so that one bound orders them by the other as well.
    std::sort((*levels)[level].begin(), (*levels)[level].end(), [&](const auto& a, const auto& b) {
      return comparator.Compare(a->metadata().smallest, b->metadata().smallest) < 0;
    });
  }
}

// After every edit, O(files): what is wrong here would give wrong answers silently. Whoever reads a
// manifest turns the error into DataLoss, since then the bytes are to blame.
absl::Status CheckLevels(const InternalKeyComparator& comparator, const LevelFiles& levels) {
  for (size_t level = 0; level < levels.size(); level++) {
    const Version::Files& files = levels[level];
    for (size_t i = 0; i < files.size(); i++) {
      if (comparator.Compare(files[i]->metadata().smallest, files[i]->metadata().largest) > 0) {
        return absl::InternalError(
            absl::StrCat("file ", files[i]->number(), " ends before it begins"));
      }
      if (level == 0) {
        const uint64_t epoch_number = files[i]->metadata().epoch_number;
        if (epoch_number == 0) {
          return absl::InternalError(
              absl::StrCat("file ", files[i]->number(), " of level 0 has no epoch number"));
        }
        if (i > 0 && files[i - 1]->metadata().epoch_number == epoch_number) {
          return absl::InternalError(absl::StrCat("files ", files[i - 1]->number(), " and ",
                                                  files[i]->number(),
                                                  " of level 0 have the same epoch number"));
        }
        continue;
      }
      // By user keys: two versions of one key in two files of a level would be an overlap, too,
      // since a look-up reads one file of it. Sorted, only neighbours need be compared.
      if (i > 0 && !files[i - 1]->EndsBefore(files[i]->smallest_user_key(), comparator)) {
        return absl::InternalError(absl::StrCat("files ", files[i - 1]->number(), " and ",
                                                files[i]->number(), " of level ", level,
                                                " overlap"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace winnow
