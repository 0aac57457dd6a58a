// Bloom filters that are one string in Redis, bit for bit as three widespread programs keep them:
// go-zero's core/bloom, the program with Jedis that articles on Redis repeat, and Redisson's
// RBloomFilter. Which bits a key has, and the string as an object of its own.
//
//   absl::StatusOr<RedisBitmapShape> shape = RedissonShape(55'000'000, 0.03);
//   std::vector<uint64_t> offsets;
//   AppendRedisOffsets(*shape, "Tom", &offsets);                  // for SETBIT or GETBIT
//
//   absl::StatusOr<RedisBitmap> users = RedisBitmap::FromString(*shape, bytes);   // of GET
//   users->Contains("Tom");
//
// A key is the bytes that the other program hashes: with Redisson those of its codec, so that the
// filter must have been made with StringCodec or ByteArrayCodec there.

#ifndef WINNOW_FILTER_REDIS_BITMAP_H_
#define WINNOW_FILTER_REDIS_BITMAP_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow::filter {

// How the bits of a key are chosen. The values are part of the saved form.
enum class RedisBitmapRule : uint8_t {
  // MurmurHash3_x64_128's low half, of the key followed by the byte i, modulo the bits.
  kGoZero = 0,
  // h + i * (h >> 16), h as before of the key alone; all bits flipped where that is negative.
  kJedis = 1,
  // HighwayHash-128 with Redisson's key: h1, then alternately + h2 and + h1, sign cleared.
  kRedisson = 2,
};

// "gozero", "jedis", "redisson"; "unknown" for any other value.
std::string_view RedisBitmapRuleName(RedisBitmapRule rule);

struct RedisBitmapShape {
  RedisBitmapRule rule = RedisBitmapRule::kGoZero;
  uint64_t num_bits = 0;  // 1 to 2^32, which is as far as SETBIT goes
  int num_probes = 0;     // 1 to 255

  friend bool operator==(const RedisBitmapShape&, const RedisBitmapShape&) = default;
};

inline constexpr uint64_t kMaxRedisBits = uint64_t{1} << 32;
inline constexpr int kGoZeroProbes = 14;

// bloom.New(store, key, num_bits): always 14 probes. InvalidArgument for no bits, where go-zero
// panics, and for more than Redis has.
absl::StatusOr<RedisBitmapShape> GoZeroShape(uint64_t num_bits);
// go-zero's rule with as many bits and probes as the textbook's formulas give for so many keys at
// such a rate: (100, 0.01) has 958 bits and 7 probes. go-zero itself, with its 14 probes, does not
// read these.
absl::StatusOr<RedisBitmapShape> GoZeroShape(uint64_t expected_insertions, double fpr);
absl::StatusOr<RedisBitmapShape> JedisShape(uint64_t expected_insertions, double fpr);
// What tryInit(expected_insertions, fpr) chooses, whose rate is then above `fpr` (RedisBitmapFpr).
// InvalidArgument where Redisson refuses as well: a rate outside 0 to 1, no bits, or more than
// 4294967294.
absl::StatusOr<RedisBitmapShape> RedissonShape(uint64_t expected_insertions, double fpr);

// InvalidArgument unless the numbers are in the ranges that RedisBitmapShape names.
absl::Status CheckRedisBitmapShape(const RedisBitmapShape& shape);

// Appends the offsets of a key's bits, `shape.num_probes` of them, in the order in which the other
// program computes them; some may be equal. Any bytes are a key, the empty one too. (Redisson up to
// 3.22 set all of them and looked at all but the last.)
void AppendRedisOffsets(const RedisBitmapShape& shape, std::string_view key,
                        std::vector<uint64_t>* offsets);

// The false-positive rate of a filter of which so many bits are set. Of Redisson's rule it is 1.1
// to 2 times what the textbook says of that fill, since the positions that it gives a key are
// correlated: that takes some milliseconds to compute. The other rules keep to the textbook within
// 2 %.
double RedisBitmapFpr(const RedisBitmapShape& shape, uint64_t num_ones);

// The 128-bit HighwayHash of a key under Redisson's four words (Alakuijala, Cox and Wassenberg,
// "Fast keyed hash/pseudo-random function using SIMD multiply and permute", 2016).
struct RedissonHash {
  uint64_t first;
  uint64_t second;
};
RedissonHash HashRedissonKey(std::string_view key);

// The string itself. One thread that adds, or any number that only ask.
class RedisBitmap {
 public:
  // No bit set. InvalidArgument as CheckRedisBitmapShape, ResourceExhausted without such memory.
  static absl::StatusOr<RedisBitmap> Create(const RedisBitmapShape& shape);
  // From the value of the key in Redis, which may lack zero bytes at its end. InvalidArgument as
  // above, DataLoss if it has more bytes than the shape, or a bit set that the shape has not: it is
  // another filter's then.
  static absl::StatusOr<RedisBitmap> FromString(const RedisBitmapShape& shape,
                                                std::string_view value);
  // The value, without zero bytes at its end: what Redis has after the same SETBITs.
  std::string ToString() const;

  // As the other application filters have them; errors as BloomFilter::Deserialize.
  static absl::StatusOr<RedisBitmap> Deserialize(std::string_view bytes);
  std::string Serialize() const;

  // True if that changed the filter.
  bool Add(std::string_view key);
  // False only if the key was never added.
  bool Contains(std::string_view key) const;

  // Linear in the size, as the next two. Estimated from the bits that are set.
  uint64_t ApproximateCount() const;
  double ExpectedFpr() const;  // as RedisBitmapFpr
  // Adds all keys of `other`. InvalidArgument unless it has the same shape and is another object.
  absl::Status Union(const RedisBitmap& other);

  const RedisBitmapShape& shape() const { return shape_; }
  uint64_t num_bits() const { return shape_.num_bits; }
  int num_probes() const { return shape_.num_probes; }
  uint64_t memory_bytes() const { return bytes_.size(); }

 private:
  RedisBitmap(const RedisBitmapShape& shape, std::string bytes)
      : shape_(shape), bytes_(std::move(bytes)) {}

  uint64_t CountOnes() const;

  RedisBitmapShape shape_;
  std::string bytes_;  // all (num_bits + 7) / 8 of them; bit 0 is the highest of the first
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_REDIS_BITMAP_H_
