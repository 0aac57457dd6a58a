#include "engine/version/version.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/version/level_iterator.h"

namespace winnow {

// sorted_levels_ spares every look-up the empty levels of a small database.
Version::Version(const InternalKeyComparator& comparator, std::array<Files, kNumLevels> levels)
    : comparator_(comparator), levels_(std::move(levels)) {
  const auto has_files = [](const Files& files) { return !files.empty(); };
  sorted_levels_.reserve(
      static_cast<size_t>(std::count_if(levels_.begin() + 1, levels_.end(), has_files)));
  for (int level = 1; level < kNumLevels; level++) {
    if (files(level).empty()) continue;
    sorted_levels_.push_back({level, LevelIndex(files(level), comparator_), {}});
    for (const auto& file : files(level)) {
      // Only of files that are open, as every flag here: of one that is not, the reads that need it
      // fail by themselves.
      if (file->range_tombstones() == nullptr) continue;
      sorted_levels_.back().tombstones.push_back(file->range_tombstones());
      has_range_tombstones_ = true;
    }
  }
  for (const auto& file : files(0)) {
    has_range_tombstones_ = has_range_tombstones_ || file->range_tombstones() != nullptr;
  }
  for (const Files& level : levels_) {
    for (const auto& file : level) {
      has_write_times_ = has_write_times_ || file->metadata().write_times.num_entries > 0;
      has_range_filters_ = has_range_filters_ || file->has_range_filter();
    }
  }
  if (sorted_levels_.empty()) return;
  for (const auto& file : files(deepest_level())) {
    const FileMetadata& metadata = file->metadata();
    has_deepest_deletions_ =
        has_deepest_deletions_ || metadata.num_deletions > 0 || metadata.num_range_deletions > 0;
  }
}

// Summed at each call: the picker and properties call it, a few times a second.
uint64_t Version::level_bytes(int level) const {
  uint64_t bytes = 0;
  for (const auto& file : files(level)) bytes += file->metadata().file_bytes;
  return bytes;
}

// Files of all levels before the key, whole, and the part before the key of those that straddle it.
// No I/O but for index partitions that are not cached: good for splitting work, not for accounting.
uint64_t Version::ApproximateBytesBefore(std::string_view user_key) const {
  const std::string internal_key = MakeInternalKey(user_key, kMaxSequenceNumber, kEntryTypeForSeek);
  uint64_t bytes = 0;
  for (const Files& level : levels_) {
    for (const auto& file : level) {
      // Linear in the number of files; those that straddle the key cost a look into their index.
      if (comparator_.CompareUserKeys(file->largest_user_key(), user_key) < 0) {
        bytes += file->metadata().file_bytes;
      } else if (file->reader() != nullptr &&
                 comparator_.CompareUserKeys(file->smallest_user_key(), user_key) < 0) {
        bytes += file->reader()->ApproximateOffsetOf(internal_key);
      }
    }
  }
  return bytes;
}

// The bottommost level with data: where tombstones end.
int Version::deepest_level() const {
  for (int level = kNumLevels - 1; level >= 0; level--) {
    if (num_files(level) > 0) return level;
  }
  return -1;
}

// On level 0 the range grows to a fixed point: files there overlap, and if one is taken, every file
// that overlaps it must be taken too, or an older version could be left above a newer one.
Version::Files Version::OverlappingInLevelZero(const std::string_view* smallest,
                                               const std::string_view* largest,
                                               bool excludes_largest) const {
  UserKeyRange range;
  if (smallest != nullptr) range.smallest = *smallest;
  if (largest != nullptr) range.largest = *largest;
  range.excludes_largest = excludes_largest;
  for (;;) {
    Files overlapping;
    // Each turn but the last takes in a file more: O(n^2) at worst for n files, of which level 0
    // has few.
    bool grew = false;
    for (const auto& file : files(0)) {
      // Bounds that are open are never compared: no key stands for them.
      if (smallest != nullptr && file->EndsBefore(range.smallest, comparator_)) continue;
      if (largest != nullptr && EndsBefore(range, file->smallest_user_key(), comparator_)) continue;
      overlapping.push_back(file);
      if (smallest != nullptr &&
          comparator_.CompareUserKeys(file->smallest_user_key(), range.smallest) < 0) {
        range.smallest = file->smallest_user_key();
        grew = true;
      }
      if (largest != nullptr && EndsBehind(file->range(), range, comparator_)) {
        range.largest = file->largest_user_key();
        range.excludes_largest = file->range().excludes_largest;
        grew = true;
      }
    }
    if (!grew) return overlapping;
  }
}

// Bounds are compared as user keys: two versions of one key in two files count as overlap. Files of
// deeper levels are sorted and disjoint: those wanted are neighbours.
Version::Files Version::OverlappingFiles(int level, const std::string_view* smallest,
                                         const std::string_view* largest,
                                         bool excludes_largest) const {
  if (level == 0) return OverlappingInLevelZero(smallest, largest, excludes_largest);
  // By halves at both ends, O(log files), and a copy of what lies between.
  const Files& sorted = files(level);
  auto begin = sorted.begin();
  if (smallest != nullptr) {
    begin = std::partition_point(begin, sorted.end(), [&](const auto& file) {
      return file->EndsBefore(*smallest, comparator_);
    });
  }
  auto end = sorted.end();
  if (largest != nullptr) {
    end = std::partition_point(begin, end, [&](const auto& file) {
      const int order = comparator_.CompareUserKeys(file->smallest_user_key(), *largest);
      return excludes_largest ? order < 0 : order <= 0;
    });
  }
  return Files(begin, end);
}

// A filter can leave a file out of a scan where all keys of the range have one filter key (a
// prefix), which requires the bytewise order: under another one, keys between two bounds need not
// share their prefix.
void Version::AddFileIterator(const std::shared_ptr<SstableFile>& file, int level,
                              const IteratorRange& range, const LookupContext& context,
                              std::vector<std::unique_ptr<InternalIterator>>* iterators) const {
  if (file->reader() == nullptr) {  // a level iterator over it reports the error
    iterators->push_back(std::make_unique<LevelIterator>(LevelIterator::Files(&file, 1),
                                                         comparator_, context.read_options));
    return;
  }
  const SstableReader& reader = *file->reader();
  RangeQuestions* const questions = file->has_range_filter() ? range.questions : nullptr;
  const auto add = [&] {
    if (questions == nullptr) {
      iterators->push_back(reader.NewIterator(context.read_options));
      return;
    }
    iterators->push_back(std::make_unique<LevelIterator>(
        LevelIterator::Files(&file, 1), comparator_, context.read_options, level, questions));
  };
  // Without a lower bound there is no key to take the common part from.
  const bool may_ask = comparator_.is_bytewise() && reader.has_filter() && range.lower.has_value();
  const auto question =
      may_ask ? reader.filter_key().QuestionOfRange(*range.lower, range.upper, reader.hash_seed())
              : std::nullopt;
  if (!question.has_value()) {
    add();
    return;
  }
  FilterCounters* counters =
      context.filter_counters == nullptr
          ? nullptr
          : context.filter_counters->At(
                level, FilterSlot(file->filter_kind_index(), question->part.category()));
  // Where a policy made the filter, filter keys are whole keys.
  const FilterAnswer answer =
      reader.AskFilter(context.read_options, question->hash, question->filter_key);
  if (answer == FilterAnswer::kNo) {
    // No iterator at all: the file is neither opened for a seek nor compared in the merge.
    if (counters != nullptr) counters->rejected.Increment();
    return;
  }
  if (answer == FilterAnswer::kNotAsked) {
    if (counters != nullptr) counters->not_asked.Increment();
    add();
    return;
  }
  // A range filter knows better, and may spare the read that tells whether this one was right,
  // which is then counted of neither.
  const std::string begin = MakeInternalKey(*range.lower, kMaxSequenceNumber, kEntryTypeForSeek);
  auto range_answer = RangeQuestions::Answer::kNotAsked;
  if (questions != nullptr) range_answer = questions->AskFrom(*file, level, begin);
  if (range_answer == RangeQuestions::Answer::kNo) return;
  // Every entry of the range has the one filter key, so what stands at its start tells whether the
  // filter was right. An empty range is left out; an error is kept for the reader to see.
  std::unique_ptr<SstableIterator> iterator = reader.NewIterator(context.read_options);
  iterator->Seek(begin);
  if (!iterator->status().ok()) {
    iterators->push_back(std::move(iterator));
    return;
  }
  const auto found = iterator->Valid() ? std::optional(UserKey(iterator->key())) : std::nullopt;
  if (range_answer == RangeQuestions::Answer::kMaybe) questions->Note(level, found);
  if (counters != nullptr) {
    const bool present =
        found.has_value() && question->part.FilterKey(*found) == question->filter_key;
    (present ? counters->true_positive : counters->false_positive).Increment();
  }
  if (!found.has_value()) return;
  if (questions == nullptr) {
    iterators->push_back(std::move(iterator));
    return;
  }
  // Later seeks are to be asked about, too: a level iterator does that, but not of this one again,
  // which is mostly the first that is made.
  auto asking = std::make_unique<LevelIterator>(LevelIterator::Files(&file, 1), comparator_,
                                                context.read_options, level, questions);
  asking->TakeOver(std::move(iterator), *range.lower);
  iterators->push_back(std::move(asking));
}

bool Version::IsPassed(const SstableFile& file, const IteratorRange& range,
                       const LookupContext& context) {
  const std::optional<KeyTimes>& times = file.metadata().key_times;
  if (!range.times.has_value() || !times.has_value() || !range.times->Exclude(*times)) return false;
  if (context.files_passed_by_time != nullptr) context.files_passed_by_time->Increment();
  return true;
}

// Of one file that is left no copy is made either: iterators over it refer to the level's array.
void Version::KeepWanted(const IteratorRange& range, const LookupContext& context,
                         LevelIterator::Files* files, Files* copy) {
  size_t last = 0;
  for (size_t i = 0; i < files->size(); i++) {
    if (IsPassed(*(*files)[i], range, context)) continue;
    last = i;
    copy->push_back((*files)[i]);
  }
  if (copy->size() <= 1) *files = files->subspan(last, copy->size());
  if (copy->size() <= 1 || copy->size() == files->size()) copy->clear();
}

void Version::AddIterators(const IteratorRange& range, const LookupContext& context,
                           IteratorTombstones* tombstones,
                           std::vector<std::unique_ptr<InternalIterator>>* iterators) const {
  const std::string_view* low = range.lower.has_value() ? &*range.lower : nullptr;
  const std::string_view* high = range.upper.has_value() ? &*range.upper : nullptr;
  const auto overlaps = [&](const SstableFile& file) {
    return (low == nullptr || !file.EndsBefore(*low, comparator_)) &&
           (high == nullptr || comparator_.CompareUserKeys(file.smallest_user_key(), *high) < 0);
  };
  // What a filter leaves out hides no less.
  const auto hide = [&](size_t num_before) {
    if (tombstones == nullptr || iterators->size() == num_before) return;
    iterators->back() = tombstones->Hide(std::move(iterators->back()));
  };
  for (const auto& file : files(0)) {
    if (!overlaps(*file)) continue;
    const bool is_passed = IsPassed(*file, range, context);
    const size_t num_before = iterators->size();
    if (tombstones != nullptr) {
      // Newest source first, as files(0) is: all that was added before is newer than this file.
      tombstones->BeginSource();
      if (file->range_tombstones() != nullptr) tombstones->AddRun({file->range_tombstones()});
    }
    if (!is_passed) AddFileIterator(file, 0, range, context, iterators);
    hide(num_before);
  }
  for (const auto& [level, index, level_tombstones] : sorted_levels_) {
    // Two searches cut the level to what overlaps: files outside take no part in seeks.
    const size_t begin = low == nullptr ? 0 : index.LowerBound(*low);
    const size_t end = high == nullptr ? num_files(level) : index.NumBefore(*high);
    if (begin >= end) continue;
    LevelIterator::Files overlapping =
        LevelIterator::Files(files(level)).subspan(begin, end - begin);
    Files wanted;  // a copy, only where several are left and some are not
    if (range.times.has_value()) [[unlikely]]
      KeepWanted(range, context, &overlapping, &wanted);
    // A level with one overlapping file is treated like a file of level 0, for the sake of its
    // filter. With several, the largest key of all but the last lies in the range: there is
    // something to find, and no filter could leave the level out.
    const size_t num_before = iterators->size();
    if (tombstones != nullptr) {
      tombstones->BeginSource();
      if (!level_tombstones.empty()) tombstones->AddRun(level_tombstones);
    }
    if (!wanted.empty()) {
      iterators->push_back(std::make_unique<LevelIterator>(
          std::move(wanted), comparator_, context.read_options, level, range.questions));
    } else if (overlapping.size() == 1) {
      AddFileIterator(overlapping[0], level, range, context, iterators);
    } else if (!overlapping.empty()) {
      iterators->push_back(std::make_unique<LevelIterator>(
          overlapping, comparator_, context.read_options, level, range.questions));
    }
    hide(num_before);
  }
}

std::string Version::DebugString() const {
  std::string out;
  for (int level = 0; level < kNumLevels; level++) {
    for (const auto& file : files(level)) {
      absl::StrAppend(&out, "level ", level, ": ", file->metadata().DebugString(), "\n");
    }
  }
  return out;
}

}  // namespace winnow
