#include "engine/version/first_in_range.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/base/status.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/version/files_with_prefix.h"

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
  bool has_place;
  FilterAnswer answer;
  // Of the question, if there is one: the filter key is a beginning of the prefix.
  filter::FilterKeyExtractor::Part::Category part;
  size_t filter_key_bytes;
  uint64_t hash;
  BlockDirectory::Place place;  // set if has_place
};

// Made when it is first needed. A std::optional would do, but that GCC 12 clears all the room for
// one that is made on the stack, which for most look-ups is all that happens to it.
template <typename T>
class MadeWhenNeeded {
 public:
  MadeWhenNeeded() {}  // NOLINT(modernize-use-equals-default): the union has no member then
  ~MadeWhenNeeded() {
    if (is_made_) object_.~T();
  }
  MadeWhenNeeded(const MadeWhenNeeded&) = delete;
  MadeWhenNeeded& operator=(const MadeWhenNeeded&) = delete;

  T& Get() {
    if (!is_made_) new (&object_) T;
    is_made_ = true;
    return object_;
  }

 private:
  union {
    T object_;
  };
  bool is_made_ = false;
};

// The last two look-ups, of which one may have the block that the next wants.
class LastLookups {
 public:
  // For a look-up in this table: sets its `steps` and `neighbour`.
  void Use(const SstableReader& table, FirstLookup* lookup) {
    lookup->neighbour = table_ == &table ? last_ : nullptr;
    table_ = &table;
    found_ = nullptr;
    last_ = &(is_last_first_ ? second_ : first_).Get();
    is_last_first_ = !is_last_first_;
    lookup->steps = last_;
  }
  // What the last look-up found is in `found`, until another look-up is made; null: nowhere.
  void NoteFound(const FirstInRange* found) { found_ = found; }
  // SstableReader::FindNext, where the last look-up was in this table and has found something.
  SstableReader::NextEntry FindNext(
      const SstableReader& table, std::string_view prefix,
      absl::FunctionRef<void(const SstableReader::FirstEntry&)> visit) {
    if (table_ != &table || found_ == nullptr) return SstableReader::NextEntry::kUnknown;
    return SstableReader::FindNext(UserKey(found_->key), prefix, last_, visit);
  }

 private:
  const SstableReader* table_ = nullptr;  // of the last
  const FirstInRange* found_ = nullptr;
  PointLookup* last_ = nullptr;  // one of these two
  bool is_last_first_ = false;
  MadeWhenNeeded<PointLookup> first_;
  MadeWhenNeeded<PointLookup> second_;
};

// Two passes: the first finds the files and fetches the lines of their filters, the second asks and
// reads. So the cache misses of all filters overlap, as in Version::Get.
class Search {
 public:
  Search(const Version& version, const FirstQuestion& question, const LookupContext& context,
         FirstInRange* first)
      : version_(version),
        question_(question),
        prefix_(first->prefix),
        context_(context),
        first_(*first) {
    if (first_.is_found) NoteTimeOfFirst();
  }

  // False: too many.
  bool FindCandidates() {
    return VisitFilesWithPrefix(
        version_, prefix_, [this](const SstableFile& file, int level) { return Add(file, level); });
  }

  // Fetches the lines of the candidates' filters.
  void PrefetchFilters() {
    for (size_t i = 0; i < num_candidates_; i++) PrefetchFilter(&candidates_[i]);
  }

  // The only file that can have what is sought. It is also the only one for prefixes behind this
  // one that are less than `*end`, and that `*end` does not begin with. Null: there are several, or
  // none.
  const SstableFile* OnlyCandidate(std::string_view* end) const {
    // What was passed for what is known of this prefix need not be for another.
    if (num_candidates_ != 1 || has_passed_files_) return nullptr;
    const SstableFile* const only = candidates_.front().file;
    *end = only->largest_user_key();
    const auto note = [&](const SstableFile& file) {
      const std::string_view smallest = file.smallest_user_key();
      if (&file != only && smallest > prefix_) *end = std::min(*end, smallest);
    };
    for (const auto& file : version_.files(0)) note(*file);
    for (const auto& [level, index, tombstones] : version_.sorted_levels()) {
      const size_t next = index.FilesWithPrefix(prefix_).end;
      if (next < version_.files(level).size()) note(*version_.files(level)[next]);
    }
    return only;
  }

  // True: the entries behind what the last look-up found have said what there is, in the only file
  // that can have it. No filter was asked, nor need one be prefetched. False says nothing.
  bool TakeNext(const SstableFile& only, LastLookups* last) {
    const SstableReader* const reader = only.reader();
    if (reader == nullptr) return false;
    bool is_taken = false;
    const auto take = [this, &is_taken](const SstableReader::FirstEntry& entry) {
      is_taken = TakeIfLess(entry);
    };
    const SstableReader::NextEntry next = last->FindNext(*reader, prefix_, take);
    if (next == SstableReader::NextEntry::kFound) last->NoteFound(is_taken ? &first_ : nullptr);
    return next != SstableReader::NextEntry::kUnknown;
  }

