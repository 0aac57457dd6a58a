// The filters of RedisBloom, the module that gives Redis BF.* and CF.* commands, bit for bit: what
// BF.SCANDUMP and CF.SCANDUMP give is read here, asked and added to without a server, and given
// back as the chunks of BF.LOADCHUNK and CF.LOADCHUNK.
//
//   std::vector<RedisBloomChunk> chunks = ...;        // of BF.SCANDUMP, in order
//   absl::StatusOr<RedisBloomFilter> seen = RedisBloomFilter::Load(chunks);
//   seen->Contains("https://example.org/");
//
// Where no server of theirs is met, ScalableBloomFilter and CuckooFilter are better: their hash can
// be seeded, and a cuckoo filter that grows here has a false-positive rate that adds up with every
// table (26 % after growing from 1024 to 20,000 keys).

#ifndef WINNOW_FILTER_REDISBLOOM_FILTER_H_
#define WINNOW_FILTER_REDISBLOOM_FILTER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow::filter {

// One answer of SCANDUMP. The first one, with iterator 1, is the head; the iterators of the others
// are one more than the number of bytes up to their end. The last answer, iterator 0, is no chunk.
struct RedisBloomChunk {
  uint64_t iterator = 0;
  std::string data;
};

inline constexpr uint64_t kMaxRedisBloomChunkBytes = uint64_t{16} << 20;
inline constexpr uint64_t kMaxRedisBloomCapacity = uint64_t{1} << 30;

// MurmurHash64A (Austin Appleby, public domain), which both kinds hash keys with.
uint64_t MurmurHash64A(std::string_view key, uint64_t seed);

struct RedisBloomOptions {
  // Above 0 and below 1; more than 0.25 counts as 0.25.
  double error_rate = 0.01;
  uint64_t capacity = 100;  // of the first layer, 1 to 2^30
  // Each further layer has so many times the capacity of the one before, up to 32768; 0: none is
  // added, and a full filter refuses.
  uint32_t expansion = 2;
};

// What BF.* commands keep under a key: Bloom filters, each larger and stricter than the one before.
// One thread that adds, or any number that only ask.
class RedisBloomFilter {
 public:
  // As BF.RESERVE. InvalidArgument for values outside their ranges, ResourceExhausted without
  // memory.
  static absl::StatusOr<RedisBloomFilter> Create(const RedisBloomOptions& options);
  // From the chunks of BF.SCANDUMP. DataLoss where they contradict themselves, as in a dump that
  // was interrupted by a change of the filter; no more memory is taken than the chunks have.
  // ResourceExhausted without that.
  static absl::StatusOr<RedisBloomFilter> Load(std::span<const RedisBloomChunk> chunks);
  // The chunks for BF.LOADCHUNK.
  std::vector<RedisBloomChunk> Dump() const;

  // As the other application filters have them; errors as BloomFilter::Deserialize.
  static absl::StatusOr<RedisBloomFilter> Deserialize(std::string_view bytes);
  std::string Serialize() const;

  // As BF.ADD: Ok(true) if the key is new, which it may wrongly seem not to be.
  // ResourceExhausted: full and not allowed to grow, or without memory.
  absl::StatusOr<bool> Add(std::string_view key);
  // False only if the key was never added; as BF.EXISTS.
  bool Contains(std::string_view key) const;

  uint64_t ApproximateCount() const { return num_items_; }  // BF.CARD
  double ExpectedFpr() const;  // of the filter as it is, from the set bits; linear in the size
  uint64_t num_layers() const { return layers_.size(); }
  uint64_t capacity() const;  // of all layers, as BF.INFO has it
  uint32_t expansion() const { return is_scaling() ? growth_ : 0; }
  uint64_t memory_bytes() const;

 private:
  struct Layer {
    uint64_t num_items = 0;
    double error_rate = 0;
    double bits_per_entry = 0;
    uint32_t num_probes = 0;
    uint64_t capacity = 0;
    uint8_t log2_bits = 0;  // where the number of bits was rounded up to a power of two
    std::string bits;       // bit i is bit i % 8 of byte i / 8, the lowest first
  };
  struct Hash {
    uint64_t first;
    uint64_t second;
  };

