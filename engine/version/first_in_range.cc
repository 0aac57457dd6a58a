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

// Trivial, so that an array of them costs nothing to make.
struct Candidate {
  const SstableFile* file;
  int level;
  bool has_question;
  // Of the question, if there is one: the filter key is a beginning of the prefix.
  filter::FilterKeyExtractor::Part::Category part;
  size_t filter_key_bytes;
  uint64_t hash;
};

// Two passes: the first finds the files and fetches the lines of their filters, the second asks and
// reads. So the cache misses of all filters overlap, as in Version::Get.
class Search {
 public:
  Search(const Version& version, const FirstQuestion& question, const LookupContext& context,
         FirstInRange* first)
      : version_(version),
        key_time_parser_(question.key_time_parser),
        far_markers_from_(question.far_markers_from),
        question_(*question.prefix),
        prefix_(question.prefix->prefix()),
        context_(context),
        first_(*first) {
    if (first_.is_found) NoteTimeOfFirst();
  }

  // False: too many.
  bool FindCandidates() {
    // Level 0 is in no order of keys, and is looked through whole.
    for (const auto& file : version_.files(0)) {
      // All its keys are greater, or all are less.
      const bool begins_behind = file->smallest_user_key().substr(0, prefix_.size()) > prefix_;
      if (begins_behind || file->EndsBefore(prefix_, version_.comparator())) continue;
      if (!Add(*file, 0)) return false;
    }
    for (const auto& [level, index, tombstones] : version_.sorted_levels()) {
      const Version::Files& files = version_.files(level);
      const LevelIndex::FileRange range = index.FilesWithPrefix(prefix_);
      for (size_t i = range.begin; i < range.end; i++) {
        if (!Add(*files[i], level)) return false;
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
  // these keys: a key of the time of the one that was found may be that very key, in a newer
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

  bool Add(const SstableFile& file, int level) {
    if (IsPassed(file)) return true;
    if (num_candidates_ == kMaxCandidates) return false;
    Candidate& candidate = candidates_[num_candidates_++];
    candidate.file = &file;
    candidate.level = level;
    candidate.has_question = false;
    const SstableReader* const reader = file.reader();
    if (reader == nullptr || !reader->has_filter()) return true;
    const auto* const asked = question_.For(reader->filter_key(), reader->hash_seed());
    // Then the file is read without a question.
    if (asked == nullptr) return true;
    candidate.has_question = true;
    candidate.part = asked->part.category();
    candidate.filter_key_bytes = asked->filter_key.size();
    candidate.hash = asked->hash;
    reader->filter().Prefetch(candidate.hash);
    return true;
  }

  absl::Status Ask(const Candidate& candidate) {
    const SstableReader* const reader = candidate.file->reader();
    // A file that is left out might hold the least entry, or what deletes it.
    if (reader == nullptr) return candidate.file->open_status();
    FilterCounters* const counters =
        context_.filter_counters == nullptr || !candidate.has_question
            ? nullptr
            : context_.filter_counters->At(
                  candidate.level, FilterSlot(candidate.file->filter_kind_index(), candidate.part));
    FilterAnswer answer = FilterAnswer::kNotAsked;
    if (candidate.has_question) {
      answer = reader->AskFilter(context_.read_options, candidate.hash,
                                 prefix_.substr(0, candidate.filter_key_bytes));
    }
    if (answer == FilterAnswer::kNo) {
      if (counters != nullptr) counters->rejected.Increment();
      return absl::OkStatus();
    }
    SstableIterator iterator(*reader, context_.read_options);
    // In front of all versions of the prefix as a key: what stands there is the file's least entry
    // of these keys, whatever its sequence number.
    iterator.Seek(MakeInternalKey(prefix_, kMaxSequenceNumber, kEntryTypeForSeek));
    // Invalid with an OK status: the file ends before they would.
    if (!iterator.Valid()) WINNOW_RETURN_IF_ERROR(iterator.status());
    const bool is_found = iterator.Valid() && UserKey(iterator.key()).starts_with(prefix_);
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
  filter::PrefixQuestion& question_;
  const std::string_view prefix_;
  const LookupContext& context_;
  FirstInRange& first_;
  uint64_t found_end_ = 0;  // one more than the time of first_; 0: not known
  std::array<Candidate, kMaxCandidates> candidates_;
  size_t num_candidates_ = 0;
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