  // From the newest file on, where the latest time mostly is. `before` is the search before this
  // one, or null.
  absl::Status AskCandidates(const Search* before, LastLookups* last) {
    for (size_t i = 0; i < num_candidates_; i++) {
      Candidate& candidate = candidates_[i];
      // By what was found since it became one.
      const bool is_passed = i > 0 && IsPassed(*candidate.file);
      candidate.answer = FilterAnswer::kNotAsked;
      if (is_passed) {
        candidate.has_question = false;  // for the search behind this one
        continue;
      }
      const Candidate* const same = before != nullptr && i < before->num_candidates_ &&
                                            candidate.has_question &&
                                            IsSameQuestion(before->candidates_[i], candidate)
                                        ? &before->candidates_[i]
                                        : nullptr;
      WINNOW_RETURN_IF_ERROR(Ask(&candidate, same, last));
    }
    return absl::OkStatus();
  }

 private:
  static bool IsSameQuestion(const Candidate& a, const Candidate& b) {
    return a.has_question && a.file == b.file && a.hash == b.hash &&
           a.filter_key_bytes == b.filter_key_bytes;
  }

  void NoteTimeOfFirst() {
    TimedKey parsed;
    const KeyTimeParser parse = question_.key_time_parser;
    if (parse == nullptr || !parse(UserKey(first_.key), &parsed)) return;
    found_end_ = parsed.time + 1;
  }

  // Whether the file's times say that it has nothing that counts, which need not be the least of
  // these keys: a key of the time of the one that was found may be that very key, in a newer
  // version.
  bool IsPassed(const SstableFile& file) const {
    const std::optional<KeyTimes>& times = file.metadata().key_times;
    if (question_.key_time_parser == nullptr || !times.has_value()) return false;
    const bool is_passed =
        question_.far_markers_from.has_value()
            ? times->far_marker_end <= *question_.far_markers_from
            : std::max(times->end, times->marker_end) < std::max<uint64_t>(found_end_, 1);
    if (is_passed && context_.files_passed_by_time != nullptr) {
      context_.files_passed_by_time->Increment();
    }
    return is_passed;
  }

  bool Add(const SstableFile& file, int level) {
    if (IsPassed(file)) {
      has_passed_files_ = true;
      return true;
    }
    if (num_candidates_ == kMaxCandidates) return false;
    Candidate& candidate = candidates_[num_candidates_++];
    candidate.file = &file;
    candidate.level = level;
    candidate.has_question = false;
    candidate.has_place = false;
    return true;
  }

  void PrefetchFilter(Candidate* candidate) {
    const SstableReader* const reader = candidate->file->reader();
    if (reader == nullptr || !reader->has_filter()) return;
    const auto* const asked = first_.question->For(reader->filter_key(), reader->hash_seed());
    // Then the file is read without a question.
    if (asked == nullptr) return;
    candidate->has_question = true;
    candidate->part = asked->part.category();
    candidate->filter_key_bytes = asked->filter_key.size();
    candidate->hash = asked->hash;
    reader->filter().Prefetch(candidate->hash);
    // As for a look-up of a key: where the filter will hardly say no, two waits become one.
    const bool expects_maybe = context_.filter_counters != nullptr &&
                               context_.filter_counters->history(candidate->level).ExpectsMaybe();
    if (expects_maybe) candidate->has_place = reader->FindIndexLine(prefix_, &candidate->place);
  }

