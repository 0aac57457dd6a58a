// The hashes that a FilterBuilder has collected. Internal.

#ifndef WINNOW_FILTER_INTERNAL_HASH_LIST_H_
#define WINNOW_FILTER_INTERNAL_HASH_LIST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
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

// An array of hashes that grows by chunks of equal size, so that growing neither copies the old
// part nor holds it twice.
class HashList {
 public:
  static constexpr size_t kChunkShift = 13;
  static constexpr size_t kChunkHashes = size_t{1} << kChunkShift;

  void Append(uint64_t hash) {
    if (next_ == chunk_end_) StartChunk();
    *next_++ = hash;
    ++size_;
  }

  uint64_t size() const { return size_; }
  size_t memory_bytes() const { return chunks_.size() * kChunkHashes * sizeof(uint64_t); }

  uint64_t& operator[](uint64_t index) {
    return chunks_[index >> kChunkShift][index & (kChunkHashes - 1)];
  }
  uint64_t operator[](uint64_t index) const {
    return chunks_[index >> kChunkShift][index & (kChunkHashes - 1)];
  }

  // Calls visit(const uint64_t* hashes, size_t count) for runs that together are the list.
  template <typename Visitor>
  void ForEachRun(Visitor visit) const {
    for (uint64_t begin = 0; begin < size_; begin += kChunkHashes) {
      const uint64_t left = size_ - begin;
      visit(static_cast<const uint64_t*>(chunks_[begin >> kChunkShift].get()),
            left < kChunkHashes ? static_cast<size_t>(left) : kChunkHashes);
    }
  }

  // Reorders the hashes by shard, the high half of Remix(hash, salt) * num_shards, in place.
  // Returns where each shard begins, and as last element the size.
  std::vector<uint64_t> PartitionByShard(uint32_t num_shards, uint64_t salt);

  // Drops all but the first `size` hashes; nothing may be appended afterwards.
  void Truncate(uint64_t size) { size_ = size; }

 private:
  void StartChunk();

  std::vector<std::unique_ptr<uint64_t[]>> chunks_;
  uint64_t* next_ = nullptr;
  uint64_t* chunk_end_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_INTERNAL_HASH_LIST_H_
