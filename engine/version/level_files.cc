#include "engine/version/level_files.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace winnow {

void SortLevels(const InternalKeyComparator& comparator, LevelFiles* levels) {
  std::sort((*levels)[0].begin(), (*levels)[0].end(), [](const auto& a, const auto& b) {
    if (a->metadata().largest_sequence != b->metadata().largest_sequence) {
      return a->metadata().largest_sequence > b->metadata().largest_sequence;
    }
    return a->number() > b->number();
  });
  for (size_t level = 1; level < levels->size(); level++) {
    std::sort((*levels)[level].begin(), (*levels)[level].end(), [&](const auto& a, const auto& b) {
      return comparator.Compare(a->metadata().smallest, b->metadata().smallest) < 0;
    });
  }
}

absl::Status CheckLevels(const InternalKeyComparator& comparator, const LevelFiles& levels) {
  for (size_t level = 0; level < levels.size(); level++) {
    const Version::Files& files = levels[level];
    for (size_t i = 0; i < files.size(); i++) {
      if (comparator.Compare(files[i]->metadata().smallest, files[i]->metadata().largest) > 0) {
        return absl::InternalError(
            absl::StrCat("file ", files[i]->number(), " ends before it begins"));
      }
      if (level > 0 && i > 0 &&
          !files[i - 1]->EndsBefore(files[i]->smallest_user_key(), comparator)) {
        return absl::InternalError(absl::StrCat("files ", files[i - 1]->number(), " and ",
                                                files[i]->number(), " of level ", level,
                                                " overlap"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace winnow
