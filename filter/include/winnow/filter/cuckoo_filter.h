// A cuckoo filter (Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo Filter: Practically Better
// Than Bloom", CoNEXT 2014) for applications: keys can be removed again, a query costs two cache
// lines, and below a false-positive rate of about 0.3 % it is smaller than a Bloom filter. Unlike
// one it can be full.
//
//   absl::StatusOr<CuckooFilter> online = CuckooFilter::Create(100'000, 0.001);
//   if (!online->Add("user/7").ok()) ...      // full
//   online->Remove("user/7");                 // true

#ifndef WINNOW_FILTER_CUCKOO_FILTER_H_
#define WINNOW_FILTER_CUCKOO_FILTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/filter/hash.h"

namespace winnow::filter {

// A multiset of fingerprints of 4 to 30 bits, in buckets of four. Each key has two buckets; a full
// pair makes room by moving others to their second buckets, at most kMaxMoves times. Then the one
// fingerprint that is left without a place is kept beside the table, so that nothing is ever lost,
// and from then on keys are refused unless one of their own buckets has room.
//
// A key that is added n times is there until it is removed n times, and takes n slots. At most
// eight copies, four where both buckets are the same, have room in a key's buckets, and one may be
// beside the table: Add refuses further ones. AddIfAbsent stores a key once.
//
// Const methods may be called from many threads at once; the others need the filter for themselves.
class CuckooFilter {
 public:
  static constexpr uint64_t kSlotsPerBucket = 4;
  static constexpr int kMaxMoves = 500;

  // A filter with room for `capacity` keys (1 to 2^40), at a false-positive rate of at most `fpr`
  // (1e-8 to 0.5): ceil(log2(8 / fpr)) bits in each of capacity / 0.95 slots, some more if there
  // are few. `hash_seed` goes into the hash of each key; filters must have the same one to be
  // united. InvalidArgument for values outside their ranges, ResourceExhausted without such memory.
  static absl::StatusOr<CuckooFilter> Create(uint64_t capacity, double fpr, uint64_t hash_seed = 0);

  // What Serialize gave, of this or another machine. Linear time. Errors as
  // BloomFilter::Deserialize.
  static absl::StatusOr<CuckooFilter> Deserialize(std::string_view bytes);

  CuckooFilter(CuckooFilter&&) = default;
  CuckooFilter& operator=(CuckooFilter&&) = default;

  // Adds a key, of any bytes and length. ResourceExhausted if there is no room, for the key or for
  // another copy of it: nothing has changed then. Two cache lines, many more in a table that is
  // nearly full.
  absl::Status Add(std::string_view key) { return AddHash(HashKey(key, hash_seed_)); }
  // The same with the key's hash, HashKey(key, hash_seed()) or any other good one.
  absl::Status AddHash(uint64_t key_hash);

  // Adds the key unless Contains is true for it, rightly or not. Do not remove keys from a
  // filter that is filled so: the copy that a false positive relied on may go.
  absl::Status AddIfAbsent(std::string_view key) {
    const uint64_t key_hash = HashKey(key, hash_seed_);
    return ContainsHash(key_hash) ? absl::OkStatus() : AddHash(key_hash);
  }

  // Takes back one Add of the key. False if it is certainly not there. Remove only what was added:
  // a key that never was, but is among the false positives, takes another key's fingerprint away,
  // and Contains may then be false for that one.
  bool Remove(std::string_view key) { return RemoveHash(HashKey(key, hash_seed_)); }
  bool RemoveHash(uint64_t key_hash);

  // False only if the key is not there, provided that only keys were removed that had been added.
  // Two cache lines.
  bool Contains(std::string_view key) const { return ContainsHash(HashKey(key, hash_seed_)); }
  bool ContainsHash(uint64_t key_hash) const;

  // Forgets all keys. Linear in the size.
  void Clear();

  // How many keys were added and not removed, copies counted. Exact. Constant time.
  uint64_t ApproximateCount() const { return num_keys_; }
  // The false-positive rate of the filter as it is now: 1 - (1 - 1 / (2^bits - 1))^(8 * load), for
  // few buckets a little less. Too high if there are copies: those of one key answer as one.
  // Constant time.
  double ExpectedFpr() const;

  // Adds all keys of `other`, copies included. InvalidArgument unless both were created with the
  // same parameters and seed, or for the filter itself; ResourceExhausted if they do not all find
  // room: nothing has changed then. Linear in the size; memory for a second table while it runs.
  absl::Status Union(const CuckooFilter& other);

  // The filter as bytes for Deserialize. Linear in the size.
  std::string Serialize() const;

  uint64_t capacity() const { return capacity_; }
  double fpr() const { return fpr_; }  // as asked for; see ExpectedFpr
  uint64_t hash_seed() const { return hash_seed_; }
  uint64_t num_buckets() const { return num_buckets_; }
  int fingerprint_bits() const { return fingerprint_bits_; }
  double load() const {  // share of used slots
    return static_cast<double>(num_keys_) / static_cast<double>(num_buckets_ * kSlotsPerBucket);
  }
  uint64_t memory_bytes() const;

 private:
  // A fingerprint and one of its two buckets.
  struct Entry {
    uint32_t fingerprint;  // never 0, which marks an empty slot
    uint64_t bucket;
  };

  CuckooFilter(std::unique_ptr<uint8_t[]> table, uint64_t num_buckets, int fingerprint_bits,
               uint64_t capacity, double fpr, uint64_t hash_seed)
      : table_(std::move(table)),
        num_buckets_(num_buckets),
        fingerprint_bits_(fingerprint_bits),
        capacity_(capacity),
        fpr_(fpr),
        hash_seed_(hash_seed) {}

  static absl::StatusOr<std::unique_ptr<uint8_t[]>> AllocateTable(uint64_t num_buckets,
                                                                  int fingerprint_bits);

  Entry EntryOf(uint64_t key_hash) const;
  uint64_t OtherBucket(const Entry& entry) const;
  // The four slots of a bucket, each of fingerprint_bits_, the first lowest.
  unsigned __int128 LoadBucket(uint64_t bucket) const;
  uint32_t LoadSlot(uint64_t bucket, uint64_t slot) const;
  void StoreSlot(uint64_t bucket, uint64_t slot, uint32_t fingerprint);
  int CopiesInBucket(uint64_t bucket, uint32_t fingerprint) const;
  // Replaces the first `from` in the bucket by `to`; false if there is none.
  bool ReplaceInBucket(uint64_t bucket, uint32_t from, uint32_t to);
  bool PlaceWithoutMoving(const Entry& entry);
  absl::Status AddEntry(const Entry& entry);
  // Tries again to find a place for the one beside the table.
  void PlaceVictim();
  bool IsSameKey(const Entry& a, const Entry& b) const;

  std::unique_ptr<uint8_t[]> table_;
  uint64_t num_buckets_;
  int fingerprint_bits_;
  uint64_t capacity_;
  double fpr_;
  uint64_t hash_seed_;
  uint64_t num_keys_ = 0;
  std::optional<Entry> victim_;  // counted in num_keys_
  uint64_t random_ = 0;          // chooses what is moved
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_CUCKOO_FILTER_H_
