// How the blocks of an SSTable are compressed.
#ifndef WINNOW_COMPRESSION_H_
#define WINNOW_COMPRESSION_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow {

// On-disk values: never renumber. A block that does not shrink by an eighth is stored raw.
enum class Compression : uint8_t { kNone = 0, kSnappy = 1, kLz4 = 2, kZstd = 3 };

// "none", "snappy", "lz4", "zstd". Never fails for a value of the enumeration.
std::string_view CompressionName(Compression compression);

// The reverse; InvalidArgument lists the names.
absl::StatusOr<Compression> ParseCompression(std::string_view name);

}  // namespace winnow

#endif  // WINNOW_COMPRESSION_H_
