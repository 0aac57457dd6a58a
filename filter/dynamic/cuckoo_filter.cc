#include "winnow/filter/cuckoo_filter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "filter/dynamic/parameters.h"
#include "filter/dynamic/saved_format.h"
#include "winnow/filter/internal/unit_view.h"

namespace winnow::filter {
namespace {

// The table is buckets of four slots, packed without gaps; slot j of bucket i is the
// fingerprint_bits_ bits from bit (4 i + j) * fingerprint_bits_ on, and 0 if it is empty. The
// algorithms are those of the static kind (kinds/cuckoo), with two differences: every copy of a key
// takes a slot, since it can be removed, and there is no rebuilding, so that a fingerprint without
// a place is kept as the victim.
//
// Invariants: 1. A key's fingerprint is in one of its two buckets, or is the victim. OtherBucket is
// its own inverse: both buckets can be computed from either and the fingerprint, without the key.
// 2. num_keys_ is the number of used slots, and one more if there is a victim. 3. While there is a
// victim nothing is moved: a second one would have no place.

constexpr double kMinFpr = 1e-8;
constexpr int kMinFingerprintBits = 4;
constexpr int kMaxFingerprintBits = 30;
// A bucket is loaded as 16 bytes from the byte where it begins: the last one's load ends here.
constexpr uint64_t kSlackBytes = 16;
// Four-slot buckets reach 95 % before insertion fails (Fan et al., section 5.2).
constexpr double kLoad = 0.95;

// Slots for `capacity` keys: a small table fails at a lower load, by chance, so a few standard
// deviations are added.
uint64_t ChooseBuckets(uint64_t capacity) {
  const auto keys = static_cast<double>(capacity);
  const double slots = keys / kLoad + 2 * std::sqrt(keys);
  return static_cast<uint64_t>(
      std::ceil(slots / static_cast<double>(CuckooFilter::kSlotsPerBucket)));
}

// REQUIRES: at most 2^55 buckets, so that the product stays below 2^64. AllocateTable and
// Deserialize bound them first.
uint64_t TableBytes(uint64_t num_buckets, int fingerprint_bits) {
  const uint64_t bits =
      num_buckets * CuckooFilter::kSlotsPerBucket * static_cast<uint64_t>(fingerprint_bits);
  return (bits + 7) / 8;
}

}  // namespace

// A bucket takes at most 4 * 30 bits, less than 16 bytes: so many buckets stay within
// kMaxFilterBytes whatever the fingerprints are.
absl::StatusOr<std::unique_ptr<uint8_t[]>> CuckooFilter::AllocateTable(uint64_t num_buckets,
                                                                       int fingerprint_bits) {
  if (num_buckets > internal::kMaxFilterBytes / 16) return internal::OutOfMemory(num_buckets, 16);
  const uint64_t bytes = TableBytes(num_buckets, fingerprint_bits) + kSlackBytes;
  std::unique_ptr<uint8_t[]> table(new (std::nothrow) uint8_t[bytes]());
  if (table == nullptr) return internal::OutOfMemory(bytes, 1);
  return table;
}

absl::StatusOr<CuckooFilter> CuckooFilter::Create(uint64_t capacity, double fpr,
                                                  uint64_t hash_seed) {
  absl::Status status = internal::CheckCapacityAndFpr("CuckooFilter", capacity, fpr, kMinFpr);
  if (!status.ok()) return status;
  // An absent key is compared with 2 * 4 slots, each of which matches with 2^-f: 8 / 2^f is to be
  // at most the rate, so f = log2(8 / rate).
  const int fingerprint_bits = std::clamp(static_cast<int>(std::ceil(std::log2(8 / fpr))),
                                          kMinFingerprintBits, kMaxFingerprintBits);
  const uint64_t num_buckets = ChooseBuckets(capacity);
  absl::StatusOr<std::unique_ptr<uint8_t[]>> table = AllocateTable(num_buckets, fingerprint_bits);
  if (!table.ok()) return table.status();
  return CuckooFilter(*std::move(table), num_buckets, fingerprint_bits, capacity, fpr, hash_seed);
}

CuckooFilter::Entry CuckooFilter::EntryOf(uint64_t key_hash) const {
  // The high bits of the hash choose the bucket; a product's high half depends on the low ones.
  const uint64_t num_fingerprints = (uint64_t{1} << fingerprint_bits_) - 1;
  const uint64_t low_half = (key_hash * 0xd6e8feb86659fd93) >> 32;
  return {static_cast<uint32_t>(1 + ((low_half * num_fingerprints) >> 32)),
          internal::MultiplyHigh(key_hash, num_buckets_)};
}

// Reflection at a point that the fingerprint chooses: its own inverse for any number of buckets,
// where the original's exclusive or needs a power of two.
uint64_t CuckooFilter::OtherBucket(const Entry& entry) const {
  const uint64_t mixed = (uint64_t{entry.fingerprint} * 0xc6a4a7935bd1e995) ^ 0x2545f4914f6cdd1d;
  const uint64_t center = internal::MultiplyHigh(mixed * 0x9e3779b97f4a7c15, num_buckets_);
  return center >= entry.bucket ? center - entry.bucket : center + num_buckets_ - entry.bucket;
}

unsigned __int128 CuckooFilter::LoadBucket(uint64_t bucket) const {
  const uint64_t bit = bucket * kSlotsPerBucket * static_cast<uint64_t>(fingerprint_bits_);
  // A bucket begins at any bit and takes up to 120: with up to 7 before it, 127 bits, which 16
  // bytes hold. An unaligned load by memcpy costs no more than an aligned one unless it crosses a
  // cache line.
  unsigned __int128 word;
  std::memcpy(&word, table_.get() + (bit >> 3), sizeof(word));
  return word >> (bit & 7);
}

uint32_t CuckooFilter::LoadSlot(uint64_t bucket, uint64_t slot) const {
  const auto shifted = static_cast<uint64_t>(LoadBucket(bucket) >>
                                             (slot * static_cast<uint64_t>(fingerprint_bits_)));
  return static_cast<uint32_t>(shifted & ((uint64_t{1} << fingerprint_bits_) - 1));
}

void CuckooFilter::StoreSlot(uint64_t bucket, uint64_t slot, uint32_t fingerprint) {
  const uint64_t bit = (bucket * kSlotsPerBucket + slot) * static_cast<uint64_t>(fingerprint_bits_);
  // A slot of up to 30 bits with up to 7 before it lies within 8 bytes. Read, merge and write back:
  // neighbours share these bytes, and slack bytes behind the table are written as they were.
  uint64_t word;
  std::memcpy(&word, table_.get() + (bit >> 3), sizeof(word));
  const uint64_t mask = ((uint64_t{1} << fingerprint_bits_) - 1) << (bit & 7);
  word = (word & ~mask) | (uint64_t{fingerprint} << (bit & 7));
  std::memcpy(table_.get() + (bit >> 3), &word, sizeof(word));
}

int CuckooFilter::CopiesInBucket(uint64_t bucket, uint32_t fingerprint) const {
  unsigned __int128 slots = LoadBucket(bucket);
  const uint64_t mask = (uint64_t{1} << fingerprint_bits_) - 1;
  int copies = 0;
  for (uint64_t i = 0; i < kSlotsPerBucket; ++i) {
    copies += (static_cast<uint64_t>(slots) & mask) == fingerprint ? 1 : 0;
    slots >>= fingerprint_bits_;
  }
  return copies;
}

bool CuckooFilter::ReplaceInBucket(uint64_t bucket, uint32_t from, uint32_t to) {
  // `from` 0 finds a free slot, `to` 0 frees one: insertion and removal are the same walk over four
  // slots.
  for (uint64_t slot = 0; slot < kSlotsPerBucket; ++slot) {
    if (LoadSlot(bucket, slot) != from) continue;
    StoreSlot(bucket, slot, to);
    return true;
  }
  return false;
}

bool CuckooFilter::PlaceWithoutMoving(const Entry& entry) {
  return ReplaceInBucket(entry.bucket, 0, entry.fingerprint) ||
         ReplaceInBucket(OtherBucket(entry), 0, entry.fingerprint);
}

// Two entries are indistinguishable to a query if they share the fingerprint and, either way round,
// both buckets.
bool CuckooFilter::IsSameKey(const Entry& a, const Entry& b) const {
  return a.fingerprint == b.fingerprint && (a.bucket == b.bucket || a.bucket == OtherBucket(b));
}

absl::Status CuckooFilter::AddHash(uint64_t key_hash) { return AddEntry(EntryOf(key_hash)); }

absl::Status CuckooFilter::AddEntry(const Entry& entry) {
  if (PlaceWithoutMoving(entry)) {
    ++num_keys_;
    return absl::OkStatus();
  }
  const uint64_t other = OtherBucket(entry);
  // All eight slots hold this very fingerprint: moving would only exchange copies. Not the table is
  // full, but these buckets, and the table takes other keys.
  if (CopiesInBucket(entry.bucket, entry.fingerprint) + CopiesInBucket(other, entry.fingerprint) ==
      static_cast<int>(2 * kSlotsPerBucket)) {
    return absl::ResourceExhaustedError("CuckooFilter: too many copies of one key");
  }
  if (victim_.has_value()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("CuckooFilter: full with ", num_keys_, " keys; it was made for ", capacity_));
  }
  // From here on the key is in. A random walk (Fan et al., section 3.1): the key takes a slot, the
  // one that had it goes to its other bucket, takes a slot there, and so on. Whoever is on the way
  // at the end is the victim; usually not the key that was added.
  ++num_keys_;
  // The generator is a 64-bit LCG (Knuth's MMIX), whose high bits alone are good: bit 63 chooses
  // the bucket, bits 62 and 63 the slot. Its state is saved with the filter, so that a filter that
  // was read goes on as the original would.
  Entry moving = {entry.fingerprint, (random_ >> 63) != 0 ? entry.bucket : other};
  for (int i = 0; i < kMaxMoves; ++i) {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    const uint64_t slot = random_ >> 62;
    const uint32_t displaced = LoadSlot(moving.bucket, slot);
    StoreSlot(moving.bucket, slot, moving.fingerprint);
    // Invariant of the walk: the table and `moving` together hold what the table held before, and
    // the new key. So it may stop at any step without losing anything.
    moving = {displaced, OtherBucket({displaced, moving.bucket})};
    if (ReplaceInBucket(moving.bucket, 0, moving.fingerprint)) return absl::OkStatus();
  }
  victim_ = moving;
  return absl::OkStatus();
}

