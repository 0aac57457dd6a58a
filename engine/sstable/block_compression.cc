#include "engine/sstable/block_compression.h"

#include <lz4.h>
#include <snappy-sinksource.h>
#include <snappy.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/base/coding.h"
#include "engine/base/large_buffer.h"
#include "engine/base/status.h"
#include "engine/sstable/format.h"
#include "filter/base/out_of_memory.h"
#include "filter/base/per_thread.h"
#include "filter/base/shown_text.h"

namespace winnow {

namespace {

// The uncompressed length in front of the codec's bytes (FORMAT.md, "Blocks"). A block's size fits
// that field, and the int that LZ4 takes.
constexpr size_t kLengthBytes = 4;
static_assert(kMaxBlockContentsBytes <= std::numeric_limits<uint32_t>::max());
static_assert(kMaxBlockContentsBytes <= LZ4_MAX_INPUT_SIZE);

// LZ4 and Snappy need no state between blocks; Zstandard's tables are large, and its contexts take
// long to make: one for each thread. Null when memory is exhausted; the next block tries again.
struct ZstdContexts {
  ZstdContexts() = default;
  ~ZstdContexts() {
    ZSTD_freeCCtx(compressor);
    ZSTD_freeDCtx(decompressor);
  }
  ZstdContexts(const ZstdContexts&) = delete;
  ZstdContexts& operator=(const ZstdContexts&) = delete;

  ZSTD_CCtx* compressor = nullptr;
  ZSTD_DCtx* decompressor = nullptr;
};

ZSTD_CCtx* ThreadZstdCompressor() {
  ZstdContexts* const contexts = PerThread<ZstdContexts>::GetOrNull();
  if (contexts == nullptr) return nullptr;
  if (contexts->compressor == nullptr) contexts->compressor = ZSTD_createCCtx();
  return contexts->compressor;
}
ZSTD_DCtx* ThreadZstdDecompressor() {
  ZstdContexts* const contexts = PerThread<ZstdContexts>::GetOrNull();
  if (contexts == nullptr) return nullptr;
  if (contexts->decompressor == nullptr) contexts->decompressor = ZSTD_createDCtx();
  return contexts->decompressor;
}

// The most that a codec can make of so many bytes, incompressible ones included.
size_t MaxCompressedBytes(Compression compression, size_t bytes) {
  switch (compression) {
    case Compression::kNone:
      return 0;
    case Compression::kSnappy:
      return snappy::MaxCompressedLength(bytes);
    case Compression::kLz4:
      return static_cast<size_t>(LZ4_compressBound(static_cast<int>(bytes)));
    case Compression::kZstd:
      return ZSTD_compressBound(bytes);
  }
  return 0;
}

// Takes what fits; Snappy cannot be stopped.
class BoundedSink final : public snappy::Sink {
 public:
  BoundedSink(char* out, size_t room) : out_(out), room_(room) {}

  void Append(const char* bytes, size_t length) override {
    if (length <= room_ - taken_) {
      std::memcpy(out_ + taken_, bytes, length);
      taken_ += length;
    } else {
      // Nor does anything behind it, however short: what was taken stays a prefix of the whole.
      room_ = taken_;
      is_full_ = true;
    }
  }
  // 0: it did not fit.
  size_t taken() const { return is_full_ ? 0 : taken_; }

