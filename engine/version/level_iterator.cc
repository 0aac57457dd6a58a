#include "engine/version/level_iterator.h"

#include <algorithm>
#include <utility>

namespace winnow {

LevelIterator::LevelIterator(Files files, const InternalKeyComparator& comparator,
                             const SstableReadOptions& options)
    : LevelIterator(files, comparator, options, 0, nullptr) {}

LevelIterator::LevelIterator(Files files, const InternalKeyComparator& comparator,
                             const SstableReadOptions& options, int level,
                             RangeQuestions* questions)
    : files_(files),
      comparator_(comparator),
      options_(options),
      index_(files_.size()),
      level_(level),
      questions_(questions) {}

LevelIterator::LevelIterator(std::vector<std::shared_ptr<SstableFile>> files,
                             const InternalKeyComparator& comparator,
                             const SstableReadOptions& options, int level,
                             RangeQuestions* questions)
    : own_files_(std::move(files)),
      files_(own_files_),
      comparator_(comparator),
      options_(options),
      index_(files_.size()),
      level_(level),
      questions_(questions) {}

void LevelIterator::TakeOver(std::unique_ptr<SstableIterator> table, std::string_view user_key) {
  index_ = 0;
  table_ = std::move(table);
  asked_from_.emplace(user_key);
}

// The file's entries from a key on are the same each time, and statistics would count it twice.
bool LevelIterator::WasAskedFrom(std::string_view user_key) {
  return std::exchange(asked_from_, std::nullopt) == user_key;
}

// The table iterator is kept while the file stays the same: a seek within it reuses its block.
// Compaction and ordinary scans pass files in order, so one open iterator at a time is enough.
//
// A file without reader leaves table_ null and the status set: the iterator is then invalid, which
// is what ends a merge.
void LevelIterator::Open(size_t index) {
  if (index < files_.size() && index == index_ && table_ != nullptr) return;
  index_ = index;
  table_.reset();
  if (index >= files_.size()) return;
  if (files_[index]->reader() == nullptr) {
    status_ = files_[index]->open_status();
    return;
  }
  table_ = files_[index]->reader()->NewIterator(options_);
}

// Goes past files that have nothing (more) to show, in the direction of travel. Invariant on
// return: valid, or at the end of the level, or failed with status() set. What must not happen is
// to go from a file that failed to the next one: keys of the failed file would be missing from the
// middle of a scan, and a tombstone among them would bring a deleted key back from a deeper level.
void LevelIterator::SkipForward() {
  // An invalid table iterator is at its end only if its status is OK: an error must not be taken
  // for the end of the file.
  while (status_.ok() && table_ != nullptr && !table_->Valid() && table_->status().ok()) {
    Open(index_ + 1);
    if (table_ != nullptr) table_->SeekToFirst();
  }
}

void LevelIterator::SkipBackward() {
  while (status_.ok() && table_ != nullptr && !table_->Valid() && table_->status().ok()) {
    Open(index_ == 0 ? files_.size() : index_ - 1);
    if (table_ != nullptr) table_->SeekToLast();
  }
}

void LevelIterator::SeekToFirst() {
  status_ = absl::OkStatus();
  Open(0);
  if (table_ != nullptr) table_->SeekToFirst();
  SkipForward();
}

void LevelIterator::SeekToLast() {
  status_ = absl::OkStatus();
  Open(files_.empty() ? 0 : files_.size() - 1);
  if (table_ != nullptr) table_->SeekToLast();
  SkipBackward();
}

void LevelIterator::Seek(std::string_view internal_key) {
  status_ = absl::OkStatus();
  const auto found = std::partition_point(files_.begin(), files_.end(), [&](const auto& file) {
    return comparator_.Compare(file->metadata().largest, internal_key) < 0;
  });
  // The first file that ends at or after the key. If the key lies in the gap before that file, its
  // seek lands on its first entry.
  const auto index = static_cast<size_t>(found - files_.begin());
  // In any file but the last there is something to find: its largest key.
  auto answer = RangeQuestions::Answer::kNotAsked;
  if (questions_ != nullptr && index + 1 == files_.size()) [[unlikely]] {
    if (!WasAskedFrom(UserKey(internal_key))) {
      answer = questions_->AskFrom(*files_[index], level_, internal_key);
    }
  }
  Open(answer == RangeQuestions::Answer::kNo ? files_.size() : index);
  if (table_ != nullptr) table_->Seek(internal_key);
  if (answer == RangeQuestions::Answer::kMaybe) NoteOutcome();
  SkipForward();
}

void LevelIterator::SeekForPrev(std::string_view internal_key) {
  status_ = absl::OkStatus();
  // By the smallest key here: the mirror image of Seek.
  const auto found = std::partition_point(files_.begin(), files_.end(), [&](const auto& file) {
    return comparator_.Compare(file->metadata().smallest, internal_key) <= 0;
  });
  // The last file that begins at or before the key.
  const size_t index =
      found == files_.begin() ? files_.size() : static_cast<size_t>(found - files_.begin()) - 1;
  auto answer = RangeQuestions::Answer::kNotAsked;
  if (questions_ != nullptr && index == 0 && !files_.empty()) [[unlikely]]
    answer = questions_->AskUpTo(*files_[index], level_, internal_key);
  Open(answer == RangeQuestions::Answer::kNo ? files_.size() : index);
  if (table_ != nullptr) table_->SeekForPrev(internal_key);
  if (answer == RangeQuestions::Answer::kMaybe) NoteOutcome();
  SkipBackward();
}

// An error is no outcome.
void LevelIterator::NoteOutcome() {
  if (table_ == nullptr || !table_->status().ok()) return;
  questions_->Note(level_, table_->Valid() ? std::optional(UserKey(table_->key())) : std::nullopt);
}

void LevelIterator::Next() {
  table_->Next();
  SkipForward();
}

void LevelIterator::Prev() {
  table_->Prev();
  SkipBackward();
}

absl::Status LevelIterator::status() const {
  if (!status_.ok() || table_ == nullptr) return status_;
  return table_->status();
}

}  // namespace winnow
