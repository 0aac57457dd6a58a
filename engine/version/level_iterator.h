// Iterates over the files of one sorted level as if they were one.
#ifndef WINNOW_ENGINE_VERSION_LEVEL_ITERATOR_H_
#define WINNOW_ENGINE_VERSION_LEVEL_ITERATOR_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/internal_iterator.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/version/range_questions.h"
#include "engine/version/sstable_file.h"

namespace winnow {

// Opens at most one file at a time. The array of files, sorted and not overlapping, must outlive
// it.
class LevelIterator final : public InternalIterator {
 public:
  using Files = std::span<const std::shared_ptr<SstableFile>>;

  LevelIterator(Files files, const InternalKeyComparator& comparator,
                const SstableReadOptions& options);
  // The same, for files of this level that all overlap the bounds of `questions`: a file whose
  // range filter rules out what a seek looks for is not read. `questions`, which must outlive it,
  // may be null.
  LevelIterator(Files files, const InternalKeyComparator& comparator,
                const SstableReadOptions& options, int level, RangeQuestions* questions);
  // Likewise, for some files of a level, of which it keeps the array.
  LevelIterator(std::vector<std::shared_ptr<SstableFile>> files,
                const InternalKeyComparator& comparator, const SstableReadOptions& options,
                int level, RangeQuestions* questions);

  // Goes on with an iterator over its only file, which stands where a seek put it. That seek asked
  // `questions` from `user_key` on: the first of this iterator from there does not ask again.
  void TakeOver(std::unique_ptr<SstableIterator> table, std::string_view user_key);

  bool Valid() const override { return table_ != nullptr && table_->Valid(); }
  void SeekToFirst() override;
  void SeekToLast() override;
  void Seek(std::string_view internal_key) override;
  void SeekForPrev(std::string_view internal_key) override;
  void Next() override;
  void Prev() override;
  std::string_view key() const override { return table_->key(); }
  std::string_view value() const override { return table_->value(); }
  absl::Status status() const override;

 private:
  // Makes files_[index] the current one; past the end there is none.
  void Open(size_t index);
  void SkipForward();
  void SkipBackward();
  // Whether whoever made this iterator asked what a seek forward would ask. True at most once.
  bool WasAskedFrom(std::string_view user_key);
  // Of a seek in table_, whose range filter let it through.
  void NoteOutcome();

  const std::vector<std::shared_ptr<SstableFile>> own_files_;
  const Files files_;
  const InternalKeyComparator comparator_;
  const SstableReadOptions options_;
  size_t index_;
  std::unique_ptr<SstableIterator> table_;
  const int level_ = 0;
  RangeQuestions* const questions_ = nullptr;
  std::optional<std::string> asked_from_;  // by TakeOver's caller
  absl::Status status_;                    // of opening a file; clears with the next seek
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_LEVEL_ITERATOR_H_