bool CuckooFilter::RemoveHash(uint64_t key_hash) {
  // Which copy goes does not matter: fingerprints that share both buckets cannot be distinguished.
  // The victim first, as that frees the table for additions.
  const Entry entry = EntryOf(key_hash);
  const bool was_victim = victim_.has_value() && IsSameKey(*victim_, entry);
  if (was_victim) {
    victim_.reset();
  } else if (!ReplaceInBucket(entry.bucket, entry.fingerprint, 0) &&
             !ReplaceInBucket(OtherBucket(entry), entry.fingerprint, 0)) {
    return false;
  }
  --num_keys_;
  PlaceVictim();
  return true;
}

void CuckooFilter::PlaceVictim() {
  if (!victim_.has_value()) return;
  // AddEntry either finds it a place, or makes a victim again, perhaps another one. It refuses only
  // where eight copies are in the way, and then changes nothing.
  const Entry entry = *victim_;
  victim_.reset();
  --num_keys_;
  if (AddEntry(entry).ok()) return;
  victim_ = entry;
  ++num_keys_;
}

bool CuckooFilter::ContainsHash(uint64_t key_hash) const {
  const Entry entry = EntryOf(key_hash);
  return CopiesInBucket(entry.bucket, entry.fingerprint) +
                 CopiesInBucket(OtherBucket(entry), entry.fingerprint) !=
             0 ||
         (victim_.has_value() && IsSameKey(*victim_, entry));
}

