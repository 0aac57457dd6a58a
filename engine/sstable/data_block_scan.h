// Finds data blocks where no index says where they are.
#ifndef WINNOW_ENGINE_SSTABLE_DATA_BLOCK_SCAN_H_
#define WINNOW_ENGINE_SSTABLE_DATA_BLOCK_SCAN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/sstable/block_file.h"
#include "engine/sstable/sstable_problem.h"

namespace winnow {

// Blocks bear no mark, but where one begins its first bytes say how long it is (uncompressed ones)
// or at most is (compressed ones), and the checksum, which knows file and offset, decides.
class DataBlockScan {
 public:
  // Of the blocks in [begin, end) of a file whose identity is set.
  DataBlockScan(const BlockFile& file, uint64_t begin, uint64_t end);

  // Gives the next sound block; false: there is none up to the end. The only error is
  // ResourceExhausted: pieces that cannot be read are passed over.
  absl::StatusOr<bool> Next(BlockHandle* handle, BlockRef* block);
  // Why Next may not have found all that there is.
  const std::vector<SstableProblem>& problems() const { return problems_; }

  // True if a sound block stands at `begin`. Instead of Next.
  absl::StatusOr<bool> StartsWithBlock();

 private:
  // At least `length` bytes from position_ on, or all up to where the file can be read.
  absl::StatusOr<std::string_view> BytesAhead(uint64_t length);
  // With so many bytes from position_ on, or fewer.
  absl::Status FillBuffer(uint64_t bytes);
  // False: what wrong guesses may cost is used up.
  bool Spend(uint64_t bytes);
  // The size of an uncompressed block here; 0: there is none.
  absl::StatusOr<uint64_t> PlainSize(std::string_view ahead);
  absl::StatusOr<uint64_t> CompressedSize(std::string_view ahead, uint64_t largest_length);
  absl::StatusOr<bool> TakeAt(uint64_t largest_length, BlockHandle* handle, BlockRef* block);

  const BlockFile& file_;
  uint64_t position_;
  const uint64_t end_;
  bool behind_a_block_ = true;     // position_ is where a block should begin
  uint64_t largest_contents_ = 0;  // of the blocks found so far
  uint64_t budget_bytes_;
  uint64_t buffer_offset_ = 0;
  uint64_t buffered_bytes_ = 0;
  std::string buffer_;
  // The next piece that cannot be read; empty, at the end: none is known.
  uint64_t unreadable_begin_;
  uint64_t unreadable_end_;
  absl::Status read_error_;  // of that piece
  uint64_t passed_over_until_ = ~uint64_t{0};
  std::vector<SstableProblem> problems_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_DATA_BLOCK_SCAN_H_
