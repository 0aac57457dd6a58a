// A Bloom filter from which keys can be removed (Fan, Cao, Almeida and Broder, "Summary Cache",
// IEEE/ACM Transactions on Networking, 2000): a counter of 4 bits where BloomFilter has a bit, so
// four times its memory. CuckooFilter removes too, in a quarter of that.
//
//   absl::StatusOr<CountingBloomFilter> online = CountingBloomFilter::Create(100'000, 0.01);
//   online->Add("user/7");
//   online->Remove("user/7");     // true
//   online->Contains("user/7");   // false

#ifndef WINNOW_FILTER_COUNTING_BLOOM_FILTER_H_
#define WINNOW_FILTER_COUNTING_BLOOM_FILTER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/internal/counter_array.h"

namespace winnow::filter {

// How two counters become one when filters are united.
enum class CounterUnion : uint8_t {
  // Each key counts as often as in both together. Keys may be removed from the result.
  kSum,
  // Each key counts at least as often as where it counts more; counters stay smaller. Counters that
  // different keys of the two filters share may then be too small for all of them, so that a
  // removal could lose a key: the result takes no removals any more.
  kMaximum,
};

// A multiset: a key that was added twice is there until it is removed twice. Const methods may be
// called from many threads at once; the others need the filter for themselves.
//
// Counters stick at 15: they never wrap, so that no key is lost however often others are added. A
// key all of whose counters have stuck, as after 15 additions of it, is never removed. For distinct
// keys up to the capacity that has a chance of about 1.4e-15 for each counter.
class CountingBloomFilter {
 public:
  // A filter that holds `capacity` keys (1 to 2^40), counted with their repetitions, at a
  // false-positive rate of at most `fpr` (1e-12 to 0.5). `hash_seed` goes into the hash of each
  // key. InvalidArgument for values outside their ranges, ResourceExhausted without such memory.
  static absl::StatusOr<CountingBloomFilter> Create(uint64_t capacity, double fpr,
                                                    uint64_t hash_seed = 0);

  // What Serialize gave, of this or another machine. Linear time. Errors as
  // BloomFilter::Deserialize.
  static absl::StatusOr<CountingBloomFilter> Deserialize(std::string_view bytes);

  CountingBloomFilter(CountingBloomFilter&&) = default;
  CountingBloomFilter& operator=(CountingBloomFilter&&) = default;

  // Adds a key, of any bytes and length. num_probes() memory accesses, as the next three.
  void Add(std::string_view key) { AddHash(HashKey(key, hash_seed_)); }
  // The same with the key's hash, HashKey(key, hash_seed()) or any other good one.
  void AddHash(uint64_t key_hash);

  // Takes back one Add of the key. False, and nothing changed, if some counter shows that the key
  // is not there, or if supports_remove() is false.
  // Remove only what was added: a key that never was, but is among the false positives, is not
  // detected. Removing it lowers counters of other keys, and Contains may then be false for those.
  bool Remove(std::string_view key) { return RemoveHash(HashKey(key, hash_seed_)); }
  bool RemoveHash(uint64_t key_hash);

  // False only if the key is not there, provided that only keys were removed that had been added.
  bool Contains(std::string_view key) const { return ContainsHash(HashKey(key, hash_seed_)); }
  bool ContainsHash(uint64_t key_hash) const { return CountOfHash(key_hash) != 0; }

  // How often the key is there: never less than the truth below 15, and more with the chance that
  // Contains has to be wrong; 15 stands for 15 or more.
  int CountOf(std::string_view key) const { return CountOfHash(HashKey(key, hash_seed_)); }
  int CountOfHash(uint64_t key_hash) const;

  // Forgets all keys, and allows removals again. Linear in the size, as all that follow.
  void Clear();
  // How many different keys are there, estimated from the counters that are not zero.
  uint64_t ApproximateCount() const;
  // The false-positive rate of the filter as it is now.
  double ExpectedFpr() const;

  // Makes this the union, or the intersection, with `other`. InvalidArgument unless both were
  // created with the same parameters and seed, or for the filter itself.
  absl::Status Union(const CountingBloomFilter& other, CounterUnion how = CounterUnion::kSum);
  // The smaller one of each two counters: every key that both hold is kept, as often as where it
  // counts less, and may be removed. Keys that only one of them holds may survive too, more often
  // than in an intersection that was built from the keys.
  absl::Status Intersect(const CountingBloomFilter& other);

  // The filter as bytes for Deserialize.
  std::string Serialize() const;

  // False after a Union by maximum, here or in a filter that was united into this one.
  bool supports_remove() const { return supports_remove_; }
  uint64_t capacity() const { return capacity_; }
  double fpr() const { return fpr_; }  // as asked for; see ExpectedFpr
  uint64_t hash_seed() const { return hash_seed_; }
  uint64_t num_counters() const { return counters_.num_counters(); }
  int num_probes() const { return num_probes_; }
  uint64_t memory_bytes() const { return counters_.num_words() * sizeof(uint64_t); }

 private:
  CountingBloomFilter(internal::CounterArray counters, int num_probes, uint64_t capacity,
                      double fpr, uint64_t hash_seed)
      : counters_(std::move(counters)),
        num_probes_(num_probes),
        capacity_(capacity),
        fpr_(fpr),
        hash_seed_(hash_seed) {}

  absl::Status CheckCompatible(const CountingBloomFilter& other) const;

  internal::CounterArray counters_;
  int num_probes_;
  uint64_t capacity_;
  double fpr_;
  uint64_t hash_seed_;
  bool supports_remove_ = true;
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_COUNTING_BLOOM_FILTER_H_