void CuckooFilter::Clear() {
  std::fill_n(table_.get(), TableBytes(num_buckets_, fingerprint_bits_), uint8_t{0});
  num_keys_ = 0;
  victim_.reset();
}

double CuckooFilter::ExpectedFpr() const {
  // No fingerprint is 0, so that 2^f - 1 values are left to match by chance.
  const double num_fingerprints = std::exp2(fingerprint_bits_) - 1;
  // expm1 and log1p keep the digits of small rates.
  // The two buckets of one in num_buckets_ keys are the same one.
  const double slots_compared = 8 - 4 / static_cast<double>(num_buckets_);
  return -std::expm1(slots_compared * load() * std::log1p(-1 / num_fingerprints));
}

absl::Status CuckooFilter::Union(const CuckooFilter& other) {
  if (&other == this) {
    return absl::InvalidArgumentError("CuckooFilter: a filter cannot be united with itself");
  }
  if (num_buckets_ != other.num_buckets_ || fingerprint_bits_ != other.fingerprint_bits_ ||
      hash_seed_ != other.hash_seed_) {
    return absl::InvalidArgumentError(
        "CuckooFilter: only filters of the same capacity, rate and hash seed can be united");
  }
  absl::StatusOr<std::unique_ptr<uint8_t[]>> table = AllocateTable(num_buckets_, fingerprint_bits_);
  if (!table.ok()) return table.status();
  // Into a copy, as some key may find no room when others have been moved already: this filter
  // stays as it was then.
  CuckooFilter united(*std::move(table), num_buckets_, fingerprint_bits_, capacity_, fpr_,
                      hash_seed_);
  std::memcpy(united.table_.get(), table_.get(), TableBytes(num_buckets_, fingerprint_bits_));
  united.num_keys_ = num_keys_;
  united.victim_ = victim_;
  united.random_ = random_;
  // O(buckets), but close to full each addition may walk up to kMaxMoves steps.
  absl::Status status;
  for (uint64_t bucket = 0; bucket < num_buckets_ && status.ok(); ++bucket) {
    for (uint64_t slot = 0; slot < kSlotsPerBucket && status.ok(); ++slot) {
      // Where it lies is one of its two buckets: enough to add it, without its key.
      const uint32_t fingerprint = other.LoadSlot(bucket, slot);
      if (fingerprint != 0) status = united.AddEntry({fingerprint, bucket});
    }
  }
  if (status.ok() && other.victim_.has_value()) status = united.AddEntry(*other.victim_);
  // Both the table and its victim change hands here or not at all.
  if (status.ok()) *this = std::move(united);
  return status;
}