  RedisBloomFilter(uint32_t options, uint32_t growth) : options_(options), growth_(growth) {}

  static absl::StatusOr<Layer> MakeLayer(uint64_t capacity, double error_rate);
  static Hash HashOf(std::string_view key);
  template <typename Visitor>
  static void ForEachBit(const Layer& layer, const Hash& hash, Visitor visit);
  static bool LayerContains(const Layer& layer, const Hash& hash);
  // The head of a dump, and the layers that it describes, without their bits. DataLoss.
  static absl::StatusOr<RedisBloomFilter> ParseHead(std::string_view head,
                                                    std::vector<uint64_t>* layer_bytes);
  std::string Head() const;
  bool is_scaling() const;

  uint32_t options_;
  uint32_t growth_;
  uint64_t num_items_ = 0;
  std::vector<Layer> layers_;  // the first one first
};

struct RedisBloomCuckooOptions {
  uint64_t capacity = 1024;      // 2 * bucket_size to 2^30
  uint16_t bucket_size = 2;      // slots of a bucket, 1 to 255
  uint16_t max_iterations = 20;  // moves before a table counts as full, 1 to 65535
  // Table i has expansion^i times the buckets of the first one; rounded up to a power of two, at
  // most 32768. 0: no table is added.
  uint16_t expansion = 1;
};

// What CF.* commands keep under a key: cuckoo filters of 8-bit fingerprints. As above.
class RedisBloomCuckooFilter {
 public:
  static absl::StatusOr<RedisBloomCuckooFilter> Create(const RedisBloomCuckooOptions& options);
  static absl::StatusOr<RedisBloomCuckooFilter> Load(std::span<const RedisBloomChunk> chunks);
  std::vector<RedisBloomChunk> Dump() const;
  static absl::StatusOr<RedisBloomCuckooFilter> Deserialize(std::string_view bytes);
  std::string Serialize() const;

  // As CF.ADD: one more copy of the key. ResourceExhausted: full, and no table may be added, or
  // without memory; the keys that are there stay.
  absl::Status Add(std::string_view key);
  // As CF.DEL: takes one copy out; false if there is none. Only keys that were added may be
  // removed.
  bool Remove(std::string_view key);
  bool Contains(std::string_view key) const;
  // How many copies of the key there seem to be; as CF.COUNT.
  uint64_t Count(std::string_view key) const;

  uint64_t ApproximateCount() const { return num_items_; }
  double ExpectedFpr() const;
  uint64_t num_tables() const { return tables_.size(); }
  uint64_t num_buckets() const { return num_buckets_; }  // of the first table
  uint16_t bucket_size() const { return options_.bucket_size; }
  uint64_t memory_bytes() const;

 private:
  struct Entry {
    uint8_t fingerprint;
    uint64_t first;
    uint64_t second;
  };

  explicit RedisBloomCuckooFilter(const RedisBloomCuckooOptions& options) : options_(options) {}

  static Entry EntryOf(std::string_view key);
  // The other hash of a fingerprint, from either.
  static uint64_t OtherHash(uint8_t fingerprint, uint64_t hash);
  uint64_t BucketsOf(const std::string& table) const { return table.size() / options_.bucket_size; }
  // The first slot of the bucket in which `hash` lies.
  size_t SlotOf(const std::string& table, uint64_t hash) const;
  // The first slot of a bucket that holds `fingerprint` (0: that is free), or npos.
  size_t FindInBucket(const std::string& table, uint64_t hash, uint8_t fingerprint) const;
  size_t Find(const std::string& table, const Entry& entry, uint8_t fingerprint) const;
  bool PutByMoving(const Entry& entry, std::string* table);
  absl::Status AddTable();
  void Compact();
  static absl::StatusOr<RedisBloomCuckooFilter> ParseHead(std::string_view head,
                                                          std::vector<uint64_t>* table_bytes);
  std::string Head() const;

  RedisBloomCuckooOptions options_;
  uint64_t num_buckets_ = 0;
  uint64_t num_items_ = 0;
  uint64_t num_deletes_ = 0;
  std::vector<std::string> tables_;  // the first one first; a byte a slot, 0 if free
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_REDISBLOOM_FILTER_H_
