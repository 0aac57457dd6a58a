#include "engine/compaction/compaction.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace winnow {

bool AllIdle(const Version::Files& files) {
  for (const auto& file : files) {
    if (!IsIdle(*file)) return false;
  }
  return true;
}

uint64_t TotalBytes(const Version::Files& files) {
  uint64_t bytes = 0;
  for (const auto& file : files) bytes += file->metadata().file_bytes;
  return bytes;
}

bool LevelZeroGoesTo(const Version& version, int level) {
  for (const auto& file : version.files(0)) {
    if (file->being_compacted && file->compacted_into == level) return true;
  }
  return false;
}

// Level 0 is ordered by age, so that its range is not that of its first and last file.
UserKeyRange RangeOf(const Version::Files& files, const InternalKeyComparator& comparator) {
  UserKeyRange range = files[0]->range();
  for (const auto& file : files) {
    if (comparator.CompareUserKeys(file->smallest_user_key(), range.smallest) < 0) {
      range.smallest = file->smallest_user_key();
    }
    if (EndsBehind(file->range(), range, comparator)) {
      range.largest = file->largest_user_key();
      range.excludes_largest = file->range().excludes_largest;
    }
  }
  return range;
}

// Sums over metadata, which never changes: no lock, no I/O. The entries are what RunCompaction
// compares with what it has read.
uint64_t Compaction::input_bytes() const {
  uint64_t bytes = 0;
  for (const auto& files : inputs) bytes += TotalBytes(files);
  return bytes;
}

uint64_t Compaction::input_entries() const {
  uint64_t entries = 0;
  for (const auto& files : inputs) {
    for (const auto& file : files) entries += file->metadata().num_entries;
  }
  return entries;
}

uint64_t Compaction::input_write_times() const {
  uint64_t entries = 0;
  for (const auto& files : inputs) {
    for (const auto& file : files) entries += file->metadata().write_times.num_entries;
  }
  return entries;
}

size_t Compaction::num_input_files() const {
  size_t count = 0;
  for (const auto& files : inputs) count += files.size();
  return count;
}

SequenceNumber Compaction::largest_input_sequence() const {
  SequenceNumber largest = 0;
  for (const auto& files : inputs) {
    for (const auto& file : files) largest = std::max(largest, file->metadata().largest_sequence);
  }
  return largest;
}

// The output lies above all that is older than the oldest input. Nothing that stays in the level
// lies between the inputs, and what comes meanwhile has larger numbers.
uint64_t Compaction::smallest_epoch_number() const {
  uint64_t smallest = UINT64_MAX;
  for (const auto& file : inputs[0]) smallest = std::min(smallest, file->metadata().epoch_number);
  return smallest;
}

// A file is an input of at most one compaction. Marking is what makes two compactions of one family
// disjoint: the picker leaves marked files, and everything that would overlap them, alone.
void Compaction::MarkInputs(bool being_compacted) const {
  for (const auto& files : inputs) {
    for (const auto& file : files) {
      file->being_compacted = being_compacted;
      file->compacted_into = output_level;
    }
  }
}

// The edit names level and number: a file that a trivial move adds to its new level in the same
// edit must not be deleted there.
void Compaction::DeleteInputs(FamilyEdit* edit) const {
  for (int level = 0; level < kNumLevels; level++) {
    for (const auto& file : inputs[static_cast<size_t>(level)]) {
      edit->deleted.push_back({level, file->number()});
    }
  }
}

// Only the level changes: BuildVersion takes the open file over, with its reader, its cached blocks
// and its flags.
void Compaction::MoveInputs(FamilyEdit* edit) const {
  for (const auto& files : inputs) {
    for (const auto& file : files) edit->added.push_back({output_level, file->metadata()});
  }
}

// Levels between the inputs' and the output's are not looked at: the picker sees to it that they
// hold nothing of the inputs' range.
BottommostLevelChecker::BottommostLevelChecker(const Compaction& compaction)
    : comparator_(compaction.version->comparator()),
      within_level_zero_(compaction.output_level == 0) {
  for (int level = compaction.output_level + 1; level < kNumLevels; level++) {
    if (compaction.version->num_files(level) > 0) {
      deeper_.push_back({&compaction.version->files(level), 0});
    }
  }
}

// Files of a level are sorted and disjoint, and keys ascend from call to call, so that a position
// in each level only moves forwards. A file that ends before the key can never matter again. The
// comparison is by user key and inclusive on both sides: a tombstone must be kept for as long as
// any version of its key may lie below.
bool BottommostLevelChecker::operator()(std::string_view user_key) {
  if (within_level_zero_) return false;
  for (Level& level : deeper_) {
    const Version::Files& files = *level.files;
    while (level.index < files.size() && files[level.index]->EndsBefore(user_key, comparator_)) {
      level.index++;
    }
    if (level.index < files.size() &&
        comparator_.CompareUserKeys(user_key, files[level.index]->smallest_user_key()) >= 0) {
      return false;
    }
  }
  return true;
}

// For LOG and for errors:
//
//   level 0 is full: level 0 [12 9] level 5 [7] -> level 5
std::string Compaction::DebugString() const {
  std::string out = absl::StrCat(reason, ":");
  for (int level = 0; level < kNumLevels; level++) {
    const auto& files = inputs[static_cast<size_t>(level)];
    if (files.empty()) continue;
    absl::StrAppend(&out, " level ", level, " [");
    for (size_t i = 0; i < files.size(); i++) {
      absl::StrAppend(&out, i == 0 ? "" : " ", files[i]->number());
    }
    absl::StrAppend(&out, "]");
  }
  if (drops_inputs) return out + " dropped";
  absl::StrAppend(&out, " -> level ", output_level, is_trivial_move ? " (move)" : "");
  return out;
}

}  // namespace winnow