uint64_t CuckooFilter::memory_bytes() const {
  return TableBytes(num_buckets_, fingerprint_bits_) + kSlackBytes;
}

std::string CuckooFilter::Serialize() const {
  internal::SavedHeader header;
  header.kind = SavedFilterKind::kCuckoo;
  header.parameter = static_cast<uint8_t>(fingerprint_bits_);
  header.option = victim_.has_value() ? 1 : 0;
  header.hash_seed = hash_seed_;
  header.capacity = capacity_;
  header.fpr = fpr_;
  header.num_slots = num_buckets_;
  header.num_keys = num_keys_;
  if (victim_.has_value()) {
    header.detail[0] = victim_->fingerprint;
    header.detail[1] = victim_->bucket;
  }
  header.detail[2] = random_;
  const uint64_t bytes = TableBytes(num_buckets_, fingerprint_bits_);
  internal::SavedFilterWriter writer(header, bytes);
  writer.Append(std::string_view(reinterpret_cast<const char*>(table_.get()), bytes));
  return std::move(writer).Finish();
}

absl::StatusOr<CuckooFilter> CuckooFilter::Deserialize(std::string_view bytes) {
  const absl::StatusOr<internal::SavedFilter> saved =
      internal::ParseSavedFilter(bytes, SavedFilterKind::kCuckoo);
  if (!saved.ok()) return saved.status();
  const internal::SavedHeader& header = saved->header;
  const int fingerprint_bits = header.parameter;
  // A bucket takes at least two bytes; the first comparison keeps the second's product from
  // wrapping.
  if (fingerprint_bits < kMinFingerprintBits || fingerprint_bits > kMaxFingerprintBits ||
      header.num_slots == 0 || header.num_slots > saved->payload.size() ||
      TableBytes(header.num_slots, fingerprint_bits) != saved->payload.size() ||
      header.option > 1 ||
      !internal::CheckCapacityAndFpr("", header.capacity, header.fpr, kMinFpr).ok()) {
    return internal::InconsistentFields(*saved);
  }
  absl::StatusOr<std::unique_ptr<uint8_t[]>> table =
      AllocateTable(header.num_slots, fingerprint_bits);
  if (!table.ok()) return table.status();
  std::memcpy(table->get(), saved->payload.data(), saved->payload.size());
  CuckooFilter filter(*std::move(table), header.num_slots, fingerprint_bits, header.capacity,
                      header.fpr, header.hash_seed);
  // A victim must be one that a filter of this shape can have.
  if (header.option == 1) {
    if (header.detail[0] == 0 || header.detail[0] >> fingerprint_bits != 0 ||
        header.detail[1] >= header.num_slots) {
      return internal::InconsistentFields(*saved);
    }
    filter.victim_ = Entry{static_cast<uint32_t>(header.detail[0]), header.detail[1]};
  }
  filter.random_ = header.detail[2];
  // Counted, not believed.
  filter.num_keys_ = header.option;
  for (uint64_t bucket = 0; bucket < header.num_slots; ++bucket) {
    filter.num_keys_ += kSlotsPerBucket - static_cast<uint64_t>(filter.CopiesInBucket(bucket, 0));
  }
  if (filter.num_keys_ != header.num_keys) return internal::InconsistentFields(*saved);
  return filter;
}

}  // namespace winnow::filter
