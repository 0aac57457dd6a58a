#include "winnow/filter/internal/hash_list.h"

#include <utility>

#include "winnow/filter/internal/unit_view.h"

namespace winnow::filter::internal {

void HashList::StartChunk() {
  // Left uninitialised: every element is written before it is read.
  chunks_.push_back(std::make_unique_for_overwrite<uint64_t[]>(kChunkHashes));
  next_ = chunks_.back().get();
  chunk_end_ = next_ + kChunkHashes;
}

// American flag sort (McIlroy, Bostic and McIlroy, 1993) with shards as digits: count, then follow
// the cycles of the permutation.
std::vector<uint64_t> HashList::PartitionByShard(uint32_t num_shards, uint64_t salt) {
  const auto shard_of = [num_shards, salt](uint64_t hash) {
    return MultiplyHigh(Remix(hash, salt), num_shards);
  };
  std::vector<uint64_t> begins(size_t{num_shards} + 1, 0);
  ForEachRun([&](const uint64_t* run, size_t count) {
    for (size_t i = 0; i < count; ++i) ++begins[shard_of(run[i]) + 1];
  });
  for (size_t shard = 1; shard <= num_shards; ++shard) begins[shard] += begins[shard - 1];

  // Invariant: of each shard, the hashes in [begin, next[shard]) are in place.
  std::vector<uint64_t> next(begins.begin(), begins.end() - 1);
  for (size_t shard = 0; shard < num_shards; ++shard) {
    while (next[shard] < begins[shard + 1]) {
      uint64_t hash = (*this)[next[shard]];
      for (uint64_t home = shard_of(hash); home != shard; home = shard_of(hash)) {
        std::swap(hash, (*this)[next[home]++]);
      }
      (*this)[next[shard]++] = hash;
    }
  }
  return begins;
}

}  // namespace winnow::filter::internal
