#include "engine/version/first_in_range.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "engine/base/status.h"
#include "engine/sstable/sstable_iterator.h"

namespace winnow {

namespace {

// More than a tree in good order has in a narrow range: one file for each level, and some of level
// 0. Where there are more, the caller goes by an iterator.
constexpr size_t kMaxCandidates = 16;

struct Candidate {
  const SstableFile* file = nullptr;
  int level = 0;
  bool has_question = false;
  filter::FilterKeyExtractor::Question question;
};

// The files of a sorted level from the first that ends behind `lower` on.
Version::Files::const_iterator FirstEndingBehind(const Version::Files& files,
                                                 std::string_view lower,
                                                 const InternalKeyComparator& comparator) {
  return std::partition_point(files.begin(), files.end(), [&](const auto& file) {
    return file->EndsBefore(lower, comparator);
  });
}

// Two passes: the first finds the files and fetches the lines of their filters, the second asks and
// reads. So the cache misses of all filters overlap, as in Version::Get.
class Search {
 public:
  Search(const Version& version, const FirstQuestion& question, const LookupContext& context,
         FirstInRange* first)
      : version_(version),
        key_time_parser_(question.key_time_parser),
        far_markers_from_(question.far_markers_from),
        lower_(question.lower),
        upper_(question.upper),
        context_(context),
        first_(*first) {
    if (first_.is_found) NoteTimeOfFirst();
  }

  // False: too many.
  bool FindCandidates() {
    const InternalKeyComparator& comparator = version_.comparator();
    for (int level = 0; level < kNumLevels; level++) {
      const Version::Files& files = version_.files(level);
      // Level 0 is in no order of keys, and is looked through whole.
      auto at = level == 0 ? files.begin() : FirstEndingBehind(files, lower_, comparator);
      for (; at != files.end(); ++at) {
        const SstableFile& file = **at;
        const bool begins_behind =
            comparator.CompareUserKeys(file.smallest_user_key(), upper_) >= 0;
        if (begins_behind && level > 0) break;
        if (begins_behind || (level == 0 && file.EndsBefore(lower_, comparator))) continue;
        if (IsPassed(file)) continue;
        if (num_candidates_ == kMaxCandidates) return false;
        Prepare(file, level);
      }
    }
    return true;
  }

  // From the newest file on, where the latest time mostly is.
  absl::Status AskCandidates() {
    for (size_t i = 0; i < num_candidates_; i++) {
      // By what was found since it became one.
      if (i > 0 && IsPassed(*candidates_[i].file)) continue;
      WINNOW_RETURN_IF_ERROR(Ask(candidates_[i]));
    }
    return absl::OkStatus();
  }

 private:
  void NoteTimeOfFirst() {
    TimedKey parsed;
    if (key_time_parser_ == nullptr || !key_time_parser_(UserKey(first_.key), &parsed)) return;
    found_end_ = parsed.time + 1;
  }

  // Whether the file's times say that it has nothing that counts, which need not be the least of
  // its range: a key of the time of the one that was found may be that very key, in a newer
  // version.
  bool IsPassed(const SstableFile& file) const {
    const std::optional<KeyTimes>& times = file.metadata().key_times;
    if (key_time_parser_ == nullptr || !times.has_value()) return false;
    const bool is_passed =
        far_markers_from_.has_value()
            ? times->far_marker_end <= *far_markers_from_
            : std::max(times->end, times->marker_end) < std::max<uint64_t>(found_end_, 1);
    if (is_passed && context_.files_passed_by_time != nullptr) {
      context_.files_passed_by_time->Increment();
    }
    return is_passed;
  }

  // Files of one family mostly have the same kind of filter key, and the same seed.
  void Prepare(const SstableFile& file, int level) {
    Candidate& candidate = candidates_[num_candidates_++];
    candidate.file = &file;
    candidate.level = level;
    const SstableReader* const reader = file.reader();
    // Under another order the keys between two bounds need not have the part in common that the
    // filter knows.
    if (reader == nullptr || !reader->has_filter() || !version_.comparator().is_bytewise()) return;
    const bool is_as_before = asked_ != nullptr && asked_->hash_seed() == reader->hash_seed() &&
                              asked_->filter_key() == reader->filter_key();
    if (!is_as_before) {
      question_ = reader->filter_key().QuestionOfRange(lower_, upper_, reader->hash_seed());
      asked_ = reader;
    }
    // The bounds may have no such part in common: then the file is read without a question.
    candidate.has_question = question_.has_value();
    if (!candidate.has_question) return;
    candidate.question = *question_;
    reader->filter().Prefetch(candidate.question.hash);
  }

  absl::Status Ask(const Candidate& candidate) {
    const SstableReader* const reader = candidate.file->reader();
    // A file that is left out might hold the least entry, or what deletes it.
    if (reader == nullptr) return candidate.file->open_status();
    FilterCounters* const counters =
        context_.filter_counters == nullptr || !candidate.has_question
            ? nullptr
            : context_.filter_counters->At(candidate.level,
                                           FilterSlot(candidate.file->filter_kind_index(),
                                                      candidate.question.part.category()));
    FilterAnswer answer = FilterAnswer::kNotAsked;
    if (candidate.has_question) {
      answer = reader->AskFilter(context_.read_options, candidate.question.hash,
                                 candidate.question.filter_key);
    }
    if (answer == FilterAnswer::kNo) {
      if (counters != nullptr) counters->rejected.Increment();
      return absl::OkStatus();
    }
    SstableIterator iterator(*reader, context_.read_options);
    // In front of all versions of `lower`: what stands there is the file's least entry of the
    // range, whatever its sequence number.
    iterator.Seek(MakeInternalKey(lower_, kMaxSequenceNumber, kEntryTypeForSeek));
    // Invalid with an OK status: the file ends before the range does.
    if (!iterator.Valid()) WINNOW_RETURN_IF_ERROR(iterator.status());
    const bool is_found = iterator.Valid() && version_.comparator().CompareUserKeys(
                                                  UserKey(iterator.key()), upper_) < 0;
    if (counters != nullptr) {
      (answer == FilterAnswer::kNotAsked ? counters->not_asked
       : is_found                        ? counters->true_positive
                                         : counters->false_positive)
          .Increment();
    }
    if (!is_found) return absl::OkStatus();
    // As internal keys: of one user key the newest version is the least.
    if (!first_.is_found || version_.comparator().Compare(iterator.key(), first_.key) < 0) {
      first_.Take(iterator.key(), iterator.value());
      NoteTimeOfFirst();
    }
    return absl::OkStatus();
  }

  const Version& version_;
  const KeyTimeParser key_time_parser_;
  const std::optional<uint64_t> far_markers_from_;
  const std::string_view lower_;
  const std::string_view upper_;
  const LookupContext& context_;
  FirstInRange& first_;
  uint64_t found_end_ = 0;  // one more than the time of first_; 0: not known
  std::array<Candidate, kMaxCandidates> candidates_;
  size_t num_candidates_ = 0;
  const SstableReader* asked_ = nullptr;
  std::optional<filter::FilterKeyExtractor::Question> question_;
};

}  // namespace

absl::StatusOr<bool> FindFirstInFiles(const Version& version, const FirstQuestion& question,
                                      const LookupContext& context, FirstInRange* first) {
  Search search(version, question, context, first);
  if (!search.FindCandidates()) return false;
  WINNOW_RETURN_IF_ERROR(search.AskCandidates());
  return true;
}

}  // namespace winnow
