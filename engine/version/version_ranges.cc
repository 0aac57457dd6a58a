// What an iterator between bounds meets, for people.
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/version/version.h"

namespace winnow {

namespace {

// What the range filter of a file that is open answers.
void ExplainRangeFilter(const SstableReader& reader, std::string_view lower, std::string_view upper,
                        ExplainStep* step) {
  step->file_name = reader.path();
  const std::string_view text = RangeFilterText(reader.filter_description().spec);
  step->filter = text.empty() ? "none" : text;
  const RangeFilterBlock* const filter = reader.range_filter();
  if (filter == nullptr) return;
  if (!filter->is_usable()) {
    step->filter_answer = ExplainStep::FilterAnswer::kUnusable;
    step->detail = filter->lacks_room() ? "no room for the range filter" : filter->state().reason;
    return;
  }
  // As an iterator asks, but without the promised rate, which statistics alone want.
  step->filter_answer = filter->reader().MayContain(lower, upper)
                            ? ExplainStep::FilterAnswer::kMaybe
                            : ExplainStep::FilterAnswer::kNo;
}

}  // namespace

void Version::ExplainSeek(std::string_view begin, std::string_view upper,
                          const InternalKeyComparator& comparator, InternalIterator* entries,
                          ExplainStep* step) {
  // One seek: what an iterator over this source alone would meet first.
  entries->Seek(begin);
  if (!entries->status().ok()) {
    step->answer = ExplainStep::Answer::kError;
    step->detail = ToStd(entries->status().message());
    return;
  }
  const bool any =
      entries->Valid() && comparator.CompareUserKeys(UserKey(entries->key()), upper) < 0;
  step->answer = any ? ExplainStep::Answer::kEntries : ExplainStep::Answer::kAbsent;
  if (any) step->sequence = Sequence(entries->key());
}

// Files whose filter says no are not read, as by an iterator.
void Version::ExplainRange(std::string_view lower, std::string_view upper,
                           std::vector<ExplainStep>* steps) const {
  const std::string begin = MakeInternalKey(lower, kMaxSequenceNumber, kEntryTypeForSeek);
  for (int level = 0; level < kNumLevels; level++) {
    for (const auto& file : files(level)) {
      // Every file of the level is looked at, not only neighbours by search: this is for people,
      // and rare.
      if (file->EndsBefore(lower, comparator_) ||
          comparator_.CompareUserKeys(file->smallest_user_key(), upper) >= 0) {
        continue;
      }
      ExplainStep* const step = AddStep(*file, level, steps);
      if (step == nullptr) continue;
      ExplainRangeFilter(*file->reader(), lower, upper, step);
      if (step->filter_answer == ExplainStep::FilterAnswer::kNo) continue;
      const auto iterator = file->reader()->NewIterator(SstableReadOptions());
      ExplainSeek(begin, upper, comparator_, iterator.get(), step);
      step->false_positive = step->filter_answer == ExplainStep::FilterAnswer::kMaybe &&
                             step->answer == ExplainStep::Answer::kAbsent;
    }
  }
}

}  // namespace winnow
