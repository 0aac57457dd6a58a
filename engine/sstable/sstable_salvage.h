// Reads what can still be read of a damaged table.
#ifndef WINNOW_ENGINE_SSTABLE_SSTABLE_SALVAGE_H_
#define WINNOW_ENGINE_SSTABLE_SSTABLE_SALVAGE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/sstable/sstable_frame.h"
#include "engine/sstable/sstable_reader.h"

namespace winnow {

// One walk over the data blocks of a file: to those that an index leads to, past each damaged one
// to the next; where there is no index, to those that a search finds. Every block that is sound and
// not cut comes, if the table's identity is known.
class SstableSalvage {
 public:
  // Called with internal keys in strictly ascending order.
  using Take = absl::FunctionRef<absl::Status(std::string_view key, std::string_view value)>;

  // `frame` is what FindSstableFrame found; its identity is known.
  SstableSalvage(std::unique_ptr<RandomAccessFile> file, const std::string& path,
                 SstableFrame frame);

  // Stops only at an error of `take`, or of the memory that a search needs.
  absl::Status Run(const InternalKeyComparator& comparator, Take take);
  // The table's range tombstones, after Run: all of them, or none and a problem that says so. They
  // live as long as this.
  const std::vector<RangeTombstone>& range_tombstones() const { return tombstones_; }
  // What was passed over.
  const std::vector<SstableProblem>& problems() const { return problems_; }

 private:
  void PassOver(uint64_t offset, const absl::Status& status);
  absl::StatusOr<BlockRef> Read(const BlockHandle& handle, BlockKind kind) const;
  void TakeRangeTombstones();
  // The index block and, behind it, all its partitions.
  absl::Status FollowIndex();
  absl::Status FollowPiece(const IndexBlock& index);
  // Looks for the blocks between position_ and `end`.
  absl::Status SearchUpTo(uint64_t end);
  absl::Status SearchIn(const BlockFile& file, uint64_t end);
  // Nothing was found between position_ and `end`.
  void NoteGap(uint64_t end);
  absl::Status TakeEntries(uint64_t offset, const BlockRef& block);

  const std::unique_ptr<RandomAccessFile> file_;
  const SstableFrame frame_;
  uint64_t data_end_;
  // Where bytes were put into a file, or taken out of it, what is behind them has moved with the
  // end, and what is before them has not.
  BlockFile moved_;
  BlockFile unmoved_;
  std::vector<SstableProblem> problems_;
  BlockRef tombstone_block_;
  std::vector<RangeTombstone> tombstones_;

  // While Run.
  const InternalKeyComparator* comparator_ = nullptr;
  const Take* take_ = nullptr;
  uint64_t position_ = 0;  // data blocks before it have been walked over
  std::string last_key_;
  bool any_ = false;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SSTABLE_SALVAGE_H_
