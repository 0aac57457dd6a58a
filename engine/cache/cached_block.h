// A block in memory and the handle that keeps it alive.
#ifndef WINNOW_ENGINE_CACHE_CACHED_BLOCK_H_
#define WINNOW_ENGINE_CACHE_CACHED_BLOCK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace winnow {

class BlockArena;
class BlockRef;

// One allocation: this header, then the contents, aligned to 64 bytes and followed by
// kReadablePadding bytes that decoders may read (never interpret). Written by its creator until it
// is handed to a cache, immutable from then on.
class alignas(64) CachedBlock {
 public:
  static constexpr size_t kReadablePadding = 16;
  static constexpr size_t kMinInPages = size_t{8} << 10;

  // A block with room for `contents_bytes`, not yet in any cache; contents are uninitialised except
  // for the padding. From `arena`, which must outlive it, unless that is null or the block too
  // large for it. Empty handle when memory is exhausted.
  static BlockRef Allocate(size_t contents_bytes, BlockArena* arena = nullptr);
  // The same for what stays long and has many sizes, as filters have: from kMinInPages on in pages
  // of its own, so that it leaves no holes in the heap that nothing fits into.
  static BlockRef AllocateLongLived(size_t contents_bytes, BlockArena* arena);

  CachedBlock(const CachedBlock&) = delete;
  CachedBlock& operator=(const CachedBlock&) = delete;

  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  char* mutable_data() { return reinterpret_cast<char*>(this + 1); }
  size_t size() const { return size_; }
  std::string_view contents() const { return {data(), size_}; }
  // Drops bytes from the end: for readers that load a checksum together with the contents.
  void Shrink(size_t contents_bytes) { size_ = contents_bytes; }
  // Bytes of memory that the block takes.
  size_t charge() const { return charge_; }

 private:
  friend class BlockRef;
  friend class ShardedBlockCache;

  enum class Source : uint8_t { kAllocator, kArena, kPages };

  CachedBlock(size_t size, size_t charge, Source source, BlockArena* arena)
      : size_(size), charge_(charge), arena_(arena), source_(source) {}
  static BlockRef Allocate(size_t contents_bytes, BlockArena* arena, bool long_lived);
  static void Free(CachedBlock* block);

  std::atomic<uint64_t> references_{1};  // handles of a block that is in no cache
  size_t size_;
  size_t charge_;
  BlockArena* arena_;  // for Source::kArena
  Source source_;
};

// Owns one reference to a block: while it lives the bytes stay where they are. Move-only. Must not
// outlive the cache that the block came from.
class BlockRef {
 public:
  BlockRef() = default;
  BlockRef(BlockRef&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        references_(std::exchange(other.references_, nullptr)),
        cached_(other.cached_) {}
  BlockRef& operator=(BlockRef&& other) noexcept {
    if (this != &other) {
      Release();
      block_ = std::exchange(other.block_, nullptr);
      references_ = std::exchange(other.references_, nullptr);
      cached_ = other.cached_;
    }
    return *this;
  }
  ~BlockRef() { Release(); }

  // Another reference to the same block.
  BlockRef Share() const {
    references_->fetch_add(1, std::memory_order_relaxed);  // this one keeps the count above 0
    return BlockRef(block_, references_, cached_);
  }

  explicit operator bool() const { return block_ != nullptr; }
  const CachedBlock* get() const { return block_; }
  const CachedBlock* operator->() const { return block_; }
  const CachedBlock& operator*() const { return *block_; }
  std::string_view contents() const { return block_->contents(); }
  // True if a cache owns the block, so that it may be found there again.
  bool cached() const { return block_ != nullptr && cached_; }

  // Only the creator of a block that is in no cache yet may write to it.
  CachedBlock* mutable_block() { return block_; }

  // The reference as plain values, for owners that cannot hold a BlockRef; each Detach needs one
  // Attach.
  struct Parts {
    CachedBlock* block;
    std::atomic<uint64_t>* references;
    bool cached;
  };
  Parts Detach() && {
    return {std::exchange(block_, nullptr), std::exchange(references_, nullptr), cached_};
  }
  static BlockRef Attach(const Parts& parts) {
    BlockRef ref;
    ref.block_ = parts.block;
    ref.references_ = parts.references;
    ref.cached_ = parts.cached;
    return ref;
  }

  void Release() {
    if (block_ == nullptr) return;
    // Release order: this thread's reads come before a reuse of the memory, which starts with an
    // acquiring read of the same counter.
    if (references_->fetch_sub(1, std::memory_order_acq_rel) == 1 && !cached_) {
      CachedBlock::Free(block_);
    }
    block_ = nullptr;
    references_ = nullptr;
  }

 private:
  friend class CachedBlock;
  friend class ShardedBlockCache;

  BlockRef(CachedBlock* block, std::atomic<uint64_t>* references, bool cached)
      : block_(block), references_(references), cached_(cached) {}

  CachedBlock* block_ = nullptr;
  std::atomic<uint64_t>* references_ = nullptr;  // in the cache's slot, or in the block itself
  bool cached_ = false;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_CACHE_CACHED_BLOCK_H_
