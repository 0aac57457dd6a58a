#include "winnow/filter/blocked_bloom_filter.h"

#include <bit>
#include <cmath>
#include <new>
#include <utility>

#include "filter/dynamic/parameters.h"
#include "filter/dynamic/saved_format.h"
#include "winnow/filter/false_positive_rate.h"

namespace winnow::filter {
namespace {

// Keys are spread over the blocks by chance, and the rate of the whole is mostly that of the fuller
// blocks: below this one memory grows much faster than in an undivided filter.
constexpr double kMinFpr = 1e-5;
constexpr auto kBlockBits = static_cast<double>(internal::kBlockBits);

struct Shape {
  uint64_t num_blocks;
  int num_probes;
};

// Whole blocks, and the probes that are best for what these come to.
Shape ShapeOf(uint64_t capacity, double bits_per_key) {
  const auto keys = static_cast<double>(capacity);
  const auto num_blocks = static_cast<uint64_t>(std::ceil(keys * bits_per_key / kBlockBits));
  const double actual_bits_per_key = static_cast<double>(num_blocks) * kBlockBits / keys;
  // Held to 64 bits a key: where one block serves a few keys the ratio has no meaning, and more
  // than that would only lengthen the search for the best number of probes.
  return {num_blocks, BestBlockedBloomProbes(std::min(actual_bits_per_key, 64.0))};
}

// The fewest blocks, within half a per cent, and the best number of probes. Blocks never need less
// than an undivided filter does: the search begins there, in large steps, and ends in small ones.
Shape ChooseShape(uint64_t capacity, double fpr) {
  constexpr double kLn2 = 0.6931471805599453;
  double bits_per_key = -std::log(fpr) / (kLn2 * kLn2);
  // Each call sums over the loads that a block may have: the two widths of step keep the calls few
  // where the answer is far above the theoretical least.
  const auto suffices = [&](double bits) {
    const Shape shape = ShapeOf(capacity, bits);
    return BlockedBloomFpr(shape.num_blocks, capacity, shape.num_probes) <= fpr;
  };
  for (const double factor : {1.08, 1.005}) {
    // Invariant: `bits_per_key` itself does not suffice, or is the theoretical least, so that the
    // narrow steps cannot begin beyond the answer.
    while (!suffices(bits_per_key * factor)) bits_per_key *= factor;
  }
  return ShapeOf(capacity, bits_per_key * 1.005);
}

template <typename Words>
double Ones(const Words& words) {
  int ones = 0;
  for (const uint64_t word : words) ones += std::popcount(word);
  return ones;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BlockedBloomFilter::Block[]>> BlockedBloomFilter::AllocateBlocks(
    uint64_t num_blocks) {
  if (num_blocks > internal::kMaxFilterBytes / sizeof(Block)) {
    return internal::OutOfMemory(num_blocks, sizeof(Block));
  }
  // The () zeroes the blocks. Aligned to their size, so that a query touches one cache line;
  // unaligned, a block could straddle two.
  std::unique_ptr<Block[]> blocks(new (std::nothrow) Block[num_blocks]());
  if (blocks == nullptr) return internal::OutOfMemory(num_blocks, sizeof(Block));
  return blocks;
}

absl::StatusOr<BlockedBloomFilter> BlockedBloomFilter::Create(uint64_t capacity, double fpr,
                                                              uint64_t hash_seed) {
  absl::Status status = internal::CheckCapacityAndFpr("BlockedBloomFilter", capacity, fpr, kMinFpr);
  if (!status.ok()) return status;
  const Shape shape = ChooseShape(capacity, fpr);
  absl::StatusOr<std::unique_ptr<Block[]>> blocks = AllocateBlocks(shape.num_blocks);
  if (!blocks.ok()) return blocks.status();
  return BlockedBloomFilter(*std::move(blocks), shape.num_blocks, shape.num_probes, capacity, fpr,
                            hash_seed);
}

// The positions are BlockBit's, as in a filter block's blocked_bloom, so that BlockContains, in
// whichever instructions, answers for both.
bool BlockedBloomFilter::AddHash(uint64_t key_hash) {
  Block& block = BlockOf(key_hash);
  bool changed = false;
  for (int probe = 0; probe < num_probes_; ++probe) {
    const uint32_t bit = internal::BlockBit(key_hash, probe);
    uint64_t& word = block.words[bit >> 6];
    const uint64_t mask = uint64_t{1} << (bit & 63);
    changed |= (word & mask) == 0;
    word |= mask;
  }
  return changed;
}

void BlockedBloomFilter::Clear() {
  for (uint64_t i = 0; i < num_blocks_; ++i) blocks_[i].words.fill(0);
}

uint64_t BlockedBloomFilter::ApproximateCount() const {
  // Block by block: the estimate is not linear in the fill, which differs between blocks.
  double count = 0;
  for (uint64_t i = 0; i < num_blocks_; ++i) {
    count += internal::EstimateKeys(kBlockBits, Ones(blocks_[i].words), num_probes_);
  }
  return static_cast<uint64_t>(std::llround(count));
}

double BlockedBloomFilter::ExpectedFpr() const {
  // An absent key meets each block equally often: the mean of their rates.
  double sum = 0;
  for (uint64_t i = 0; i < num_blocks_; ++i) {
    sum += std::pow(Ones(blocks_[i].words) / kBlockBits, num_probes_);
  }
  return sum / static_cast<double>(num_blocks_);
}

absl::Status BlockedBloomFilter::Union(const BlockedBloomFilter& other) {
  if (&other == this) {
    return absl::InvalidArgumentError("BlockedBloomFilter: a filter cannot be united with itself");
  }
  if (num_blocks_ != other.num_blocks_ || num_probes_ != other.num_probes_ ||
      hash_seed_ != other.hash_seed_) {
    return absl::InvalidArgumentError(
        "BlockedBloomFilter: only filters of the same capacity, rate and hash seed can be united");
  }
  // One thread adds: plain words, no atomics.
  for (uint64_t i = 0; i < num_blocks_; ++i) {
    for (size_t j = 0; j < blocks_[i].words.size(); ++j) {
      blocks_[i].words[j] |= other.blocks_[i].words[j];
    }
  }
  return absl::OkStatus();
}

std::string BlockedBloomFilter::Serialize() const {
  internal::SavedHeader header;
  header.kind = SavedFilterKind::kBlockedBloom;
  header.parameter = static_cast<uint8_t>(num_probes_);
  header.hash_seed = hash_seed_;
  header.capacity = capacity_;
  header.fpr = fpr_;
  header.num_slots = num_blocks_;
  internal::SavedFilterWriter writer(header, memory_bytes());
  // The words go out as they lie in memory: little-endian, which the format demands and field.h
  // asserts of the machine.
  writer.Append(std::string_view(reinterpret_cast<const char*>(blocks_.get()), memory_bytes()));
  return std::move(writer).Finish();
}

absl::StatusOr<BlockedBloomFilter> BlockedBloomFilter::Deserialize(std::string_view bytes) {
  const absl::StatusOr<internal::SavedFilter> saved =
      internal::ParseSavedFilter(bytes, SavedFilterKind::kBlockedBloom);
  if (!saved.ok()) return saved.status();
  // As BloomFilter::Deserialize: a header with a right checksum may still claim anything.
  const internal::SavedHeader& header = saved->header;
  // Of the payload, not of the header: memory is taken for bytes that are there. `num_slots` must
  // then be equal, and `parameter` within what the probe multipliers have.
  const uint64_t num_blocks = saved->payload.size() / sizeof(Block);
  if (header.parameter < 1 || header.parameter > internal::kMaxBlockProbes ||
      header.num_slots == 0 || header.num_slots != num_blocks ||
      saved->payload.size() % sizeof(Block) != 0 || header.option != 0 ||
      !internal::CheckCapacityAndFpr("", header.capacity, header.fpr, kMinFpr).ok()) {
    return internal::InconsistentFields(*saved);
  }
  absl::StatusOr<std::unique_ptr<Block[]>> blocks = AllocateBlocks(num_blocks);
  if (!blocks.ok()) return blocks.status();
  for (uint64_t i = 0; i < num_blocks; ++i) {
    for (uint64_t j = 0; j < 8; ++j) {
      (*blocks)[i].words[j] = internal::PayloadWord(saved->payload, i * 8 + j);
    }
  }
  return BlockedBloomFilter(*std::move(blocks), num_blocks, header.parameter, header.capacity,
                            header.fpr, header.hash_seed);
}

}  // namespace winnow::filter
