#include "engine/sstable/filter_block.h"

#include <cstring>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow {

namespace {

// Where the bytes of a filter begin in its cached block: on a cache line, as its kinds expect.
constexpr size_t kContentsAt = (sizeof(filter::FilterReader) + 63) / 64 * 64;
static_assert(alignof(CachedBlock) % 64 == 0 && sizeof(CachedBlock) % 64 == 0);
// Blocks are freed without a destructor of what they hold.
static_assert(std::is_trivially_destructible_v<filter::FilterReader> &&
              std::is_trivially_copyable_v<filter::FilterReader>);

filter::FilterState Unusable(filter::FilterStateCode code, std::string_view reason) {
  filter::FilterState state;
  state.code = code;
  state.reason = std::string(reason);
  return state;
}

}  // namespace

// The checksum is verified whatever the read options are: a wrong bit in a filter would hide keys,
// and nothing else would tell.
filter::FilterState ReadInPlace(const BlockFile& file, const BlockHandle& handle, BlockKind kind,
                                char* memory, absl::Status* read_status) {
  using filter::FilterStateCode;
  const size_t stored_bytes = handle.size + kBlockTrailerBytes;
  *read_status = file.ReadBytes(handle.offset, stored_bytes, memory);
  if (!read_status->ok()) {
    return Unusable(FilterStateCode::kDamaged, ToStd(read_status->message()));
  }
  Compression compression;
  const absl::Status checked =
      file.CheckTrailer(std::string_view(memory, stored_bytes), handle, kind, true, &compression);
  if (!checked.ok()) return Unusable(FilterStateCode::kDamaged, ToStd(checked.message()));
  // Our writer never does.
  if (compression != Compression::kNone) {
    return Unusable(FilterStateCode::kDamaged, "is compressed");
  }
  return {};
}

filter::FilterState ReadFilterBlock(const FilterBlockSource& source, char* memory,
                                    filter::FilterReader* reader, absl::Status* read_status) {
  using filter::FilterStateCode;
  *reader = filter::FilterReader();
  filter::FilterState state =
      ReadInPlace(*source.file, source.handle, BlockKind::kFilter, memory, read_status);
  // What a policy made only the policy can check further.
  if (state.code != FilterStateCode::kOk || source.made_by_policy) return state;
  *reader = filter::FilterReader::Open(std::string_view(memory, source.handle.size), &state);
  // The filter block records its seed, and so do the properties. Queried with hashes of another
  // seed it would deny keys that it holds, the one mistake that a filter must not make.
  if (state.code == FilterStateCode::kOk && !reader->always_true() &&
      reader->hash_seed() != source.hash_seed) {
    state = Unusable(FilterStateCode::kDamaged, "made with another hash seed than the table names");
  }
  // Open may have understood a part of it, which must not be asked.
  if (state.code != FilterStateCode::kOk) *reader = filter::FilterReader();
  return state;
}

absl::StatusOr<BlockRef> LoadFilterForCache(const FilterBlockSource& source, BlockArena* arena,
                                            ReadCounters* counters, filter::FilterState* state) {
  const auto allocate = [&](size_t bytes) -> absl::StatusOr<BlockRef> {
    BlockRef block = CachedBlock::AllocateLongLived(bytes, arena);
    if (block) return block;
    return absl::ResourceExhaustedError(
        absl::StrCat(source.file->path(), ": no memory for a filter of ", bytes, " bytes"));
  };
  // Contents and trailer are read with one call; the trailer is cut off once it has been checked.
  const size_t stored_bytes = source.handle.size + kBlockTrailerBytes;
  WINNOW_ASSIGN_OR_RETURN(BlockRef block, allocate(kContentsAt + stored_bytes));
  char* const memory = block.mutable_block()->mutable_data();
  filter::FilterReader reader;
  absl::Status read_status;
  filter::FilterState found = ReadFilterBlock(source, memory + kContentsAt, &reader, &read_status);
  if (counters != nullptr) {
    counters->filter_blocks_read.Increment();
    counters->bytes_read.Add(stored_bytes);
  }
  // An I/O error may pass, and is not cached: the next look-up tries again. Damage stays.
  if (!read_status.ok() && !absl::IsDataLoss(read_status)) return read_status;
  const bool usable = found.code == filter::FilterStateCode::kOk;
  if (state != nullptr) *state = std::move(found);
  if (usable) {
    // It points into the block that it lies in, which never moves: a cache moves pointers to
    // blocks.
    new (memory) filter::FilterReader(reader);
    block.mutable_block()->Shrink(kContentsAt + source.handle.size);
    return block;
  }
  // In the cache a refused filter takes a few bytes, not as many as it has in the file.
  WINNOW_ASSIGN_OR_RETURN(BlockRef unusable, allocate(kContentsAt));
  new (unusable.mutable_block()->mutable_data()) filter::FilterReader();
  return unusable;
}

CachedFilter FilterOf(const CachedBlock& block) {
  CachedFilter filter;
  std::memcpy(static_cast<void*>(&filter.reader), block.data(), sizeof(filter.reader));
  filter.contents = block.contents().substr(kContentsAt);
  return filter;
}

}  // namespace winnow
