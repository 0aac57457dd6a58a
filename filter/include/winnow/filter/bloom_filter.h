// The textbook Bloom filter (Bloom, CACM 1970) for applications: add keys at any time, from many
// threads at once, and query whether a key was added. No key can be removed: clearing its bits
// would lose other keys (CountingBloomFilter and CuckooFilter can).
//
//   absl::StatusOr<BloomFilter> seen = BloomFilter::Create(1'000'000, 0.01);
//   if (seen->Add("https://example.org/")) Fetch();       // certainly new
//   if (!seen->Contains("https://example.com/")) ...      // certainly never added
//
// "Contains" is a maybe. The rate is the share of keys that were never added which it is wrong
// about; how sure a yes is depends on how many of the keys asked were added. Of a million keys
// asked of which a hundredth was added, a filter of 1 % says yes to 10,000 members and 9,900
// others.

#ifndef WINNOW_FILTER_BLOOM_FILTER_H_
#define WINNOW_FILTER_BLOOM_FILTER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/internal/atomic_bits.h"
#include "winnow/filter/internal/probe_sequence.h"

namespace winnow::filter {

// Add and Contains may be called from many threads at once, without locks: no add is lost. A thread
// is sure to see a key that was added before something which it has acquired from the adder (a
// mutex, a release store). Clear, Union into this filter, moving and destroying need the filter
// for themselves. Memory: log2(1/fpr) * 1.44 bits for each key of the capacity.
class BloomFilter {
 public:
  // A filter that holds `capacity` keys (1 to 2^40) at a false-positive rate of at most `fpr`
  // (1e-12 to 0.5). More keys may be added; the rate then rises, as ExpectedFpr reports.
  // `hash_seed` goes into the hash of each key: where keys may be adversarial, draw it at random
  // and keep it secret. Filters must have the same one to be united. InvalidArgument for values
  // outside their ranges, ResourceExhausted without such memory.
  static absl::StatusOr<BloomFilter> Create(uint64_t capacity, double fpr, uint64_t hash_seed = 0);

  // What Serialize gave, of this or another machine. Linear time. DataLoss: damaged, truncated or
  // contradicting itself. InvalidArgument: another kind of filter. Unimplemented: written by a
  // newer version. ResourceExhausted without memory; no more is taken than `bytes` has.
  static absl::StatusOr<BloomFilter> Deserialize(std::string_view bytes);

  BloomFilter(BloomFilter&&) = default;
  BloomFilter& operator=(BloomFilter&&) = default;

  // Adds a key: any bytes, any length, the empty one too. True if that changed the filter, which
  // it does exactly if Contains would have answered false; of two threads that add one new key at
  // once, both may see true. About as many memory accesses as num_probes().
  bool Add(std::string_view key) { return AddHash(HashKey(key, hash_seed_)); }
  // The same with the key's hash, HashKey(key, hash_seed()) or any other good one.
  bool AddHash(uint64_t key_hash) { return SetBitsOf(key_hash) != 0; }

  // False only if the key was never added.
  bool Contains(std::string_view key) const { return ContainsHash(HashKey(key, hash_seed_)); }
  bool ContainsHash(uint64_t key_hash) const;

  // Forgets all keys. Linear in the size.
  void Clear() { bits_.Clear(); }

  // How many different keys were added, estimated from the set bits; within a few per cent up to a
  // few times the capacity. Linear in the size.
  uint64_t ApproximateCount() const;
  // The false-positive rate of the filter as it is now, from the set bits. Linear in the size.
  double ExpectedFpr() const;

  // Adds all keys of `other`. Only for filters that were created with the same parameters and seed:
  // InvalidArgument otherwise, or for the filter itself. The result is the very filter that one
  // would have got by adding the keys of both. Linear in the size.
  absl::Status Union(const BloomFilter& other);

  // The filter as bytes for Deserialize. Linear in the size. While other threads add, the result
  // holds each key whose Add returned before the call, and some of the others.
  std::string Serialize() const;

  uint64_t capacity() const { return capacity_; }
  double fpr() const { return fpr_; }  // as asked for; see ExpectedFpr
  uint64_t hash_seed() const { return hash_seed_; }
  uint64_t num_bits() const { return bits_.num_bits(); }
  int num_probes() const { return num_probes_; }
  uint64_t memory_bytes() const { return bits_.num_words() * sizeof(uint64_t); }

 private:
  friend class ScalableBloomFilter;

  BloomFilter(internal::AtomicBits bits, int num_probes, uint64_t capacity, double fpr,
              uint64_t hash_seed)
      : bits_(std::move(bits)),
        num_probes_(num_probes),
        capacity_(capacity),
        fpr_(fpr),
        hash_seed_(hash_seed) {}

  // Sets the bits of a hash; gives how many were not set before.
  int SetBitsOf(uint64_t key_hash);

  internal::AtomicBits bits_;
  int num_probes_;
  uint64_t capacity_;
  double fpr_;
  uint64_t hash_seed_;
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_BLOOM_FILTER_H_
