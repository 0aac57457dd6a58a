#include "winnow/filter/internal/hash_list.h"

#include <algorithm>
#include <cmath>

#include "filter/base/build_memory.h"
#include "winnow/filter/internal/unit_view.h"

namespace winnow::filter::internal {

// Invariants of a HashList: 1. chunk_begin_ is null, or the beginning of the last chunk, which is
// then the list's own and whose hashes are those up to next_. Its `size` is not kept up; CloseChunk
// sets it. 2. closed_size_ is the sum of `size` over all chunks but that one. 3. capacity_ is what
// the own chunks have room for: borrowed ones cost nothing and are never written.

void HashList::ReturnMemory::operator()(uint64_t* hashes) const {
  ReturnBuildMemory(hashes, capacity * sizeof(uint64_t));
}

HashList& HashList::operator=(HashList&& other) noexcept {
  chunks_ = std::move(other.chunks_);
  chunk_begin_ = std::exchange(other.chunk_begin_, nullptr);
  next_ = std::exchange(other.next_, nullptr);
  chunk_end_ = std::exchange(other.chunk_end_, nullptr);
  closed_size_ = std::exchange(other.closed_size_, 0);
  capacity_ = std::exchange(other.capacity_, 0);
  other.chunks_.clear();
  return *this;
}

HashList::Chunk HashList::NewChunk(size_t capacity) {
  // Not initialised: every element is written before it is read.
  auto* const hashes = static_cast<uint64_t*>(TakeBuildMemory(capacity * sizeof(uint64_t)));
  return {{hashes, {capacity}}, hashes, capacity, 0};
}

void HashList::StartChunk(size_t capacity) { AdoptChunk(NewChunk(capacity)); }

void HashList::AdoptChunk(Chunk chunk) {
  CloseChunk();
  chunk_begin_ = chunk.own.get();
  next_ = chunk_begin_;
  chunk_end_ = chunk_begin_ + chunk.capacity;
  capacity_ += chunk.capacity;
  chunks_.push_back(std::move(chunk));
}

void HashList::Borrow(const uint64_t* hashes, size_t count) {
  CloseChunk();
  chunks_.push_back({nullptr, hashes, 0, count});
  closed_size_ += count;
}

void HashList::CloseChunk() {
  if (chunk_begin_ == nullptr) return;
  chunks_.back().size = static_cast<size_t>(next_ - chunk_begin_);
  closed_size_ += chunks_.back().size;
  chunk_begin_ = next_ = chunk_end_ = nullptr;
}

// In two passes. The first counts, so that no shard's last chunk is larger than it must be. The
// second moves the hashes, and takes a chunk that it has read to the end as one that can be
// written: between them, list and shards hold hardly more memory than the list did. The list keeps
// room for the chunks to come back to: Join is for a destructor, which may not run out of memory.
std::vector<HashList> HashList::SplitByShard(uint32_t num_shards, uint64_t salt) {
  std::vector<HashList> shards(num_shards);
  if (num_shards == 1) {
    shards[0] = std::move(*this);
    chunks_.reserve(shards[0].chunks_.size());
    return shards;
  }
  const auto shard_of = [num_shards, salt](uint64_t hash) {
    return MultiplyHigh(Remix(hash, salt), num_shards);
  };
  std::vector<uint64_t> left(num_shards, 0);  // hashes of each shard still to come
  ForEachRun([&](const uint64_t* run, size_t count) {
    for (size_t i = 0; i < count; ++i) ++left[shard_of(run[i])];
  });
  // Chunks that were read are written again; only a shard's last one is made to measure.
  std::vector<Chunk> free_chunks;
  for (Chunk& chunk : chunks_) {
    const size_t count = SizeOf(chunk);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t hash = chunk.hashes[i];
      const uint64_t shard = shard_of(hash);
      HashList& list = shards[shard];
      if (list.next_ == list.chunk_end_) {
        const auto capacity = static_cast<size_t>(std::min<uint64_t>(kChunkHashes, left[shard]));
        left[shard] -= capacity;
        if (capacity == kChunkHashes && !free_chunks.empty()) {
          list.AdoptChunk(std::move(free_chunks.back()));
          free_chunks.pop_back();
        } else {
          list.StartChunk(capacity);
        }
      }
      *list.next_++ = hash;
    }
    if (chunk.capacity == kChunkHashes) free_chunks.push_back(std::move(chunk));
    chunk = Chunk{};
  }
  *this = HashList();
  size_t num_chunks = 0;
  for (const HashList& shard : shards) num_chunks += shard.chunks_.size();
  chunks_.reserve(num_chunks);
  return shards;
}

void HashList::Join(HashList other) {
  CloseChunk();
  other.CloseChunk();
  for (Chunk& chunk : other.chunks_) chunks_.push_back(std::move(chunk));
  closed_size_ += other.closed_size_;
  capacity_ += other.capacity_;
  other.chunks_.clear();
}

