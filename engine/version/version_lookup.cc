// The read path below the memtables: which files can hold a key, and what their filters say.
#include <algorithm>
#include <optional>
#include <utility>

#include "engine/base/status.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/version/batch_read.h"
#include "engine/version/explained_chain.h"
#include "engine/version/version.h"

namespace winnow {

namespace {

// Candidates whose filter lines are fetched together: more than a healthy tree has.
// A candidate is a file whose key range includes the key: any number on level 0, at most one on
// each deeper level. A look-up that is answered by none of them, the case that filters are for,
// costs about one cache miss for each candidate. Fetching all lines before testing the first
// overlaps those misses.
constexpr size_t kPrefetchedCandidates = 16;

bool HasUsableFilter(const SstableFile& file) {
  return file.reader() != nullptr && file.reader()->has_filter();
}

// The key was hashed once, for the filter key and seed that new files get. Files written under
// other options record theirs, and the key is hashed again for them: a filter is queried with its
// own hash or not at all. Without a reader there is nothing to query.
inline uint64_t HashFor(const SstableFile& file, const LookupKey& key) {
  if (file.filter_key_identity() == key.filter_key_identity) return key.filter_hash;
  return file.reader() == nullptr ? 0 : file.FilterHash(key.user_key);
}

inline void PrefetchFilter(const SstableFile& file, uint64_t hash) {
  if (HasUsableFilter(file)) file.reader()->filter().Prefetch(hash);
}

// Of a file that is not open too: the search itself reports that.
inline FilterAnswer QueryFilter(const SstableFile& file, const SstableReadOptions& options,
                                uint64_t hash, std::string_view user_key) {
  return file.reader() == nullptr ? FilterAnswer::kNotAsked
                                  : file.reader()->AskFilter(options, hash, user_key);
}

// The number of the file's newest range tombstone that covers the key; 0 if there is none.
SequenceNumber NewestRangeDeletionIn(const SstableFile& file, const LookupKey& key) {
  const RangeTombstoneIndex* const tombstones = file.range_tombstones();
  return tombstones == nullptr ? 0 : tombstones->NewestCovering(key.user_key, key.snapshot);
}

}  // namespace

// Walks the files whose range includes a key, newest first.
// Newest first: level 0 from its newest file to its oldest, then level by level. A version found in
// one candidate is newer than all in later ones, since compaction never moves a newer version of a
// key below an older one; so the first hit is the answer.
class Version::CandidateWalk {
 public:
  CandidateWalk(const Version& version, std::string_view user_key)
      : version_(version),
        user_key_(user_key),
        prefix_(KeyPrefix64(user_key)),
        next_level_(version.sorted_levels_.data()),
        levels_end_(next_level_ + version.sorted_levels_.size()) {}

  bool Next(const SstableFile** file, int* level) {
    const Files& level0 = version_.levels_[0];
    while (level0_index_ < level0.size()) {
      const SstableFile& candidate = *level0[level0_index_++];
      if (!version_.InRange(candidate, user_key_, prefix_)) continue;
      *file = &candidate;
      *level = 0;
      return true;
    }
    while (next_level_ != levels_end_) {
      const SortedLevel& sorted = *next_level_++;
      *level = sorted.level;
      // At most one file of a sorted level has the key in its range.
      *file = sorted.index.Find(user_key_);
      if (*file != nullptr) return true;
    }
    return false;
  }

