// A counting Bloom filter that is byte for byte the one of Hadoop
// (org.apache.hadoop.util.bloom.CountingBloomFilter), but for two faults of that class: see Union
// and Intersect.
//
//   absl::StatusOr<HadoopCountingBloomFilter> filter = HadoopCountingBloomFilter::ReadFrom(bytes);
//   filter->Add("user/7");
//   Send(filter->WriteTo());                  // for Java's readFields
//
// Where no Hadoop reads the bytes, CountingBloomFilter is better: it is sized by keys and rate,
// and its bytes are checksummed.

#ifndef WINNOW_FILTER_HADOOP_COUNTING_BLOOM_FILTER_H_
#define WINNOW_FILTER_HADOOP_COUNTING_BLOOM_FILTER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/filter/counting_bloom_filter.h"
#include "winnow/filter/internal/counter_array.h"

namespace winnow::filter {

// The values are Java's, and part of the bytes.
enum class HadoopHash : uint8_t {
  kJenkins = 0,  // lookup3's hashlittle (Bob Jenkins, 2006)
  kMurmur = 1,   // MurmurHash2 with the last one to three bytes taken as signed, as Java has them
};

// The 32-bit hash of `key`, started with `seed`. Linear time.
int32_t HashHadoopKey(HadoopHash hash, std::string_view key, int32_t seed);

// A multiset: a key that was added twice is there until it is removed twice. Counters of four bits
// stick at 15, so that no key is lost. Const methods may be called from many threads at once; the
// others need the filter for themselves.
class HadoopCountingBloomFilter {
 public:
  static constexpr int kMaxProbes = 1024;

  // `num_counters` (1 to 2^31 - 1) is what Java calls vectorSize: counters, not keys. For n keys
  // and a rate p take -n ln(p) / ln(2)^2 of them, and log2(1/p) probes (1 to 1024): a hundred
  // million counters for as many keys, as has been recommended, answer wrongly for 86 of a hundred.
  // InvalidArgument for values outside their ranges, ResourceExhausted without such memory.
  static absl::StatusOr<HadoopCountingBloomFilter> Create(int32_t num_counters, int num_probes,
                                                          HadoopHash hash);
  // The same, sized for `capacity` keys at a rate of at most `fpr` (1e-12 to 0.5).
  static absl::StatusOr<HadoopCountingBloomFilter> CreateForKeys(uint64_t capacity, double fpr,
                                                                 HadoopHash hash);

  // Reads what write of Java, or WriteTo, wrote; the older form without a type of hash too.
  // DataLoss: cut off, too long, of an unknown version or hash, or with values outside their
  // ranges. More memory is never taken than `bytes` has. These bytes carry no checksum.
  static absl::StatusOr<HadoopCountingBloomFilter> ReadFrom(std::string_view bytes);
  // The bytes for Java's readFields. Linear in the size.
  std::string WriteTo() const;

  HadoopCountingBloomFilter(HadoopCountingBloomFilter&&) = default;
  HadoopCountingBloomFilter& operator=(HadoopCountingBloomFilter&&) = default;

  // Adds a key. InvalidArgument for the empty one, as in Java.
  absl::Status Add(std::string_view key);
  // Takes back one Add of the key. NotFound, and nothing changed, if some counter shows that the
  // key is not there; FailedPrecondition if supports_remove() is false. Remove only what was added:
  // false positives are not detected, and removing them loses other keys.
  absl::Status Remove(std::string_view key);
  // False only if the key is not there, provided that only keys were removed that had been added.
  bool Contains(std::string_view key) const { return CountOf(key) != 0; }
  // As Java's approximateCount: never less than the truth below 15; 15 stands for 15 or more.
  int CountOf(std::string_view key) const;

  // Forgets all keys, and allows removals again. Linear in the size, as all that follow.
  void Clear();
  // How many different keys are there, estimated from the counters that are not zero.
  uint64_t ApproximateCount() const;
  // The false-positive rate of the filter as it is now.
  double ExpectedFpr() const;

  // InvalidArgument unless both have the same number of counters, probes and hash, or for the
  // filter itself. Java's or() takes the bitwise or of the counters, which is neither sum nor
  // maximum: one copy and two copies make three.
  absl::Status Union(const HadoopCountingBloomFilter& other, CounterUnion how = CounterUnion::kSum);
  // The smaller one of each two counters. Java's and() takes the bitwise and, which loses keys: of
  // one copy and two copies nothing is left.
  absl::Status Intersect(const HadoopCountingBloomFilter& other);

  // False after a Union by maximum. Not part of Java's bytes: do not remove keys from such a filter
  // after it was written and read.
  bool supports_remove() const { return supports_remove_; }
  HadoopHash hash() const { return hash_; }
  int32_t num_counters() const { return static_cast<int32_t>(counters_.num_counters()); }
  int num_probes() const { return num_probes_; }
  uint64_t memory_bytes() const { return counters_.num_words() * sizeof(uint64_t); }

 private:
  HadoopCountingBloomFilter(internal::CounterArray counters, int num_probes, HadoopHash hash)
      : counters_(std::move(counters)), num_probes_(num_probes), hash_(hash) {}

  // Calls visit(counter) for each probe until it returns false.
  template <typename Visitor>
  void ForEachProbe(std::string_view key, Visitor visit) const;
  absl::Status CheckCompatible(const HadoopCountingBloomFilter& other) const;

  internal::CounterArray counters_;
  int num_probes_;
  HadoopHash hash_;
  bool supports_remove_ = true;
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_HADOOP_COUNTING_BLOOM_FILTER_H_
