// What an iterator between bounds meets, for people.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/version/version.h"

namespace winnow {

namespace {

// What the range filter of a file that is open answers.
void ExplainRangeFilter(const SstableReader& reader, std::string_view lower, std::string_view upper,
                        ExplainStep* step) {
  const RangeFilterBlock* const filter = reader.range_filter();
  const std::string_view text = RangeFilterText(reader.filter_description().spec);
  if (!text.empty()) {
    absl::StrAppend(&step->filter, step->filter.empty() ? "" : " and ", ToAbsl(text));
  }
  if (filter == nullptr) return;
  if (!filter->is_usable()) {
    // Of two filters, one that could be asked has answered.
    if (step->filter_answer == ExplainStep::FilterAnswer::kNoFilter) {
      step->filter_answer = ExplainStep::FilterAnswer::kUnusable;
    }
    step->detail = filter->lacks_room() ? "no room for the range filter" : filter->state().reason;
    return;
  }
  // As an iterator asks, but without the promised rate, which statistics alone want.
  step->filter_answer = filter->reader().MayContain(lower, upper)
                            ? ExplainStep::FilterAnswer::kMaybe
                            : ExplainStep::FilterAnswer::kNo;
}

}  // namespace

// By the part that all keys of the range have, if the filter knows one.
void Version::ExplainPart(const SstableReader& reader, std::string_view lower,
                          std::string_view upper, ExplainStep* step) const {
  const auto question = comparator_.is_bytewise() && reader.has_filter()
                            ? reader.filter_key().QuestionOfRange(lower, upper, reader.hash_seed())
                            : std::nullopt;
  if (!question.has_value()) return;
  const std::string filter = FilterText(reader);
  step->filter = absl::StrCat(ToAbsl(PointFilterText(filter)), " by ", question->part.ToString());
  NoteFilterAnswer(
      reader, reader.AskFilter(SstableReadOptions(), question->hash, question->filter_key), step);
}

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
      ExplainPart(*file->reader(), lower, upper, step);
      if (step->filter_answer == ExplainStep::FilterAnswer::kNo) continue;
      ExplainRangeFilter(*file->reader(), lower, upper, step);
      if (step->filter.empty()) step->filter = "none";
      if (step->filter_answer == ExplainStep::FilterAnswer::kNo) continue;
      const auto iterator = file->reader()->NewIterator(SstableReadOptions());
      ExplainSeek(begin, upper, comparator_, iterator.get(), step);
      step->false_positive = step->filter_answer == ExplainStep::FilterAnswer::kMaybe &&
                             step->answer == ExplainStep::Answer::kAbsent;
    }
  }
}

}  // namespace winnow
