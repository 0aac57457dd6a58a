#include "filter/kinds/fuse/binary_fuse.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/base/attributes.h"
#include "filter/kinds/fuse/fuse_peeling.h"
#include "filter/kinds/fuse/fuse_slots.h"
#include "filter/kinds/queries_by_width.h"
#include "winnow/filter/internal/fetch_line.h"

namespace winnow::filter::internal {
namespace {

// A unit's payload is the slots of all shards, packed without gaps, and slack behind them:
//
//   | shard 0: slot 0, slot 1, ... | shard 1 | ... | last shard | 8 bytes |
//
// A shard is a row of segments of 2^detail slots. A key's four slots lie in four segments that
// follow each other; which is the first, and the place in each, come from its hash:
//
//   segment   0     1     2     3     4     5
//           |     |  a  |  b  |  c  |  d  |     |     a ^ b ^ c ^ d = the key's fingerprint
//
// Neighbouring segments rather than any four: what a key touches while the filter is built lies
// closer together, and peeling succeeds at a higher load, since it starts at both ends of the row,
// where slots have fewer keys, and works its way inwards (Walzer, "Peeling Close to the
// Orientability Threshold", SODA 2021).

constexpr int kMaxFingerprintBits = 32;
constexpr int kMaxSegmentShift = 18;
// A probe loads eight bytes at the byte where a slot begins: the last slot's load ends here.
constexpr uint64_t kSlackBytes = 8;
// Larger filters are cut into shards of about so many keys.
constexpr uint64_t kKeysOfShard = 1'000'000;
// Slots for each key in a large filter, with the rounding to whole segments.
constexpr double kLargeFilterSlots = 1.08;

// The paper's section 4 gives both formulas for arity 4, found by experiment. Few keys need more
// room for chance than they say, and so do the later attempts.
FuseShape ShapeFor(uint64_t max_keys, int attempt) {
  const double keys = std::max(2.0, static_cast<double>(max_keys));
  FuseShape shape;
  shape.segment_shift = std::clamp(
      static_cast<int>(std::floor(std::log(keys) / std::log(2.91) - 0.5)), 2, kMaxSegmentShift);
  const double slots_per_key =
      std::max(1.075, 0.77 + 0.305 * std::log(600'000.0) / std::log(std::max(keys, 64.0)));
  const double growth = 1 + 0.02 * std::max(0, attempt - 2);
  const auto wanted = static_cast<uint64_t>(std::ceil(keys * slots_per_key * growth));
  const uint64_t segment = uint64_t{1} << shape.segment_shift;
  const uint64_t num_segments = std::max(kFuseArity, (wanted + segment - 1) / segment);
  shape.num_slots = num_segments * segment;
  return shape;
}

uint64_t PayloadBytes(uint64_t num_slots, int fingerprint_bits) {
  return (num_slots * static_cast<uint64_t>(fingerprint_bits) + 7) / 8 + kSlackBytes;
}

// The width for a rate, or else the largest whose table keeps to the bits per key, give or take 64
// bytes: so much padding a block may have anyway, and small filters need it. An absent key's four
// slots make an arbitrary sum, which is its fingerprint with a chance of 2^-bits: a rate is rounded
// up to a whole bit, an amount of bits down to one.
int FingerprintBits(double bits_per_key, double fpr, double num_keys, double num_slots) {
  int bits;
  if (fpr != 0) {
    bits = static_cast<int>(std::ceil(-std::log2(fpr) - 1e-9));
  } else {
    const double allowed = num_keys * bits_per_key * 1.002 + 512;
    bits = static_cast<int>(std::min(allowed / num_slots, bits_per_key / kLargeFilterSlots + 1e-9));
  }
  return std::clamp(bits, 1, kMaxFingerprintBits);
}

// One try with the hashes as they are: false if a shard cannot be peeled. Attempt 0 has salt 0,
// under which Remix is the identity; each further one spreads the keys anew, so that tries fail
// independently of each other.
bool TryBuild(const BuildRequest& request, HashList* hashes, BuildResult* result) {
  const uint64_t num_hashes = hashes->size();
  UnitHeader header;
  header.kind = static_cast<uint8_t>(FilterKind::kBinaryFuse);
  header.num_keys = num_hashes;
  header.hash_seed = request.hash_seed;
  header.salt = SaltOfAttempt(request);
  header.num_shards = LargeShardCount(num_hashes, request.bits_per_key, request.max_shard_bits);

  ShardedHashes shards(hashes, header.num_shards, header.salt);
  if (!shards.IsBalanced()) return false;
  const FuseShape shape = ShapeFor(shards.LargestShard(), request.attempt);
  const uint64_t num_slots = shape.num_slots * header.num_shards;
  const int fingerprint_bits =
      FingerprintBits(request.bits_per_key, request.fpr, static_cast<double>(num_hashes),
                      static_cast<double>(num_slots));
  header.parameter = static_cast<uint8_t>(fingerprint_bits);
  header.slots_per_shard = shape.num_slots;
  header.detail = static_cast<uint64_t>(shape.segment_shift);
  header.payload_bytes = PayloadBytes(num_slots, fingerprint_bits);

  result->block = MakeUnsealedBlock(header.payload_bytes);
  // All shards have the shape of the largest, so that a query finds its shard by a multiplication.
  FusePeeling peeling(shape, shards.LargestShard(), header.num_shards, header.salt);
  result->temporary_bytes = std::max(result->temporary_bytes, peeling.memory_bytes());
  for (uint64_t shard = 0; shard < header.num_shards; ++shard) {
    if (!peeling.Peel(shards[shard])) return false;
    peeling.Assign(shard * shape.num_slots, fingerprint_bits, PayloadOf(&result->block));
  }
  SealBlock(header, &result->block);
  result->num_keys = num_hashes;
  result->expected_fpr = std::exp2(-fingerprint_bits);
  return true;
}

bool Build(const BuildRequest& request, HashList* hashes, BuildResult* result) {
  if (TryBuild(request, hashes, result)) return true;
  // Duplicates never peel: they share all four slots, none of which ever has a single key. They are
  // rare, since neighbouring ones were never added, so that they are looked for only now.
  result->block.clear();
  return RemoveDuplicates(kKeysOfShard, hashes, &result->temporary_bytes) &&
         TryBuild(request, hashes, result);
}

bool IsConsistent(const UnitHeader& header) {
  if (header.parameter < 1 || header.parameter > kMaxFingerprintBits || header.num_shards == 0 ||
      header.num_keys == 0 || header.detail > kMaxSegmentShift) {
    return false;
  }
  // Each slot takes at least one bit: past this comparison no product below can wrap.
  if (header.slots_per_shard > header.payload_bytes * 8 / header.num_shards) return false;
  const uint64_t segment = uint64_t{1} << header.detail;
  const uint64_t num_slots = header.slots_per_shard * header.num_shards;
  // Whole segments, four at least, keep every place that VisitFuseSlots computes inside the shard:
  // the first slot lies three segments before its end, and no exclusive or below a segment's size
  // leaves a segment.
  return header.slots_per_shard % segment == 0 && header.slots_per_shard >= kFuseArity * segment &&
         header.num_keys <= num_slots &&
         header.payload_bytes == PayloadBytes(num_slots, header.parameter);
}

// What VisitFuseSlots wants of a shard, which is the same for every query.
void Prepare(UnitView* unit) {
  const FusePlaces places =
      FuseShape{static_cast<int>(unit->detail), unit->slots_per_shard}.Places();
  unit->prepared = {places.start_slots, places.segment_mask};
}

// Calls visit(index, slot) for the key's slots, counted over all shards, and returns what their
// contents must make together.
template <typename Visitor>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t VisitSlots(const UnitView& unit, uint64_t key_hash,
                                                        Visitor visit) {
  // One product gives both: its high half is the shard, its low half what the hash says beyond
  // that, the place in the shard. Building splits the keys by the same product
  // (HashList::SplitByShard).
  const uint64_t hash = Remix(key_hash, unit.salt);
  const auto product = static_cast<unsigned __int128>(hash) * unit.num_shards;
  const uint64_t shard_begin = static_cast<uint64_t>(product >> 64) * unit.slots_per_shard;
  VisitFuseSlots(hash, static_cast<uint64_t>(product), {unit.prepared[0], unit.prepared[1]},
                 [&](uint8_t index, uint64_t slot) { visit(index, shard_begin + slot); });
  return FuseFingerprint(hash);
}

template <typename Contents>
struct QueriesOfContents {
  static bool MayContain(const UnitView& unit, uint64_t key_hash) {
    // The loads do not wait for each other, and no branch lies between them: an absent key needs
    // all four. Load leaves foreign bits above the slot's own, which IsZero cuts off once, behind
    // the sum.
    uint64_t found = 0;
    const uint64_t wanted = VisitSlots(unit, key_hash, [&](uint8_t, uint64_t slot) {
      found ^= Contents::Load(unit.payload, slot, unit.parameter);
    });
    return Contents::IsZero(found ^ wanted, unit.parameter);
  }

  static void MayContainBatch(const UnitView& unit, const uint64_t* key_hashes, size_t count,
                              uint8_t* may_contain) {
    struct Probe {
      std::array<uint64_t, kFuseArity> slots;
      uint64_t fingerprint;
    };
    // Two passes: the lines of all keys are under way before any slot is read.
    std::array<Probe, kMaxBatch> probes;
    for (size_t i = 0; i < count; ++i) {
      probes[i].fingerprint = VisitSlots(unit, key_hashes[i], [&](uint8_t index, uint64_t slot) {
        probes[i].slots[index] = slot;
        const uint8_t* const place = Contents::Place(unit.payload, slot, unit.parameter);
        FetchLine(place);
        if (Contents::kIsOftenOnTwoLines) FetchLine(place + Contents::kLoadedBytes - 1);
      });
    }
    for (size_t i = 0; i < count; ++i) {
      uint64_t difference = probes[i].fingerprint;
      for (const uint64_t slot : probes[i].slots) {
        difference ^= Contents::Load(unit.payload, slot, unit.parameter);
      }
      may_contain[i] = Contents::IsZero(difference, unit.parameter) ? 1 : 0;
    }
  }
};

// The usual widths have functions of their own.
template <int kWidth>
using QueriesOfWidth = QueriesOfContents<FuseContents<(kWidth >= 4 && kWidth <= 16) ? kWidth : 0>>;
using Queries = QueriesByWidth<QueriesOfWidth, kMaxFingerprintBits>;

void Prefetch(const UnitView& unit, uint64_t key_hash) {
  VisitSlots(unit, key_hash, [&](uint8_t, uint64_t slot) {
    FetchLine(FuseContents<0>::Place(unit.payload, slot, unit.parameter));
  });
}

UnitDescription Describe(const Unit& unit) {
  UnitDescription description;
  description.fingerprint_bits = unit.header.parameter;
  description.fill = static_cast<double>(unit.header.num_keys) /
                     static_cast<double>(unit.header.slots_per_shard * unit.header.num_shards);
  description.expected_fpr = std::exp2(-unit.header.parameter);
  return description;
}

// As Build sizes it: what a shard has in excess for chance is taken from the width of the slots.
double ExpectedFprAt(double bits_per_key, uint64_t num_keys) {
  if (num_keys == 0) return 0;
  const auto keys = static_cast<double>(num_keys);
  const FuseShape shape = ShapeFor(std::min(num_keys, kKeysOfShard), 0);
  const double shards = std::max(1.0, keys / static_cast<double>(kKeysOfShard));
  return std::exp2(
      -FingerprintBits(bits_per_key, 0, keys, static_cast<double>(shape.num_slots) * shards));
}

double BitsForFpr(double fpr) { return FingerprintBits(0, fpr, 0, 0) * kLargeFilterSlots; }

}  // namespace

constinit const KindOperations kBinaryFuseOperations = {
    .kind = FilterKind::kBinaryFuse,
    .name = "binary_fuse",
    .version = 1,
    .bits_per_key = {2, 34.6},
    .verify_by_default = true,
    .bits_per_key_for_fpr = &BitsForFpr,
    .expected_fpr = &ExpectedFprAt,
    .build = &Build,
    .is_consistent = &IsConsistent,
    .prepare = &Prepare,
    .may_contain = &Queries::MayContain,
    .may_contain_of = &Queries::MayContainOf,
    .prefetch = &Prefetch,
    .may_contain_batch = &Queries::MayContainBatch,
    .describe = &Describe,
};

}  // namespace winnow::filter::internal
