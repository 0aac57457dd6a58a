// Compresses and decompresses the contents of one block.
//
//   compressed contents = uncompressed length (u32), then the codec's own bytes
#ifndef WINNOW_ENGINE_SSTABLE_BLOCK_COMPRESSION_H_
#define WINNOW_ENGINE_SSTABLE_BLOCK_COMPRESSION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "winnow/compression.h"

namespace winnow {

// Fills `*out` and returns true if the result is at least an eighth smaller than `contents`.
bool CompressBlock(Compression compression, int zstd_level, std::string_view contents,
                   std::string* out);

// Which blocks of a table are worth an attempt at all: of data that do not compress (images, text
// that is compressed or encrypted already) most are stored as they are, untried, so that they cost
// the time of a copy. After so many attempts in a row that did not pay one is made in sixteen, and
// the first that pays brings all of them back.
class CompressionAttempts {
 public:
  // To be asked once a block, in their order.
  bool IsWorthOne() {
    if (to_skip_ == 0) return true;
    to_skip_--;
    return false;
  }
  // Of a block for which it was.
  void Record(bool has_paid) {
    in_vain_ = has_paid ? 0 : in_vain_ + 1;
    if (in_vain_ < kBeforeSkipping) return;
    in_vain_ = kBeforeSkipping;
    to_skip_ = kSkipped;
  }

 private:
  static constexpr uint32_t kBeforeSkipping = 16;
  static constexpr uint32_t kSkipped = 15;

  uint32_t in_vain_ = 0;  // in a row
  uint32_t to_skip_ = 0;
};

// The uncompressed length that compressed `stored` claims; false if it is absurd: more than a block
// may hold, or than so few bytes can grow to. Ask before allocating.
bool UncompressedLength(Compression compression, std::string_view stored, uint64_t* length);

// Decompresses `stored` into `out`, which has room for the `length` bytes that UncompressedLength
// gave. False if the bytes are malformed or make another length. ResourceExhausted: the codec has
// no memory to try.
absl::StatusOr<bool> DecompressBlock(Compression compression, std::string_view stored, char* out,
                                     uint64_t length);

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_BLOCK_COMPRESSION_H_