 private:
  char* const out_;
  size_t room_;
  size_t taken_ = 0;
  bool is_full_ = false;
};

size_t CompressWithSnappy(std::string_view contents, char* out, size_t room) {
  if (room >= snappy::MaxCompressedLength(contents.size())) {
    // Checks no bounds: only for an output that has room for the worst case.
    size_t written = 0;
    snappy::RawCompress(contents.data(), contents.size(), out, &written);
    return written;
  }
  snappy::ByteArraySource source(contents.data(), contents.size());
  BoundedSink sink(out, room);
  snappy::Compress(&source, &sink);
  return sink.taken();
}

// Bytes written to `out`, 0 on failure or if `room` is too little.
size_t CompressTo(Compression compression, int zstd_level, std::string_view contents, char* out,
                  size_t room) {
  switch (compression) {
    case Compression::kNone:
      return 0;
    case Compression::kSnappy:
      return CompressWithSnappy(contents, out, room);
    case Compression::kLz4: {
      const int written = LZ4_compress_default(
          contents.data(), out, static_cast<int>(contents.size()), static_cast<int>(room));
      return written > 0 ? static_cast<size_t>(written) : 0;
    }
    case Compression::kZstd: {
      ZSTD_CCtx* const context = ThreadZstdCompressor();
      // Without memory for a context the block is stored plain, which costs nothing but space.
      if (context == nullptr) return 0;
      const size_t written =
          ZSTD_compressCCtx(context, out, room, contents.data(), contents.size(), zstd_level);
      return ZSTD_isError(written) != 0 ? 0 : written;
    }
  }
  return 0;
}

// The most that `bytes` bytes of a codec can grow to. A length byte of LZ4 adds 255 bytes; three
// bytes of Snappy copy 64; four bytes of Zstandard are a block of 128 KiB of one value.
uint64_t MaxUncompressedBytes(Compression compression, uint64_t bytes) {
  constexpr uint64_t kZstdBlockBytes = uint64_t{128} << 10;
  switch (compression) {
    case Compression::kNone:
      return bytes;
    case Compression::kSnappy:
      // 64 / 3, rounded up.
      return 22 * bytes + 64;
    case Compression::kLz4:
      return 255 * bytes + 64;
    case Compression::kZstd:
      return kZstdBlockBytes / 4 * bytes + kZstdBlockBytes;
  }
  return 0;
}

}  // namespace

// A block is stored compressed only if that saves an eighth: less would not pay for decompressing
// it at every miss. The uncompressed length stands in front because only some codecs record it.
bool CompressBlock(Compression compression, int zstd_level, std::string_view contents,
                   std::string* out) {
  if (compression == Compression::kNone || contents.empty() ||
      contents.size() > kMaxBlockContentsBytes) {
    return false;
  }
  // The largest result that pays, the length in front included.
  const size_t most = contents.size() - contents.size() / 8;
  size_t room = MaxCompressedBytes(compression, contents.size());
  // The codecs are faster where they need not look how much room is left. For large contents that
  // is memory which counts: Snappy's bound is a sixth more than they are.
  if (contents.size() > kLargeBufferBytes) room = std::min(room, most - kLengthBytes);
  out->resize(kLengthBytes + room);
  EncodeFixed32(out->data(), static_cast<uint32_t>(contents.size()));
  const size_t written =
      CompressTo(compression, zstd_level, contents, out->data() + kLengthBytes, room);
  if (written == 0 || kLengthBytes + written > most) return false;
  out->resize(kLengthBytes + written);
  return true;
}

// Two bounds before anything is allocated: the largest block there is, and the most that this many
// compressed bytes can become. A damaged length, read without checksums, can therefore cost memory
// in proportion to the file only.
bool UncompressedLength(Compression compression, std::string_view stored, uint64_t* length) {
  if (stored.size() < kLengthBytes) return false;
  *length = DecodeFixed32(stored.data());
  return *length <= kMaxBlockContentsBytes &&
         *length <= MaxUncompressedBytes(compression, stored.size() - kLengthBytes);
}

// The safe variants of the codecs never write beyond `length`, and the result must fill it exactly:
// a short one would leave uninitialised bytes in the block.
absl::StatusOr<bool> DecompressBlock(Compression compression, std::string_view stored, char* out,
                                     uint64_t length) {
  if (stored.size() < kLengthBytes) return false;
  stored.remove_prefix(kLengthBytes);
  switch (compression) {
    case Compression::kNone:
      return false;
    case Compression::kSnappy: {
      // RawUncompress takes no bound: it writes as much as the stream itself promises, which must
      // therefore be compared before.
      size_t promised = 0;
      return snappy::GetUncompressedLength(stored.data(), stored.size(), &promised) &&
             promised == length && snappy::RawUncompress(stored.data(), stored.size(), out);
    }
    case Compression::kLz4:
      // Both sizes fit an int: the one by this check, the other since UncompressedLength gave it.
      return stored.size() <= LZ4_MAX_INPUT_SIZE &&
             LZ4_decompress_safe(stored.data(), out, static_cast<int>(stored.size()),
                                 static_cast<int>(length)) == static_cast<int>(length);
    case Compression::kZstd: {
      ZSTD_DCtx* const context = ThreadZstdDecompressor();
      // Says nothing about the bytes.
      if (context == nullptr) return OutOfMemory();
      return ZSTD_decompressDCtx(context, out, length, stored.data(), stored.size()) == length;
    }
  }
  return false;
}

std::string_view CompressionName(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return "none";
    case Compression::kSnappy:
      return "snappy";
    case Compression::kLz4:
      return "lz4";
    case Compression::kZstd:
      return "zstd";
  }
  return "unknown";
}

absl::StatusOr<Compression> ParseCompression(std::string_view name) {
  for (const Compression compression :
       {Compression::kNone, Compression::kSnappy, Compression::kLz4, Compression::kZstd}) {
    if (name == CompressionName(compression)) return compression;
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown compression \"", ShownText(name),
                                                 "\": expected none, snappy, lz4 or zstd"));
}

}  // namespace winnow
