#include "engine/sstable/mapped_blocks.h"

#include <algorithm>
#include <bit>
#include <new>

namespace winnow {

namespace {

// Half of the mean block or a little less: blocks are cut when they are full, so that few are
// smaller. The bounds are for what a damaged table may say of itself.
constexpr uint64_t kLeastPieceBytes = 64;
constexpr uint64_t kMostPieceBytes = uint64_t{1} << 20;

int PieceShift(uint64_t data_end, uint64_t num_blocks) {
  const uint64_t mean = data_end / std::max<uint64_t>(num_blocks, 1);
  const uint64_t piece = std::clamp(mean / 2, kLeastPieceBytes, kMostPieceBytes);
  return static_cast<int>(std::bit_width(piece)) - 1;
}

}  // namespace

MappedBlocks* MappedBlocks::New(std::unique_ptr<FileMapping> mapping, uint64_t data_end,
                                uint64_t num_blocks) {
  // Lets go at once where there is memory for the object and none for its bits.
  Held blocks(new (std::nothrow)
                  MappedBlocks(std::move(mapping), data_end, PieceShift(data_end, num_blocks)));
  return blocks == nullptr || blocks->sound_ == nullptr ? nullptr : blocks.release();
}

MappedBlocks::MappedBlocks(std::unique_ptr<FileMapping> mapping, uint64_t data_end, int piece_shift)
    : mapping_(std::move(mapping)),
      bytes_(mapping_->bytes()),
      piece_shift_(piece_shift),
      // With a word for the last piece, of which the data may fill a part only.
      num_words_(static_cast<size_t>((data_end >> piece_shift) / 64 + 1)),
      sound_(new (std::nothrow) std::atomic<uint64_t>[num_words_]()) {}

}  // namespace winnow
