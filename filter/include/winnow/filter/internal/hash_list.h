// The hashes that a FilterBuilder has collected. Internal.

#ifndef WINNOW_FILTER_INTERNAL_HASH_LIST_H_
#define WINNOW_FILTER_INTERNAL_HASH_LIST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace winnow::filter::internal {

// A bijection of 64-bit values for each salt, the identity for salt 0: what a builder hashes with
// when it needs another try. The finaliser of MurmurHash3 with the salt added first.
inline uint64_t Remix(uint64_t hash, uint64_t salt) {
  if (salt == 0) return hash;
  hash += salt;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
  return hash ^ (hash >> 33);
}

// A list of hashes in chunks, so that growing neither copies the old part nor holds it twice.
// Chunks may be borrowed: those are read, never written.
class HashList {
 public:
  static constexpr size_t kChunkHashes = size_t{1} << 13;

  HashList() = default;
  HashList(HashList&& other) noexcept { *this = std::move(other); }
  HashList& operator=(HashList&& other) noexcept;

  void Append(uint64_t hash) {
    if (next_ == chunk_end_) StartChunk(kChunkHashes);
    *next_++ = hash;
  }

  // Appends hashes that stay where they are, unchanged, for as long as this list or one that its
  // hashes were moved to.
  void Borrow(const uint64_t* hashes, size_t count);

  bool empty() const { return size() == 0; }
  uint64_t size() const { return closed_size_ + static_cast<uint64_t>(next_ - chunk_begin_); }
  // What is borrowed does not count.
  uint64_t memory_bytes() const { return capacity_ * sizeof(uint64_t); }

  // Calls visit(const uint64_t* hashes, size_t count) for runs that together are the list.
  template <typename Visitor>
  void ForEachRun(Visitor visit) const {
    for (const Chunk& chunk : chunks_) {
      const size_t count = SizeOf(chunk);
      if (count != 0) visit(chunk.hashes, count);
    }
  }

  // Moves every hash to the list of its shard, the high half of Remix(hash, salt) * num_shards,
  // and leaves this list empty. Takes no memory beyond one chunk and what holds the lists.
  std::vector<HashList> SplitByShard(uint32_t num_shards, uint64_t salt);

  // Moves all of `other` to the end of this list.
  void Join(HashList other);

  // Replaces the hashes by `count` others, not more than there are.
  void Overwrite(const uint64_t* hashes, uint64_t count);

 private:
  struct ReturnMemory {
    size_t capacity;
    void operator()(uint64_t* hashes) const;
  };

  struct Chunk {
    std::unique_ptr<uint64_t[], ReturnMemory> own;  // null: borrowed
    const uint64_t* hashes;
    size_t capacity;  // of `own`
    size_t size;      // not kept up for the last chunk
  };

  size_t SizeOf(const Chunk& chunk) const {
    return chunk.hashes == chunk_begin_ ? static_cast<size_t>(next_ - chunk_begin_) : chunk.size;
  }
  static Chunk NewChunk(size_t capacity);
  void StartChunk(size_t capacity);
  void AdoptChunk(Chunk chunk);
  void CloseChunk();

  std::vector<Chunk> chunks_;
  uint64_t* chunk_begin_ = nullptr;  // of the last chunk
  uint64_t* next_ = nullptr;
  uint64_t* chunk_end_ = nullptr;
  uint64_t closed_size_ = 0;  // hashes in all chunks but the last
  uint64_t capacity_ = 0;     // hashes that all chunks have room for
};

// A list's hashes by shard for as long as this lives; then they are in the list again.
class ShardedHashes {
 public:
  ShardedHashes(HashList* hashes, uint32_t num_shards, uint64_t salt)
      : hashes_(hashes), shards_(hashes->SplitByShard(num_shards, salt)) {}
  ~ShardedHashes();

  ShardedHashes(const ShardedHashes&) = delete;
  ShardedHashes& operator=(const ShardedHashes&) = delete;

  HashList& operator[](uint64_t shard) { return shards_[shard]; }
  const HashList& operator[](uint64_t shard) const { return shards_[shard]; }
  uint64_t size() const { return shards_.size(); }
  uint64_t num_hashes() const;
  uint64_t LargestShard() const;
  // Shards are of equal size, so that all would be as large as an overfull one. Honest hashes stay
  // within eight standard deviations of the mean.
  bool IsBalanced() const;
  // Sorts each shard and drops its duplicates. Returns the bytes held meanwhile.
  uint64_t RemoveDuplicates();

 private:
  HashList* hashes_;
  std::vector<HashList> shards_;
};

// The hashes of one shard in ascending order and without duplicates, in memory kept from shard
// to shard.
class HashSorter {
 public:
  explicit HashSorter(uint64_t max_hashes);

  // Valid until the next call. The hashes should be spread about evenly over some interval; others
  // only take longer.
  const std::vector<uint64_t>& SortedUnique(const HashList& shard);
  uint64_t memory_bytes() const;

 private:
  std::vector<uint64_t> sorted_;
  std::vector<uint32_t> positions_;
};

// Drops duplicates from `hashes`, a shard of at most `max_shard_hashes` on average at a time; false
// if there were none. Raises `*temporary_bytes` to the bytes held meanwhile.
bool RemoveDuplicates(uint64_t max_shard_hashes, HashList* hashes, uint64_t* temporary_bytes);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_INTERNAL_HASH_LIST_H_