  // `same` has been asked the same, and its outcome counted.
  absl::Status Ask(Candidate* candidate, const Candidate* same, LastLookups* last) {
    const SstableReader* const reader = candidate->file->reader();
    // A file that is left out might hold the least entry, or what deletes it.
    if (reader == nullptr) return candidate->file->open_status();
    FilterCounters* const counters =
        context_.filter_counters == nullptr || !candidate->has_question || same != nullptr
            ? nullptr
            : context_.filter_counters->At(
                  candidate->level,
                  FilterSlot(candidate->file->filter_kind_index(), candidate->part));
    if (same != nullptr) {
      candidate->answer = same->answer;
    } else if (candidate->has_question) {
      candidate->answer = reader->AskFilter(context_.read_options, candidate->hash,
                                            prefix_.substr(0, candidate->filter_key_bytes));
      if (context_.filter_counters != nullptr) {
        context_.filter_counters->history(candidate->level).Note(candidate->answer);
      }
    }
    if (candidate->answer == FilterAnswer::kNo) {
      if (counters != nullptr) counters->rejected.Increment();
      return absl::OkStatus();
    }
    bool is_taken = false;
    const auto take = [this, &is_taken](const SstableReader::FirstEntry& entry) {
      is_taken = TakeIfLess(entry);
    };
    FirstLookup lookup;
    // Of columns that lie one behind the other the next is not searched for.
    lookup.filter_key_present =
        last->FindNext(*reader, prefix_, take) == SstableReader::NextEntry::kFound;
    if (!lookup.filter_key_present) {
      lookup.prefix = prefix_;
      lookup.place = candidate->has_place ? &candidate->place : nullptr;
      // Of a filter that did not answer nothing has to be known, either.
      if (counters != nullptr && candidate->answer == FilterAnswer::kMaybe) {
        lookup.filter_key_bytes = candidate->filter_key_bytes;
      }
      last->Use(*reader, &lookup);
      WINNOW_RETURN_IF_ERROR(reader->FindFirst(context_.read_options, &lookup, take));
    }
    last->NoteFound(is_taken ? &first_ : nullptr);
    if (counters != nullptr) {
      (candidate->answer == FilterAnswer::kNotAsked ? counters->not_asked
       : lookup.filter_key_present                  ? counters->true_positive
                                                    : counters->false_positive)
          .Increment();
    }
    return absl::OkStatus();
  }

  // Than what was found before, as internal keys: of one user key the newest version is the least.
  // Both begin with the prefix, and so with what the entry has of it.
  bool IsLess(const SstableReader::FirstEntry& entry) const {
    if (!first_.is_found) return true;
    const int order = CompareBytes(entry.rest, UserKey(first_.key).substr(entry.shared));
    return order != 0 ? order < 0 : entry.trailer > Trailer(first_.key);
  }

  bool TakeIfLess(const SstableReader::FirstEntry& entry) {
    const bool is_less = IsLess(entry);
    if (is_less) Take(entry);
    return is_less;
  }

  void Take(const SstableReader::FirstEntry& entry) {
    first_.Take(prefix_.substr(0, entry.shared), entry.rest, entry.trailer, entry.value);
    NoteTimeOfFirst();
  }

  const Version& version_;
  const FirstQuestion& question_;
  const std::string_view prefix_;
  const LookupContext& context_;
  FirstInRange& first_;
  uint64_t found_end_ = 0;  // one more than the time of first_; 0: not known
  std::array<Candidate, kMaxCandidates> candidates_;
  size_t num_candidates_ = 0;
  bool has_passed_files_ = false;
};

// The filters of all candidates of all are fetched before the first is asked.
absl::Status FindSeparately(const Version& version, const FirstQuestion& question,
                            const LookupContext& context, std::span<FirstInRange> firsts,
                            LastLookups* last, bool* are_searched) {
  std::vector<Search> searches;
  searches.reserve(firsts.size());
  for (FirstInRange& first : firsts) {
    Search& search = searches.emplace_back(version, question, context, &first);
    if (!search.FindCandidates()) return absl::OkStatus();
    search.PrefetchFilters();
  }
  const Search* before = nullptr;
  for (Search& search : searches) {
    WINNOW_RETURN_IF_ERROR(search.AskCandidates(before, last));
    before = &search;
  }
  *are_searched = true;
  return absl::OkStatus();
}

}  // namespace

absl::Status FindFirstInFiles(const Version& version, const FirstQuestion& question,
                              const LookupContext& context, std::span<FirstInRange> firsts,
                              bool* are_searched) {
  *are_searched = false;
  LastLookups last;
  // The first, and those that stand close behind it, as columns of a row do.
  const SstableFile* only = nullptr;  // that can have what comes before `only_end`
  std::string_view only_end;
  for (bool is_first = true; !firsts.empty(); is_first = false) {
    const std::string_view prefix = firsts.front().prefix;
    Search search(version, question, context, &firsts.front());
    const bool is_before_end =
        only != nullptr && prefix < only_end && !only_end.starts_with(prefix);
    if (!is_before_end) {
      if (!search.FindCandidates()) return absl::OkStatus();
      only = firsts.size() == 1 ? nullptr : search.OnlyCandidate(&only_end);
    }
    if (is_first) {
      search.PrefetchFilters();
      WINNOW_RETURN_IF_ERROR(search.AskCandidates(nullptr, &last));
    } else if (only == nullptr || !search.TakeNext(*only, &last)) {
      break;
    }
    firsts = firsts.subspan(1);
  }
  *are_searched = firsts.empty();
  if (*are_searched) return absl::OkStatus();
  return FindSeparately(version, question, context, firsts, &last, are_searched);
}

}  // namespace winnow
