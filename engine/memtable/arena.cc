#include "engine/memtable/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <new>

namespace winnow {

namespace {

constexpr size_t kSmallestChunkBytes = size_t{2} << 10;
// Arenas up to this size may be one of thousands, and waste at most a fifth.
constexpr size_t kSmallArenaBytes = size_t{256} << 10;

// A sixteenth of what is expected: at most that much is wasted at the end, and a memtable of the
// usual 64 MB takes chunks of a whole huge page. A power of two, so that a chunk of kHugePageBytes
// can be aligned to its size.
size_t ChunkBytesFor(size_t expected_bytes) {
  const size_t wanted = std::bit_floor(std::max<size_t>(expected_bytes / 16, 1));
  return std::clamp(wanted, kSmallestChunkBytes, Arena::kHugePageBytes);
}

size_t AlignmentFor(size_t bytes) {
  return bytes >= Arena::kHugePageBytes ? Arena::kHugePageBytes : alignof(std::max_align_t);
}

}  // namespace

Arena::Arena(size_t expected_bytes, WriteBufferBudget* budget)
    : budget_(budget), chunk_bytes_(ChunkBytesFor(expected_bytes)) {}

Arena::~Arena() {
  MutexLock lock(&mutex_);
  for (Chunk* chunk : chunks_) {
    if (chunk->is_pooled) {
      budget_->chunks().Free(chunk->data, chunk->bytes);
    } else {
      ::operator delete(chunk->data, std::align_val_t(AlignmentFor(chunk->bytes)));
    }
    delete chunk;
  }
}

// All that may throw comes first: then nothing has changed.
Arena::Chunk* Arena::NewChunk(size_t bytes) {
  const size_t alignment = AlignmentFor(bytes);
  if (chunks_.size() == chunks_.capacity()) chunks_.reserve(2 * chunks_.size() + 1);
  auto chunk = std::make_unique<Chunk>();
  // Where a thousand families share little memory, memtables of a few KiB come and go many times a
  // second.
  if (budget_ != nullptr && std::has_single_bit(bytes) &&
      bytes <= filter::internal::SlabPool::kMaxPieceBytes) {
    chunk->data = budget_->chunks().Allocate(bytes);
    if (chunk->data == nullptr) throw std::bad_alloc();
    chunk->is_pooled = true;
  } else {
    chunk->data = static_cast<char*>(::operator new(bytes, std::align_val_t(alignment)));
  }
  chunk->bytes = bytes;
  if (bytes >= kHugePageBytes) madvise(chunk->data, bytes, MADV_HUGEPAGE);  // only a hint
  chunks_.push_back(chunk.release());
  memory_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (budget_ != nullptr) budget_->Grow(bytes);
  return chunks_.back();
}

// The fast path. Allocations of all threads race on `used`, and each gets what lies between its old
// and its new value. A thread whose piece would end beyond the chunk has got nothing; `used` stays
// past the end, so that every later thread fails in the same way until the chunk is replaced. (It
// cannot wrap around: a thread adds at most a quarter of a chunk before it goes to the slow path.)
char* Arena::Allocate(size_t bytes) {
  bytes = (bytes + 7) & ~size_t{7};
  if (bytes > chunk_bytes_ / 4) return AllocateSlow(bytes);  // do not use up the shared chunk
  // Acquire pairs with the release that published the chunk, so that its fields are visible.
  Chunk* chunk = current_.load(std::memory_order_acquire);
  if (chunk == nullptr) [[unlikely]]
    return AllocateSlow(bytes);
  const size_t start = chunk->used.fetch_add(bytes, std::memory_order_relaxed);
  if (start + bytes <= chunk->bytes) return chunk->data + start;
  return AllocateSlow(bytes);
}

char* Arena::AllocateSlow(size_t bytes) {
  MutexLock lock(&mutex_);
  if (bytes > chunk_bytes_ / 4) {  // a chunk of its own, so that the current one is not wasted
    return NewChunk(bytes)->data;
  }
  // Another thread may have replaced the chunk while this one waited for the lock.
  Chunk* chunk = current_.load(std::memory_order_relaxed);
  size_t start = chunk == nullptr ? 0 : chunk->used.fetch_add(bytes, std::memory_order_relaxed);
  if (chunk == nullptr || start + bytes > chunk->bytes) {
    // A quarter of what there is while that is little, then as much again, up to the full size.
    const size_t present = memory_bytes();
    const size_t wanted = std::bit_floor(
        std::max(kSmallestChunkBytes, present < kSmallArenaBytes ? present / 4 : present));
    chunk = NewChunk(std::min(chunk_bytes_, std::max(wanted, std::bit_ceil(bytes))));
    // Taken before the chunk is published: afterwards other threads may use it up first.
    start = chunk->used.fetch_add(bytes, std::memory_order_relaxed);
    current_.store(chunk, std::memory_order_release);
  }
  return chunk->data + start;
}

}  // namespace winnow
