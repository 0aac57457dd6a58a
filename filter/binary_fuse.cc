#include "filter/binary_fuse.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "absl/base/attributes.h"
#include "filter/build_memory.h"

namespace winnow::filter::internal {
namespace {

constexpr uint64_t kArity = 4;
constexpr int kMostFingerprintBits = 32;
constexpr int kMostSegmentShift = 18;
// A probe loads eight bytes at the byte where a slot begins: the last slot's load ends here.
constexpr uint64_t kSlackBytes = 8;
// Larger filters are cut into shards of about so many keys.
constexpr uint64_t kKeysOfShard = 1'000'000;
// Slots for each key in a large filter, with the rounding to whole segments.
constexpr double kLargeFilterSlots = 1.08;

// The slots of one shard: segments of 2^segment_shift slots.
struct Shape {
  int segment_shift;
  uint64_t num_slots;

  // The segments in which a key's first slot may lie.
  uint64_t StartSlots() const { return num_slots - ((kArity - 1) << segment_shift); }
};

// The paper's section 4 gives both formulas for arity 4, found by experiment. Few keys need more
// room for chance than they say, and so do the later attempts.
Shape ShapeFor(uint64_t max_keys, int attempt) {
  const double keys = std::max(2.0, static_cast<double>(max_keys));
  Shape shape;
  shape.segment_shift = std::clamp(
      static_cast<int>(std::floor(std::log(keys) / std::log(2.91) - 0.5)), 2, kMostSegmentShift);
  const double slots_per_key =
      std::max(1.075, 0.77 + 0.305 * std::log(600'000.0) / std::log(std::max(keys, 64.0)));
  const double growth = 1 + 0.02 * std::max(0, attempt - 2);
  const auto wanted = static_cast<uint64_t>(std::ceil(keys * slots_per_key * growth));
  const uint64_t segment = uint64_t{1} << shape.segment_shift;
  const uint64_t num_segments = std::max(kArity, (wanted + segment - 1) / segment);
  shape.num_slots = num_segments * segment;
  return shape;
}

// Calls visit(index, slot) for the key's four slots in its shard. The first
// slot is chosen by the high bits of the hash, so that sorted hashes have neighbouring slots; the
// others lie one segment further each, at a place in it that remixed bits choose. (Calls rather
// than an array: its elements would be written one by one and read in pairs, which stalls.)
template <typename Visitor>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void VisitSlots(uint64_t hash, uint64_t num_shards,
                                                    const Shape& shape, Visitor visit) {
  // What choosing the shard left of the hash.
  const uint64_t rest = hash * num_shards;
  const uint64_t first = MultiplyHigh(rest, shape.StartSlots());
  const uint64_t segment = uint64_t{1} << shape.segment_shift;
  const uint64_t mask = segment - 1;
  const uint64_t mixed = hash * 0xd6e8feb86659fd93;
  visit(uint8_t{0}, first);
  visit(uint8_t{1}, (first + segment) ^ ((mixed >> 46) & mask));
  visit(uint8_t{2}, (first + 2 * segment) ^ ((mixed >> 28) & mask));
  visit(uint8_t{3}, (first + 3 * segment) ^ ((mixed >> 10) & mask));
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t Fingerprint(uint64_t hash) {
  return ((hash ^ (hash >> 32)) * 0x9fb21c651e98df25) >> 32;
}

uint64_t Mask(int fingerprint_bits) { return (uint64_t{1} << fingerprint_bits) - 1; }

// The slot that begins with `bit`, with foreign bits above it.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t LoadBits(const uint8_t* payload, uint64_t bit) {
  uint64_t word;
  std::memcpy(&word, payload + (bit >> 3), sizeof(word));
  return word >> (bit & 7);
}

uint64_t PayloadBytes(uint64_t num_slots, int fingerprint_bits) {
  return (num_slots * static_cast<uint64_t>(fingerprint_bits) + 7) / 8 + kSlackBytes;
}

// One shard while it is built; memory is kept from shard to shard.
class ShardBuilder {
 public:
  ShardBuilder(const Shape& shape, const ShardedHashes& shards, uint64_t salt)
      : shape_(shape), num_shards_(shards.size()), salt_(salt) {
    keys_.reserve(shards.LargestShard());
    own_slots_.reserve(shards.LargestShard());
    slots_.reserve(shape.num_slots);
    // A slot is single once.
    singles_.reserve(shape.num_slots);
  }

  // Finds for each key a slot of its own, such that the keys can be given their fingerprints one
  // after the other. False if there is no such order: always with duplicates, else rarely.
  bool Peel(const HashList& shard) {
    LoadByFirstSlot(shard);
    if (!CountKeysOfSlots()) return false;
    CollectSingles();
    num_peeled_ = 0;
    while (!singles_.empty()) {
      const uint32_t slot = singles_.back();
      singles_.pop_back();
      if (slots_[slot].degree >> 2 != 1) continue;
      PeelKeyOf(slot);
    }
    return num_peeled_ == keys_.size();
  }

  // Gives the keys their fingerprints, in the opposite order; slots from `first_slot` on are zero.
  void Assign(uint64_t first_slot, int fingerprint_bits, uint8_t* payload) const {
    const auto width = static_cast<uint64_t>(fingerprint_bits);
    for (uint64_t i = keys_.size(); i-- > 0;) {
      const uint64_t hash = keys_[i];
      // The key's own slot is still zero.
      uint64_t value = Fingerprint(hash);
      uint64_t own_slot = 0;
      VisitSlots(hash, num_shards_, shape_, [&](uint8_t index, uint64_t slot) {
        value ^= LoadBits(payload, (first_slot + slot) * width);
        own_slot = index == own_slots_[i] ? slot : own_slot;
      });
      const uint64_t bit = (first_slot + own_slot) * width;
      uint64_t word;
      std::memcpy(&word, payload + (bit >> 3), sizeof(word));
      word |= (value & Mask(fingerprint_bits)) << (bit & 7);
      std::memcpy(payload + (bit >> 3), &word, sizeof(word));
    }
  }

  uint64_t memory_bytes() const {
    return keys_.capacity() * sizeof(keys_[0]) + own_slots_.capacity() * sizeof(own_slots_[0]) +
           slots_.capacity() * sizeof(slots_[0]) + singles_.capacity() * sizeof(singles_[0]);
  }

 private:
  struct __attribute__((packed)) Slot {
    uint64_t keys;   // exclusive or of all keys not yet peeled
    uint8_t degree;  // four times their number, and the exclusive or of which of their slots it is
  };

  // The keys, remixed, about in the order of their first slots: what follows then walks through
  // memory instead of jumping.
  void LoadByFirstSlot(const HashList& shard) {
    constexpr uint64_t kGroups = 512;
    const auto group_of = [&](uint64_t hash) {
      const auto rest = static_cast<uint64_t>(static_cast<unsigned __int128>(hash) * num_shards_);
      return MultiplyHigh(rest, kGroups);
    };
    std::array<uint32_t, kGroups + 1> positions{};
    shard.ForEachRun([&](const uint64_t* run, size_t count) {
      for (size_t i = 0; i < count; ++i) ++positions[group_of(Remix(run[i], salt_)) + 1];
    });
    for (uint64_t group = 1; group <= kGroups; ++group) positions[group] += positions[group - 1];
    keys_.resize(shard.size());
    own_slots_.resize(shard.size());
    shard.ForEachRun([&](const uint64_t* run, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        const uint64_t hash = Remix(run[i], salt_);
        keys_[positions[group_of(hash)]++] = hash;
      }
    });
  }

  // False if some slot has more keys than the count holds, which chance does not do.
  bool CountKeysOfSlots() {
    slots_.assign(shape_.num_slots, Slot{0, 0});
    uint8_t overflow = 0;
    for (const uint64_t hash : keys_) {
      VisitSlots(hash, num_shards_, shape_, [&](uint8_t index, uint64_t position) {
        Slot& slot = slots_[position];
        slot.keys ^= hash;
        slot.degree = static_cast<uint8_t>((slot.degree + 4) ^ index);
        overflow |= static_cast<uint8_t>(slot.degree < 4);
      });
    }
    return overflow == 0;
  }

  void CollectSingles() {
    singles_.clear();
    for (uint64_t slot = 0; slot < slots_.size(); ++slot) {
      if (slots_[slot].degree >> 2 == 1) singles_.push_back(static_cast<uint32_t>(slot));
    }
  }

  void PeelKeyOf(uint32_t own_slot) {
    const uint64_t hash = slots_[own_slot].keys;
    const uint8_t own_index = slots_[own_slot].degree & 3;
    // The keys are no longer needed in their first order: peeled ones take their memory.
    keys_[num_peeled_] = hash;
    own_slots_[num_peeled_] = own_index;
    ++num_peeled_;
    VisitSlots(hash, num_shards_, shape_, [&](uint8_t index, uint64_t position) {
      Slot& slot = slots_[position];
      slot.keys ^= hash;
      slot.degree = static_cast<uint8_t>((slot.degree - 4) ^ index);
      if (slot.degree >> 2 == 1) singles_.push_back(static_cast<uint32_t>(position));
    });
  }

  const Shape shape_;
  const uint64_t num_shards_;
  const uint64_t salt_;
  BuildVector<uint64_t> keys_;
  BuildVector<uint8_t> own_slots_;  // of keys_, which of its slots
  BuildVector<Slot> slots_;
  BuildVector<uint32_t> singles_;
  uint64_t num_peeled_ = 0;
};

// The width for a rate, or else the largest whose table keeps to the bits per key, give or take 64
// bytes: so much padding a block may have anyway, and small filters need it.
int FingerprintBits(double bits_per_key, double fpr, double num_keys, double num_slots) {
  int bits;
  if (fpr != 0) {
    bits = static_cast<int>(std::ceil(-std::log2(fpr) - 1e-9));
  } else {
    const double allowed = num_keys * bits_per_key * 1.002 + 512;
    bits = static_cast<int>(std::min(allowed / num_slots, bits_per_key / kLargeFilterSlots + 1e-9));
  }
  return std::clamp(bits, 1, kMostFingerprintBits);
}

// One try with the hashes as they are.
bool TryBuild(const BuildRequest& request, HashList* hashes, BuildResult* result) {
  const uint64_t num_hashes = hashes->size();
  UnitHeader header;
  header.kind = static_cast<uint8_t>(FilterKind::kBinaryFuse);
  header.num_keys = num_hashes;
  header.hash_seed = request.hash_seed;
  header.salt = static_cast<uint64_t>(request.attempt) * 0x9e3779b97f4a7c15;
  header.num_shards =
      ShardCount(static_cast<double>(num_hashes), request.bits_per_key, request.max_shard_bits);

  ShardedHashes shards(hashes, header.num_shards, header.salt);
  if (!shards.IsBalanced()) return false;
  const Shape shape = ShapeFor(shards.LargestShard(), request.attempt);
  const uint64_t num_slots = shape.num_slots * header.num_shards;
  const int fingerprint_bits =
      FingerprintBits(request.bits_per_key, request.fpr, static_cast<double>(num_hashes),
                      static_cast<double>(num_slots));
  header.parameter = static_cast<uint8_t>(fingerprint_bits);
  header.slots_per_shard = shape.num_slots;
  header.detail = static_cast<uint64_t>(shape.segment_shift);
  header.payload_bytes = PayloadBytes(num_slots, fingerprint_bits);

  result->block = MakeUnsealedBlock(header.payload_bytes);
  ShardBuilder builder(shape, shards, header.salt);
  for (uint64_t shard = 0; shard < header.num_shards; ++shard) {
    const bool is_peeled = builder.Peel(shards[shard]);
    result->temporary_bytes = std::max(result->temporary_bytes, builder.memory_bytes());
    if (!is_peeled) return false;
    builder.Assign(shard * shape.num_slots, fingerprint_bits, PayloadOf(&result->block));
  }
  SealBlock(header, &result->block);
  result->num_keys = num_hashes;
  result->expected_fpr = std::exp2(-fingerprint_bits);
  return true;
}

bool Build(const BuildRequest& request, HashList* hashes, BuildResult* result) {
  if (TryBuild(request, hashes, result)) return true;
  // Duplicates never peel. They are rare, since neighbouring ones were never added: looked for only
  // now.
  result->block.clear();
  return RemoveDuplicates(kKeysOfShard, hashes, &result->temporary_bytes) &&
         TryBuild(request, hashes, result);
}

bool IsConsistent(const UnitHeader& header) {
  if (header.parameter < 1 || header.parameter > kMostFingerprintBits || header.num_shards == 0 ||
      header.num_keys == 0 || header.detail > kMostSegmentShift) {
    return false;
  }
  // Each slot takes at least one bit: past this comparison no product below can wrap.
  if (header.slots_per_shard > header.payload_bytes * 8 / header.num_shards) return false;
  const uint64_t segment = uint64_t{1} << header.detail;
  const uint64_t num_slots = header.slots_per_shard * header.num_shards;
  return header.slots_per_shard % segment == 0 && header.slots_per_shard >= kArity * segment &&
         header.num_keys <= num_slots &&
         header.payload_bytes == PayloadBytes(num_slots, header.parameter);
}

Shape ShapeOf(const UnitView& unit) {
  return {static_cast<int>(unit.detail), unit.slots_per_shard};
}

// Calls visit(bit) for the first bits of the key's slots in the payload, and returns what the
// slots' contents must make together.
template <typename Visitor>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t VisitBits(const UnitView& unit, uint64_t key_hash,
                                                       Visitor visit) {
  const uint64_t hash = Remix(key_hash, unit.salt);
  const uint64_t shard = MultiplyHigh(hash, unit.num_shards);
  const uint64_t shard_begin = shard * unit.slots_per_shard;
  VisitSlots(hash, unit.num_shards, ShapeOf(unit), [&](uint8_t index, uint64_t slot) {
    visit(index, (shard_begin + slot) * unit.parameter);
  });
  return Fingerprint(hash);
}

bool MayContain(const UnitView& unit, uint64_t key_hash) {
  uint64_t found = 0;
  const uint64_t wanted = VisitBits(
      unit, key_hash, [&](uint8_t, uint64_t bit) { found ^= LoadBits(unit.payload, bit); });
  return ((found ^ wanted) & Mask(unit.parameter)) == 0;
}

void Prefetch(const UnitView& unit, uint64_t key_hash) {
  VisitBits(unit, key_hash,
            [&](uint8_t, uint64_t bit) { __builtin_prefetch(unit.payload + bit / 8); });
}

void MayContainBatch(const UnitView& unit, const uint64_t* key_hashes, size_t count,
                     uint8_t* may_contain) {
  struct Probe {
    std::array<uint64_t, kArity> bits;
    uint64_t fingerprint;
  };
  std::array<Probe, kMostBatched> probes;
  for (size_t i = 0; i < count; ++i) {
    probes[i].fingerprint = VisitBits(unit, key_hashes[i], [&](uint8_t index, uint64_t bit) {
      probes[i].bits[index] = bit;
      __builtin_prefetch(unit.payload + bit / 8);
    });
  }
  const uint64_t mask = Mask(unit.parameter);
  for (size_t i = 0; i < count; ++i) {
    uint64_t difference = probes[i].fingerprint;
    for (const uint64_t bit : probes[i].bits) difference ^= LoadBits(unit.payload, bit);
    may_contain[i] = (difference & mask) == 0 ? 1 : 0;
  }
}

UnitDescription Describe(const Unit& unit) {
  UnitDescription description;
  description.fingerprint_bits = unit.header.parameter;
  description.fill = static_cast<double>(unit.header.num_keys) /
                     static_cast<double>(unit.header.slots_per_shard * unit.header.num_shards);
  description.expected_fpr = std::exp2(-unit.header.parameter);
  return description;
}

double ExpectedFprAt(double bits_per_key, uint64_t num_keys) {
  if (num_keys == 0) return 0;
  const auto keys = static_cast<double>(num_keys);
  const Shape shape = ShapeFor(std::min(num_keys, kKeysOfShard), 0);
  const double shards = std::max(1.0, keys / static_cast<double>(kKeysOfShard));
  return std::exp2(
      -FingerprintBits(bits_per_key, 0, keys, static_cast<double>(shape.num_slots) * shards));
}

double BitsForFpr(double fpr) { return FingerprintBits(0, fpr, 0, 0) * kLargeFilterSlots; }

}  // namespace

const KindOperations kBinaryFuseOperations = {
    .kind = FilterKind::kBinaryFuse,
    .name = "binary_fuse",
    .version = 1,
    .bits_per_key = {2, 34.6},
    .verify_by_default = true,
    .bits_per_key_for_fpr = &BitsForFpr,
    .expected_fpr = &ExpectedFprAt,
    .build = &Build,
    .is_consistent = &IsConsistent,
    .may_contain = &MayContain,
    .prefetch = &Prefetch,
    .may_contain_batch = &MayContainBatch,
    .describe = &Describe,
};

}  // namespace winnow::filter::internal
