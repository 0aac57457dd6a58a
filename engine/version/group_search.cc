#include "engine/version/group_search.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/version/group_sources.h"

namespace winnow {

void GroupSearch::AddEntries(std::unique_ptr<InternalIterator> entries) {
  sources_.push_back(std::make_unique<EntryGroups>(question_, std::move(entries)));
}

bool GroupSearch::AddFiles(const Version& version, const SstableReadOptions& options) {
  const std::string_view lower = question_->lower;
  const std::string_view upper = question_->upper;
  bool has_signatures = false;
  for (int level = 0; level < kNumLevels; level++) {
    Version::Files files = version.Overlapping(level, lower.empty() ? nullptr : &lower,
                                               upper.empty() ? nullptr : &upper);
    for (const auto& file : files) {
      has_signatures =
          has_signatures || (file->reader() != nullptr && file->reader()->has_signatures());
    }
    // Those of level 0 overlap: each is a source of its own.
    const size_t files_in_one = level == 0 ? 1 : files.size();
    for (size_t i = 0; i < files.size(); i += files_in_one) {
      const auto begin = files.begin() + static_cast<std::ptrdiff_t>(i);
      sources_.push_back(std::make_unique<LevelGroups>(
          question_, Version::Files(begin, begin + static_cast<std::ptrdiff_t>(files_in_one)),
          options, &findings_));
    }
  }
  return has_signatures;
}

// A merge: of each group the values that its sources have are put together. O(sources) a group. An
// error of any source ends the search: the group that it would have come to may be this one.
bool GroupSearch::Next() {
  if (!is_started_) {
    for (const auto& source : sources_) source->SeekToFirst();
    is_started_ = true;
  }
  const size_t num_values = question_->values.size();
  const uint64_t all =
      num_values == GroupQuestion::kMaxValues ? ~uint64_t{0} : (uint64_t{1} << num_values) - 1;
  for (;;) {
    const GroupSource* first = nullptr;
    for (const auto& source : sources_) {
      if (!source->Valid()) {
        status_ = source->status();
        if (!status_.ok()) return false;
        continue;
      }
      if (first == nullptr || source->group() < first->group()) first = source.get();
    }
    if (first == nullptr) return false;
    group_.assign(first->group());
    uint64_t values = 0;
    for (const auto& source : sources_) {
      // More than once where a level has the group in two files.
      for (; source->Valid() && source->group() == group_; source->Next()) {
        values |= source->values();
      }
    }
    if (values == all) return true;
  }
}

}  // namespace winnow