 private:
  const Version& version_;
  const std::string_view user_key_;
  const uint64_t prefix_;
  size_t level0_index_ = 0;
  const SortedLevel* next_level_;
  const SortedLevel* const levels_end_;
};

// Eight bytes of each bound decide most cases; they are in the file's object, the keys are not.
// Equal prefixes prove nothing, and the keys are compared.
bool Version::InRange(const SstableFile& file, std::string_view user_key, uint64_t prefix) const {
  if (comparator_.is_bytewise() &&
      (prefix < file.smallest_prefix() || prefix > file.largest_prefix())) {
    return false;
  }
  return comparator_.CompareUserKeys(user_key, file.smallest_user_key()) >= 0 &&
         !file.EndsBefore(user_key, comparator_);
}

inline FilterCounters* Version::CountersOf(const Candidate& candidate,
                                           const LookupContext& context) {
  if (context.filter_counters == nullptr) return nullptr;
  return context.filter_counters->At(candidate.level, candidate.file->lookup_slot());
}

// Whether the event with this number is one of those that are counted for files. Each 64th would be
// of one file alone, or of one outcome, where callers ask in a pattern, so that gaps vary:
// multiples of the golden ratio, whose upper bits are spread evenly.
inline bool Version::IsSampled(uint64_t number) {
  return number * 0x9e3779b97f4a7c15 <= UINT64_MAX / kRefutableSampled;
}

// One in so many is counted for its file, too, and for all: files have no counters of each thread.
inline void Version::CountRefutable(SingleWriterCounter* counter, const Candidate& candidate) {
  const uint64_t count = counter->value() + 1;
  counter->Increment();
  if (IsSampled(count)) [[unlikely]]
    candidate.file->NoteRefutable(kRefutableSampled);
}

// What a filter that is not in memory would have been good for. One counter has both outcomes.
[[gnu::cold]] void Version::CountUnasked(const Candidate& candidate, const LookupContext& context,
                                         const PointResult& result) {
  const FilterCounters* const counters = CountersOf(candidate, context);
  if (counters == nullptr) return;
  if (!IsSampled(counters->not_asked.value())) return;
  if (result.filter_key_present) {
    candidate.file->NoteUnaskedHits(kRefutableSampled);
  } else {
    candidate.file->NoteRefutable(kRefutableSampled);
  }
}

// In the statistics a file is in one of four cases: rejected, not queried, true or false positive.
inline bool Version::IsRejected(const Candidate& candidate, const LookupContext& context) {
  if (candidate.answer != FilterAnswer::kNo) return false;
  FilterCounters* const counters = CountersOf(candidate, context);
  if (counters != nullptr) CountRefutable(&counters->rejected, candidate);
  return true;
}

inline bool Version::MustRead(const Candidate& candidate, const LookupKey& key,
                              const LookupContext& context) {
  FilterCounters* const counters = CountersOf(candidate, context);
  if (candidate.answer == FilterAnswer::kNotAsked) {
    if (counters != nullptr) counters->not_asked.Increment();
    return true;
  }
  if (context.false_positive_cache == nullptr ||
      !context.false_positive_cache->Contains(candidate.file->number(), candidate.hash,
                                              key.user_key)) {
    return true;
  }
  // The filter was wrong before and is wrong again, but this time it costs no read.
  if (context.false_positive_cache_hits != nullptr) context.false_positive_cache_hits->Increment();
  if (counters != nullptr) CountRefutable(&counters->false_positive, candidate);
  return false;
}

inline void Version::CountRead(const Candidate& candidate, const LookupKey& key,
                               const LookupContext& context, const PointResult& result) {
  // Only a filter that was asked can have a false positive, or a true one.
  if (candidate.answer != FilterAnswer::kMaybe) return CountUnasked(candidate, context, result);
  FilterCounters* const counters = CountersOf(candidate, context);
  if (result.filter_key_present) {
    if (counters != nullptr) counters->true_positive.Increment();
    return;
  }
  if (counters != nullptr) CountRefutable(&counters->false_positive, candidate);
  if (context.false_positive_cache != nullptr) {
    // Whatever the snapshot: filter_key_present is about all versions, so the pair stays refuted
    // for as long as the file lives.
    context.false_positive_cache->Add(candidate.file->number(), candidate.hash, key.user_key);
  }
}

// Out of line: rejections, the case that filters are for, need none of its stack.
[[gnu::noinline]] absl::Status Version::GetFromFile(const Candidate& candidate,
                                                    const LookupKey& key,
                                                    const LookupContext& context,
                                                    PointResult* result) {
  const SstableFile& file = *candidate.file;
  result->found = false;
  if (file.reader() == nullptr) [[unlikely]]
    return file.open_status();
  if (!MustRead(candidate, key, context)) return absl::OkStatus();
  const BlockDirectory::Place* const place = candidate.has_place ? &candidate.place : nullptr;
  WINNOW_RETURN_IF_ERROR(
      file.reader()->Get(context.read_options, key.user_key, key.snapshot, result, place));
  CountRead(candidate, key, context, *result);
  return absl::OkStatus();
}

// Where the filter will hardly say no, the line of the index that is wanted then is fetched beside
// that of the filter: two waits for memory become one.
inline void Version::FetchFilter(Candidate* candidate, const LookupKey& key,
                                 const LookupContext& context) {
  const SstableFile& file = *candidate->file;
  candidate->hash = HashFor(file, key);
  PrefetchFilter(file, candidate->hash);
  const bool expects_maybe = context.filter_counters != nullptr && file.reader() != nullptr &&
                             context.filter_counters->history(candidate->level).ExpectsMaybe();
  candidate->has_place =
      expects_maybe && file.reader()->FindIndexLine(key.user_key, &candidate->place);
}

[[gnu::always_inline]] inline absl::Status Version::GetFromCandidate(Candidate* candidate,
                                                                     const LookupKey& key,
                                                                     const LookupContext& context,
                                                                     PointResult* result) {
  candidate->answer =
      QueryFilter(*candidate->file, context.read_options, candidate->hash, key.user_key);
  if (context.filter_counters != nullptr) {
    context.filter_counters->history(candidate->level).Note(candidate->answer);
  }
  if (IsRejected(*candidate, context)) return absl::OkStatus();
  return GetFromFile(*candidate, key, context, result);
}

// Every version of the key in files behind this one is older than its tombstone, as it would be
// older than an entry: the file's answer ends the look-up either way. Apart from the filter, whose
// answers and counts are of entries alone.
void Version::ApplyTombstones(const SstableFile& file, const LookupKey& key, PointResult* result) {
  const SequenceNumber covering =
      file.range_tombstones()->NewestCovering(key.user_key, key.snapshot);
  if (covering == 0 || (result->found && result->sequence >= covering)) return;
  result->found = true;
  result->type = EntryType::kRangeDelete;
  result->sequence = covering;
  result->value = {};
  result->pin.Release();
  result->mapped = nullptr;
}

// In two steps for each batch of candidates: (1) find them, hash for them and fetch their filter
// lines, (2) query and read them in order until one has the key. Filters behind a hit are never
// queried, only fetched.
absl::Status Version::Get(const LookupKey& key, const LookupContext& context,
                          PointResult* result) const {
  result->found = false;
  // After a full compaction all is in one level, and there is at most one candidate.
  if (levels_[0].empty() && sorted_levels_.size() == 1) {
    Candidate candidate;
    candidate.level = sorted_levels_[0].level;
    candidate.file = sorted_levels_[0].index.Find(key.user_key);
    if (candidate.file == nullptr) return absl::OkStatus();
    FetchFilter(&candidate, key, context);
    absl::Status status = GetFromCandidate(&candidate, key, context, result);
    if (candidate.file->range_tombstones() != nullptr && status.ok()) [[unlikely]] {
      ApplyTombstones(*candidate.file, key, result);
    }
    return status;
  }
  CandidateWalk walk(*this, key.user_key);
  std::array<Candidate, kPrefetchedCandidates> candidates;
  for (bool more = true; more;) {
    size_t count = 0;
    while (count < candidates.size()) {
      Candidate& candidate = candidates[count];
      more = walk.Next(&candidate.file, &candidate.level);
      if (!more) break;
      FetchFilter(&candidate, key, context);
      count++;
    }
    // In order of age, and only until one answers: what a later file holds is older.
    for (Candidate& candidate : std::span(candidates).first(count)) {
      WINNOW_RETURN_IF_ERROR(GetFromCandidate(&candidate, key, context, result));
      if (candidate.file->range_tombstones() != nullptr) [[unlikely]] {
        ApplyTombstones(*candidate.file, key, result);
      }
      if (result->found) return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

namespace {

// The versions in one file that are older than `newest`. False: `visit` wants no more.
absl::StatusOr<bool> VisitOlderVersions(
    const SstableReader& reader, const LookupKey& key, SequenceNumber newest,
    const SstableReadOptions& options,
    absl::FunctionRef<bool(uint64_t trailer, std::string_view value)> visit) {
  if (newest == 0) return true;
  const std::unique_ptr<SstableIterator> entries = reader.NewIterator(options);
  entries->Seek(MakeInternalKey(key.user_key, newest - 1, kEntryTypeForSeek));
  for (; entries->Valid(); entries->Next()) {
    if (reader.comparator().CompareUserKeys(UserKey(entries->key()), key.user_key) != 0) break;
    if (!visit(Trailer(entries->key()), entries->value())) return false;
  }
  WINNOW_RETURN_IF_ERROR(entries->status());
  return true;
}

}  // namespace

// A key has more versions than the newest that readers want only where that is a merge operand.
absl::Status Version::VisitVersions(
    const LookupKey& key, const LookupContext& context, bool newest_was_read,
    absl::FunctionRef<bool(uint64_t trailer, std::string_view value)> visit) const {
  LookupContext uncounted = context;
  uncounted.filter_counters = nullptr;
  uncounted.false_positive_cache_hits = nullptr;
  bool counts = !newest_was_read;
  CandidateWalk walk(*this, key.user_key);
  Candidate candidate = {};
  while (walk.Next(&candidate.file, &candidate.level)) {
    candidate.hash = HashFor(*candidate.file, key);
    PointResult result;
    WINNOW_RETURN_IF_ERROR(
        GetFromCandidate(&candidate, key, counts ? context : uncounted, &result));
    if (!result.found) continue;
    counts = true;
    if (!visit(PackTrailer(result.sequence, result.type), result.value)) return absl::OkStatus();
    WINNOW_ASSIGN_OR_RETURN(const bool more,
                            VisitOlderVersions(*candidate.file->reader(), key, result.sequence,
                                               context.read_options, visit));
    if (!more) return absl::OkStatus();
  }
  return absl::OkStatus();
}

SequenceNumber Version::NewestRangeDeletion(const LookupKey& key) const {
  if (!has_range_tombstones_) [[likely]]
    return 0;
  SequenceNumber newest = 0;
  CandidateWalk walk(*this, key.user_key);
  const SstableFile* file;
  int level;
  while (walk.Next(&file, &level)) {
    newest = std::max(newest, NewestRangeDeletionIn(*file, key));
  }
  return newest;
}

// As Get, up to the point where a block would be read. A file without a filter can prove nothing,
// nor can one whose filter would have to be loaded, or that does not open.
bool Version::MayContain(const LookupKey& key, const LookupContext& context) const {
  CandidateWalk walk(*this, key.user_key);
  const SstableFile* file;
  int level;
  SstableReadOptions without_reading = context.read_options;
  without_reading.fill_cache = false;
  while (walk.Next(&file, &level)) {
    if (!HasUsableFilter(*file)) return true;
    const uint64_t hash = HashFor(*file, key);
    const FilterAnswer answer = file->reader()->AskFilter(without_reading, hash, key.user_key);
    // Either proof will do: the filter's, or that of an earlier look-up that found the filter
    // wrong.
    const bool is_refuted =
        answer == FilterAnswer::kNo ||
        (answer == FilterAnswer::kMaybe && context.false_positive_cache != nullptr &&
         context.false_positive_cache->Contains(file->number(), hash, key.user_key));
    if (!is_refuted) return true;
    // What lies deeper is hidden, and what is newer has been asked.
    if (NewestRangeDeletionIn(*file, key) != 0) return false;
  }
  return false;
}

// The first entry found is the newest: see CandidateWalk.
absl::StatusOr<SequenceNumber> Version::NewestSequence(const LookupKey& key, SequenceNumber above,
                                                       const SstableReadOptions& options) const {
  CandidateWalk walk(*this, key.user_key);
  const SstableFile* file;
  int level;
  PointResult result;
  while (walk.Next(&file, &level)) {
    // Most files are passed over by their numbers: those that were written before `above` was
    // current.
    if (file->metadata().largest_sequence <= above) continue;
    if (file->reader() == nullptr) return file->open_status();
    if (QueryFilter(*file, options, HashFor(*file, key), key.user_key) == FilterAnswer::kNo) {
      continue;
    }
    WINNOW_RETURN_IF_ERROR(file->reader()->Get(options, key.user_key, kMaxSequenceNumber, &result));
    if (result.found) return result.sequence > above ? result.sequence : 0;
  }
  return 0;
}

// Made when the first filter says maybe: absent keys, which need none, do not pay for them.
struct Version::BatchSteps {
  std::optional<std::array<PointLookup, kKeysAtOnce>> lookups;
};

// Passes over the keys that one file or level is to be searched for:
//
// 1. (the caller's) fetch each key's filter line,
// 2. query the filters; where they say maybe fetch the line of the index, and the one that knows of
//    false positives,
// 3. find the block in the index, and fetch its slot in the cache,
// 4. in the order of the blocks, take the block from the cache, and fetch its keys,
// 5. read what the cache did not have,
// 6. search the blocks.
//
// Each pass runs over all keys before the next begins, so that the cache misses of one pass are
// under way together; a key at a time would wait for each in turn. Keys that an earlier level
// answered are no longer among them.
//
// Only what filters let through is put in order, and by numbers: absent keys are not sorted at all.
// Reads of one block then follow each other: it is looked up, and if it has to be read from the
// file, once for all of them.
void Version::MultiGetFrom(std::span<BatchRead> reads, const LookupContext& context,
                           BatchSteps* steps) {
  std::array<BatchRead*, kKeysAtOnce> left;
  size_t count = 0;
  for (BatchRead& read : reads) {
    Candidate& candidate = read.candidate;
    if (candidate.file->reader() == nullptr) [[unlikely]] {
      read.Check(candidate.file->open_status());
      continue;
    }
    candidate.answer = QueryFilter(*candidate.file, context.read_options, candidate.hash,
                                   read.lookup->key.user_key);
    if (IsRejected(candidate, context)) continue;
    if (candidate.answer == FilterAnswer::kMaybe && context.false_positive_cache != nullptr) {
      context.false_positive_cache->Prefetch(candidate.file->number(), candidate.hash);
    }
    if (!steps->lookups.has_value()) steps->lookups.emplace();
    read.steps = &(*steps->lookups)[count];
    read.reader().StartLookup(read.lookup->key.user_key, read.lookup->key.snapshot, read.steps);
    left[count++] = &read;
  }
  const auto pass = [&](auto&& step) {
    size_t still_left = 0;
    for (BatchRead* const read : std::span(left).first(count)) {
      if (step(*read)) left[still_left++] = read;
    }
    count = still_left;
  };
  pass([&](BatchRead& read) {
    const LookupKey& key = read.lookup->key;
    if (!MustRead(read.candidate, key, context)) return false;
    const SstableReader& reader = read.reader();
    if (!read.Check(reader.FindBlock(context.read_options, read.steps))) return false;
    reader.PrefetchBlockSlot(*read.steps);
    // In the order of files and blocks, as long as neither number outgrows its bits; in some order
    // otherwise.
    read.block = (read.candidate.file->number() << 40) + read.steps->block_offset();
    return true;
  });
  std::sort(left.begin(), left.begin() + static_cast<ptrdiff_t>(count),
            [](const BatchRead* a, const BatchRead* b) { return a->block < b->block; });
  const BatchRead* before = nullptr;
  bool any_missing = false;
  pass([&](BatchRead& read) {
    const BatchRead* const last = std::exchange(before, &read);
    // Both at once miss: the block is counted, and looked for, once.
    read.is_missing = last != nullptr && last->is_missing && read.HasBlockOf(*last);
    if (read.is_missing) return true;
    const absl::Status found = read.reader().FindInMemory(
        context.read_options, read.StepsBeside(last), read.steps, &read.is_missing);
    any_missing |= read.is_missing;
    return read.Check(found);
  });
  if (any_missing) [[unlikely]] {
    LoadMissing(std::span(left).first(count), context);
    pass([](const BatchRead& read) { return read.lookup->status.ok(); });
  }
  pass([&](BatchRead& read) {
    BatchLookup& lookup = *read.lookup;
    if (!read.Check(read.reader().SearchBlock(context.read_options, read.steps, &lookup.result)))
      return false;
    CountRead(read.candidate, lookup.key, context, lookup.result);
    lookup.done = lookup.result.found;
    if (lookup.done) __builtin_prefetch(lookup.result.value.data());
    return true;
  });
}

void Version::MultiGet(std::span<BatchLookup> batch, const LookupContext& context) const {
  std::array<BatchRead, kKeysAtOnce> reads;
  BatchSteps steps;
  for (size_t start = 0; start < batch.size(); start += kKeysAtOnce) {
    const std::span<BatchLookup> chunk =
        batch.subspan(start, std::min(kKeysAtOnce, batch.size() - start));
    // For level 0 file by file, for the others level by level: the order in which Get would go, for
    // all keys together. Keys of a chunk that are done drop out.
    const auto ask = [&](int level, auto&& find) {
      size_t count = 0;
      for (BatchLookup& lookup : chunk) {
        if (lookup.done) continue;
        const SstableFile* file = find(lookup.key.user_key);
        if (file == nullptr) continue;
        BatchRead& read = reads[count++];
        read.candidate = {file, HashFor(*file, lookup.key), level, FilterAnswer::kNo, false, {}};
        PrefetchFilter(*file, read.candidate.hash);
        read.lookup = &lookup;
      }
      MultiGetFrom(std::span(reads).first(count), context, &steps);
      if (!has_range_tombstones_) [[likely]]
        return;
      for (const BatchRead& read : std::span(reads).first(count)) {
        BatchLookup& lookup = *read.lookup;
        if (read.candidate.file->range_tombstones() == nullptr || !lookup.status.ok()) continue;
        // An answer in it may be of an earlier call, or of an earlier file that did not have the
        // key.
        lookup.result.found = lookup.done;
        ApplyTombstones(*read.candidate.file, lookup.key, &lookup.result);
        lookup.done = lookup.result.found;
      }
    };
    for (const auto& file : levels_[0]) {
      ask(0, [&](std::string_view user_key) {
        return InRange(*file, user_key, KeyPrefix64(user_key)) ? file.get() : nullptr;
      });
    }
    for (const SortedLevel& sorted : sorted_levels_) {
      ask(sorted.level, [&](std::string_view user_key) { return sorted.index.Find(user_key); });
    }
  }
}

ExplainStep* Version::AddStep(const SstableFile& file, int level, std::vector<ExplainStep>* steps) {
  ExplainStep& step = steps->emplace_back();
  step.level = level;
  step.file_number = file.number();
  if (file.reader() != nullptr) {
    step.file_name = file.reader()->path();
    return &step;
  }
  step.answer = ExplainStep::Answer::kError;
  step.detail = ToStd(file.open_status().message());
  return nullptr;
}

std::string Version::FilterText(const SstableReader& reader) {
  const FilterDescription& filter = reader.filter_description();
  return filter.policy.empty() ? filter.spec : absl::StrCat("policy ", filter.policy);
}

void Version::NoteFilterAnswer(const SstableReader& reader, FilterAnswer answer,
                               ExplainStep* step) {
  if (answer != FilterAnswer::kNotAsked) {
    step->filter_answer = answer == FilterAnswer::kNo ? ExplainStep::FilterAnswer::kNo
                                                      : ExplainStep::FilterAnswer::kMaybe;
  } else if (reader.filter_units() != nullptr) {
    step->filter_answer = ExplainStep::FilterAnswer::kUnusable;
    step->detail = "no part of the filter is in memory now";
  } else if (reader.has_filter() || reader.filter_is_too_large()) {
    step->filter_answer = ExplainStep::FilterAnswer::kUnusable;
    step->detail = reader.has_filter() ? "the filter cannot be loaded into the block cache now"
                                       : "the filter is too large for the block cache";
  } else if (reader.filter_state().code != filter::FilterStateCode::kOk) {
    step->filter_answer = ExplainStep::FilterAnswer::kUnusable;
    step->detail = reader.filter_state().reason;
  }
}

// Follows Get's path but goes on after errors, and neither prefetches nor counts: for people.
void Version::Explain(const LookupKey& key, std::vector<ExplainStep>* steps) const {
  CandidateWalk walk(*this, key.user_key);
  const SstableFile* file;
  int level;
  bool found = false;
  while (!found && walk.Next(&file, &level)) {
    ExplainStep* const added = AddStep(*file, level, steps);
    if (added == nullptr) continue;
    ExplainStep& step = *added;
    const SstableReader& reader = *file->reader();
    step.filter = FilterText(reader);
    // Beside the filter, as in Get: it knows entries alone, and a "no" says nothing of range
    // tombstones.
    const SequenceNumber covering = NewestRangeDeletionIn(*file, key);
    const FilterAnswer answer =
        reader.AskFilter(SstableReadOptions(), HashFor(*file, key), key.user_key);
    NoteFilterAnswer(reader, answer, &step);
    if (answer == FilterAnswer::kNo) {
      found = covering != 0 && ExplainedChain(covering).Describe(&step);
      continue;
    }
    PointResult result;
    const absl::Status status =
        reader.Get(SstableReadOptions(), key.user_key, key.snapshot, &result);
    if (!status.ok()) {
      step.answer = ExplainStep::Answer::kError;
      step.detail = ToStd(status.message());
      continue;
    }
    if (result.found && result.sequence >= covering && result.type == EntryType::kPutWithTime &&
        HasWriteTime(result.value)) {
      step.write_time_micros = WriteTime(result.value);
    }
    const bool filter_key_present = result.filter_key_present;
    ExplainedChain chain(covering);
    if (result.found && chain.Take(PackTrailer(result.sequence, result.type))) {
      const absl::StatusOr<bool> older = VisitOlderVersions(
          reader, key, result.sequence, SstableReadOptions(),
          [&](uint64_t trailer, std::string_view) { return chain.Take(trailer); });
      if (!older.ok()) {
        step.answer = ExplainStep::Answer::kError;
        step.detail = ToStd(older.status().message());
        continue;
      }
    }
    found = chain.Describe(&step);
    step.false_positive =
        step.filter_answer == ExplainStep::FilterAnswer::kMaybe && !filter_key_present;
  }
}

}  // namespace winnow
