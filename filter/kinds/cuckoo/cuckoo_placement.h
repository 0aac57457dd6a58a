// Building one shard of a cuckoo filter: each fingerprint finds a slot in one of its two buckets,
// if need be by moving others to their other bucket (Pagh and Rodler, ESA 2001; Fan et al., CoNEXT
// 2014). Internal.

#ifndef WINNOW_FILTER_KINDS_CUCKOO_CUCKOO_PLACEMENT_H_
#define WINNOW_FILTER_KINDS_CUCKOO_CUCKOO_PLACEMENT_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "filter/base/build_memory.h"
#include "filter/kinds/cuckoo/cuckoo_table.h"

namespace winnow::filter::internal {

// A bucket is one Word of four equal lanes, filled from the lowest on; a lane of zero is empty.
// Word is uint64_t for fingerprints of up to 16 bits, unsigned __int128 for others.
template <typename Word>
class CuckooPlacement {
 public:
  explicit CuckooPlacement(uint64_t num_buckets) : num_buckets_(num_buckets) {}

  void Clear() { buckets_.assign(num_buckets_, 0); }
  uint64_t memory_bytes() const { return buckets_.capacity() * sizeof(Word); }

  // Calls visit(uint32_t* slots, bucket) with the four fingerprints of each bucket, 0 for none.
  template <typename Visitor>
  void ForEachBucket(Visitor visit) const {
    for (uint64_t bucket = 0; bucket < num_buckets_; ++bucket) {
      std::array<uint32_t, kSlotsPerBucket> slots;
      for (int lane = 0; lane < kLanes; ++lane) {
        slots[static_cast<size_t>(lane)] = FingerprintIn(buckets_[bucket], lane);
      }
      visit(slots.data(), bucket);
    }
  }

  // Inserts what locate(hash) says of each of the hashes. False if some found no place. Two keys of
  // equal fingerprint and buckets share one slot: nothing is ever removed, so that one is enough,
  // and crowds of such keys cannot overflow.
  template <typename Locator>
  bool Insert(const uint64_t* hashes, size_t count, Locator locate) {
    // So many buckets are on their way into the cache before the first is waited for.
    constexpr size_t kGroup = 32;
    std::array<CuckooLocation, kGroup> locations;
    for (size_t begin = 0; begin < count; begin += kGroup) {
      const size_t size = std::min(kGroup, count - begin);
      for (size_t i = 0; i < size; ++i) {
        locations[i] = locate(hashes[begin + i]);
        __builtin_prefetch(&buckets_[locations[i].first_bucket], 1);
        __builtin_prefetch(&buckets_[locations[i].second_bucket], 1);
      }
      for (size_t i = 0; i < size; ++i) {
        if (!InsertAt(locations[i])) return false;
      }
    }
    return true;
  }

 private:
  static constexpr int kLanes = static_cast<int>(kSlotsPerBucket);
  static constexpr int kLaneBits = static_cast<int>(sizeof(Word)) * 8 / kLanes;
  static constexpr int kMaxEvictions = 2000;
  static constexpr Word kLowestBits = ~Word{0} / ((Word{1} << kLaneBits) - 1);
  static constexpr Word kHighestBits = kLowestBits << (kLaneBits - 1);

  static uint32_t FingerprintIn(Word bucket, int lane) {
    return static_cast<uint32_t>(bucket >> (lane * kLaneBits) & ((Word{1} << kLaneBits) - 1));
  }
  static bool IsFull(Word bucket) { return bucket >> ((kLanes - 1) * kLaneBits) != 0; }
  static int LeadingZeros(uint64_t word) { return std::countl_zero(word); }
  static int LeadingZeros(unsigned __int128 word) {
    const auto high = static_cast<uint64_t>(word >> 64);
    return high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<uint64_t>(word));
  }

  // As cuckoo.cc searches a bucket.
  static bool Holds(Word bucket, uint32_t fingerprint) {
    const Word difference = bucket ^ (kLowestBits * fingerprint);
    return ((difference - kLowestBits) & ~difference & kHighestBits) != 0;
  }

  // Into a bucket that is not full.
  void Append(uint64_t bucket, uint32_t fingerprint) {
    const Word word = buckets_[bucket];
    const int num_used = (kLanes * kLaneBits - LeadingZeros(word) + kLaneBits - 1) / kLaneBits;
    buckets_[bucket] = word | Word{fingerprint} << (num_used * kLaneBits);
  }

  void Replace(uint64_t bucket, int lane, uint32_t before, uint32_t after) {
    buckets_[bucket] ^= Word{before ^ after} << (lane * kLaneBits);
  }

  bool InsertAt(const CuckooLocation& location) {
    const Word first = buckets_[location.first_bucket];
    const Word second = buckets_[location.second_bucket];
    if (Holds(first, location.fingerprint) || Holds(second, location.fingerprint)) return true;
    // Into the emptier one: fewer keys then have to be moved.
    const uint64_t bucket = LeadingZeros(first) >= LeadingZeros(second) ? location.first_bucket
                                                                        : location.second_bucket;
    if (IsFull(buckets_[bucket])) return MakeRoom(bucket, location.fingerprint);
    Append(bucket, location.fingerprint);
    return true;
  }

  // Into a full bucket, out of which a fingerprint is moved whose other bucket has room, or else a
  // random one for which room is made in turn.
  bool MakeRoom(uint64_t bucket, uint32_t fingerprint) {
    for (int i = 0; i < kMaxEvictions; ++i) {
      const Word word = buckets_[bucket];
      std::array<uint64_t, kSlotsPerBucket> others;
      unsigned with_room = 0;
      for (int lane = 0; lane < kLanes; ++lane) {
        const uint64_t other = OtherBucket(bucket, FingerprintIn(word, lane), num_buckets_);
        others[static_cast<size_t>(lane)] = other;
        with_room |= (IsFull(buckets_[other]) ? 0U : 1U) << lane;
      }
      random_ = random_ * 6364136223846793005 + 1442695040888963407;
      const int lane =
          with_room != 0 ? std::countr_zero(with_room) : static_cast<int>(random_ >> 62);
      const uint32_t evicted = FingerprintIn(word, lane);
      Replace(bucket, lane, evicted, fingerprint);
      bucket = others[static_cast<size_t>(lane)];
      fingerprint = evicted;
      if (with_room != 0) {
        Append(bucket, fingerprint);
        return true;
      }
    }
    return false;
  }

  const uint64_t num_buckets_;
  BuildVector<Word> buckets_;
  uint64_t random_ = 0;
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_CUCKOO_CUCKOO_PLACEMENT_H_
