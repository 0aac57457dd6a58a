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
  Search(const Version& version, std::string_view lower, std::string_view upper,
         const LookupContext& context)
      : version_(version), lower_(lower), upper_(upper), context_(context) {}

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
        if (num_candidates_ == kMaxCandidates) return false;
        Prepare(file, level);
      }
    }
    return true;
  }

  absl::Status AskCandidates(FirstInRange* first) {
    for (size_t i = 0; i < num_candidates_; i++) {
      WINNOW_RETURN_IF_ERROR(Ask(candidates_[i], first));
    }
    return absl::OkStatus();
  }

 private:
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

  absl::Status Ask(const Candidate& candidate, FirstInRange* first) const {
    const SstableReader* const reader = candidate.file->reader();
    // A file that is left out might hold the least entry, or what deletes it.
    if (reader == nullptr) return candidate.file->open_status();
    FilterCounters* const counters =
        context_.filter_counters == nullptr || !candidate.has_question
            ? nullptr
            : context_.filter_counters->At(candidate.level, candidate.file->filter_kind_index());
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
    if (!first->is_found || version_.comparator().Compare(iterator.key(), first->key) < 0) {
      first->Take(iterator.key(), iterator.value());
    }
    return absl::OkStatus();
  }

  const Version& version_;
  const std::string_view lower_;
  const std::string_view upper_;
  const LookupContext& context_;
  std::array<Candidate, kMaxCandidates> candidates_;
  size_t num_candidates_ = 0;
  const SstableReader* asked_ = nullptr;
  std::optional<filter::FilterKeyExtractor::Question> question_;
};

}  // namespace

absl::StatusOr<bool> FindFirstInFiles(const Version& version, std::string_view lower,
                                      std::string_view upper, const LookupContext& context,
                                      FirstInRange* first) {
  Search search(version, lower, upper, context);
  if (!search.FindCandidates()) return false;
  WINNOW_RETURN_IF_ERROR(search.AskCandidates(first));
  return true;
}

}  // namespace winnow
