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
