// A Bloom filter that is bit for bit the one of Guava, Google's Java library
// (com.google.common.hash.BloomFilter): services in Java and in C++ can exchange filters.
//
//   std::string bytes = Receive();                                  // from Java's writeTo
//   absl::StatusOr<GuavaBloomFilter> users = GuavaBloomFilter::ReadFrom(bytes);
//   users->Contains("user/7");                                      // as mightContain in Java
//   users->Add("user/8");
//   Send(users->WriteTo());                                         // for Java's readFrom
//
// Where nothing of Java's is met, BloomFilter is better: its bytes are checksummed, its probes are
// right for small filters too, and its hash can be seeded.

#ifndef WINNOW_FILTER_GUAVA_BLOOM_FILTER_H_
#define WINNOW_FILTER_GUAVA_BLOOM_FILTER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/filter/internal/atomic_bits.h"
#include "winnow/filter/spec.h"

namespace winnow::filter {

// How bits are chosen. Both begin with MurmurHash3_x64_128 of the key, seed 0. The values are those
// of Java's enumeration, which are part of the bytes.
enum class GuavaStrategy : uint8_t {
  kMurmur128Mitz32 = 0,  // of Guava 11 and 12: for no more than 2^31 bits, beyond which the rate
                         // rises, since further bits are never used
  kMurmur128Mitz64 = 1,  // of all later versions
};

// The word in specs: "murmur128_mitz_32" or "murmur128_mitz_64".
std::string_view GuavaStrategyName(GuavaStrategy strategy);

// The 128-bit hash of a key. The low half is Java's HashCode.asLong().
struct GuavaHash {
  uint64_t low;
  uint64_t high;
};
GuavaHash HashGuavaKey(std::string_view key);

// What Java's funnels make of values that are no byte strings. Funnels.byteArrayFunnel() and
// Funnels.stringFunnel(UTF_8) give the bytes themselves.
std::string GuavaIntegerKey(int32_t value);                    // Funnels.integerFunnel()
std::string GuavaLongKey(int64_t value);                       // Funnels.longFunnel()
std::string GuavaUnencodedCharsKey(std::u16string_view text);  // Funnels.unencodedCharsFunnel()

// Java's sizes, rounding included. `fpr` 0 counts as the least double above it, as in Java.
uint64_t GuavaOptimalBits(uint64_t expected_insertions, double fpr);
int GuavaOptimalProbes(uint64_t expected_insertions, uint64_t num_bits);

// Add and Contains may be called from many threads at once, as those of BloomFilter. Clear, Union
// into this filter, moving and destroying need the filter for themselves.
class GuavaBloomFilter {
 public:
  static constexpr double kDefaultFpr = 0.03;

  // What BloomFilter.create(funnel, expected_insertions, fpr) makes in Guava up to version 31.
  // (Later ones choose the number of probes a little differently; either reads the other's bytes.)
  // `expected_insertions` may be 0, which counts as 1. InvalidArgument for what Java refuses too: a
  // negative number of insertions, a rate that is not above 0 and below 1 or needs more than 255
  // probes or no bit at all, more than 2^31 - 1 words. ResourceExhausted without such memory.
  // Filters of few keys miss the wanted rate, as in Java: at 0.0001 by a factor of 46 for ten keys.
  static absl::StatusOr<GuavaBloomFilter> Create(
      int64_t expected_insertions, double fpr = kDefaultFpr,
      GuavaStrategy strategy = GuavaStrategy::kMurmur128Mitz64);

  // Reads what writeTo of Java, or of this class, wrote; what follows is ignored, as in Java.
  // DataLoss: cut off, of an unknown strategy, without probes or bits. More memory is never taken
  // than `bytes` has. These bytes carry no checksum: damage inside them cannot be noticed.
  static absl::StatusOr<GuavaBloomFilter> ReadFrom(std::string_view bytes);
  // The bytes for Java's readFrom. Linear in the size.
  std::string WriteTo() const;

  // The same as the other application filters have it, checksummed; Java does not read it. Errors
  // as BloomFilter::Deserialize.
  static absl::StatusOr<GuavaBloomFilter> Deserialize(std::string_view bytes);
  std::string Serialize() const;

  GuavaBloomFilter(GuavaBloomFilter&&) = default;
  GuavaBloomFilter& operator=(GuavaBloomFilter&&) = default;

  // Adds a key, as Java's put. True if that changed the filter, which it does exactly if Contains
  // would have answered false.
  bool Add(std::string_view key) { return AddHash(HashGuavaKey(key)); }
  bool AddHash(const GuavaHash& hash);

  // False only if the key was never added; as Java's mightContain.
  bool Contains(std::string_view key) const { return ContainsHash(HashGuavaKey(key)); }
  bool ContainsHash(const GuavaHash& hash) const;

  // Forgets all keys. Linear in the size, as all that follow.
  void Clear() { bits_.Clear(); }
  // As Java's approximateElementCount, but a filter whose bits are all set counts as one with half
  // a bit left.
  uint64_t ApproximateCount() const;
  // As Java's expectedFpp.
  double ExpectedFpr() const;
  // As Java's putAll: InvalidArgument unless strategy, bits and probes are the same, or for the
  // filter itself.
  absl::Status Union(const GuavaBloomFilter& other);

  GuavaStrategy strategy() const { return strategy_; }
  int num_probes() const { return num_probes_; }
  uint64_t num_bits() const { return bits_.num_bits(); }
  uint64_t memory_bytes() const { return bits_.num_words() * sizeof(uint64_t); }

 private:
  GuavaBloomFilter(internal::AtomicBits bits, int num_probes, GuavaStrategy strategy)
      : bits_(std::move(bits)), num_probes_(num_probes), strategy_(strategy) {}

  // Calls visit(bit) for each probe until it returns false.
  template <typename Visitor>
  void ForEachProbe(const GuavaHash& hash, Visitor visit) const;

  internal::AtomicBits bits_;
  int num_probes_;
  GuavaStrategy strategy_;
};

// A spec that asks for such a filter: bloom:AMOUNT:murmur128_mitz_64, or _32.
struct GuavaBloomSpec {
  FilterSpec spec;  // with the strategy as its one word
  GuavaStrategy strategy;
  double fpr;  // of an amount of bits per key too
};

// Empty if `text` does not end in one of the words; then ParseFilterSpec reads it. InvalidArgument
// if it does, but what stands before is wrong. (Filter blocks of SSTables cannot be built by such
// specs: they take 64-bit hashes, and this kind needs the keys. ParseFilterSpec refuses them.)
absl::StatusOr<std::optional<GuavaBloomSpec>> ParseGuavaBloomSpec(std::string_view text);

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_GUAVA_BLOOM_FILTER_H_