// From the first chunk on; those behind the last hash stay, empty. Borrowed chunks are replaced by
// own ones, as what they show must not change.
void HashList::Overwrite(const uint64_t* hashes, uint64_t count) {
  CloseChunk();
  closed_size_ = count;
  for (Chunk& chunk : chunks_) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(chunk.size, count));
    if (chunk.own == nullptr) {
      chunk = NewChunk(size);
      capacity_ += size;
    }
    chunk.size = size;
    std::copy(hashes, hashes + chunk.size, chunk.own.get());
    hashes += chunk.size;
    count -= chunk.size;
  }
}

// The hashes go back, in another order, since a further attempt or another kind may need them, and
// verification reads them.
ShardedHashes::~ShardedHashes() {
  for (HashList& shard : shards_) hashes_->Join(std::move(shard));
}

uint64_t ShardedHashes::num_hashes() const {
  uint64_t sum = 0;
  for (const HashList& shard : shards_) sum += shard.size();
  return sum;
}

uint64_t ShardedHashes::LargestShard() const {
  uint64_t largest = 0;
  for (const HashList& shard : shards_) largest = std::max(largest, shard.size());
  return largest;
}

bool ShardedHashes::IsBalanced() const {
  if (shards_.size() == 1) return true;
  // Eight standard deviations of the binomial law, and a few keys where the mean is small.
  const double mean = static_cast<double>(num_hashes()) / static_cast<double>(shards_.size());
  return static_cast<double>(LargestShard()) <= mean + 8 * std::sqrt(mean) + 8;
}

uint64_t ShardedHashes::RemoveDuplicates() {
  HashSorter sorter(LargestShard());
  for (HashList& shard : shards_) {
    const std::vector<uint64_t>& sorted = sorter.SortedUnique(shard);
    shard.Overwrite(sorted.data(), sorted.size());
  }
  return sorter.memory_bytes();
}

bool RemoveDuplicates(uint64_t max_shard_hashes, HashList* hashes, uint64_t* temporary_bytes) {
  const uint64_t size_before = hashes->size();
  const uint64_t num_shards = size_before / max_shard_hashes + 1;
  {
    ShardedHashes shards(hashes, static_cast<uint32_t>(num_shards), 0);
    *temporary_bytes = std::max(*temporary_bytes, shards.RemoveDuplicates());
  }
  return hashes->size() < size_before;
}

HashSorter::HashSorter(uint64_t max_hashes) {
  sorted_.reserve(max_hashes);
  positions_.reserve(max_hashes / 8 + 2);
}

// Scatters the hashes to small groups by their place between the least and the greatest, and sorts
// each group.
const std::vector<uint64_t>& HashSorter::SortedUnique(const HashList& shard) {
  // Hashes of a shard are spread about evenly over an interval: groups are of eight on average, and
  // the whole takes linear time. Adversarial hashes crowd in a few groups, where std::sort still
  // takes no more than n log n.
  uint64_t least = ~uint64_t{0};
  uint64_t greatest = 0;
  shard.ForEachRun([&](const uint64_t* run, size_t count) {
    const auto [low, high] = std::minmax_element(run, run + count);
    least = std::min(least, *low);
    greatest = std::max(greatest, *high);
  });
  const uint64_t num_groups = shard.size() / 8 + 1;
  // A hash h is in group (h - least) * scale / 2^64.
  const uint64_t width = std::max<uint64_t>(1, greatest - std::min(least, greatest));
  const auto scale = static_cast<unsigned __int128>(num_groups - 1) << 64;
  const auto factor = scale / width;
  const auto group_of = [&](uint64_t hash) {
    return static_cast<uint64_t>((factor * (hash - least)) >> 64);
  };
  positions_.assign(num_groups + 1, 0);
  shard.ForEachRun([&](const uint64_t* run, size_t count) {
    for (size_t i = 0; i < count; ++i) ++positions_[group_of(run[i]) + 1];
  });
  for (uint64_t group = 1; group <= num_groups; ++group) positions_[group] += positions_[group - 1];
  sorted_.resize(shard.size());
  shard.ForEachRun([&](const uint64_t* run, size_t count) {
    for (size_t i = 0; i < count; ++i) sorted_[positions_[group_of(run[i])]++] = run[i];
  });
  uint32_t begin = 0;
  for (uint64_t group = 0; group < num_groups; ++group) {
    std::sort(sorted_.begin() + begin, sorted_.begin() + positions_[group]);
    begin = positions_[group];
  }
  sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
  return sorted_;
}

uint64_t HashSorter::memory_bytes() const {
  return sorted_.capacity() * sizeof(uint64_t) + positions_.capacity() * sizeof(uint32_t);
}

}  // namespace winnow::filter::internal
