// What is special to ribbon: layers, bumping, fractions of a bit, shards of a core's cache.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "filter/format/block_format.h"
#include "filter/kinds/ribbon/ribbon_layer.h"
#include "filter/kinds/ribbon/ribbon_shape.h"
#include "tests/filter/filter_fixture.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter {
namespace {

// Bits of payload per key over log2(1 / rate), which no filter can be below.
double SpaceOverBound(const BuiltFilter& built) {
  uint64_t payload_bytes;
  std::memcpy(&payload_bytes, built.block.data() + 64 + 8, sizeof(payload_bytes));
  const double bits = static_cast<double>(payload_bytes) * 8;
  return bits / static_cast<double>(built.num_keys) / -std::log2(built.expected_fpr);
}

TEST(RibbonTest, WholeColumnsTakeOnePercentMoreThanTheBound) {
  for (const uint64_t keys : {100'000, 300'000, 1'000'000}) {
    for (const char* spec : {"ribbon:0.78125%", "ribbon:0.09765625%", "ribbon:0.0030517578125%"}) {
      EXPECT_LE(SpaceOverBound(BuildFrom(spec, MemberHashes(1, keys))), 1.01)
          << spec << " of " << keys;
    }
  }
}

// A ternary column is there for this: of 6 and 7 binary ones a mixture for 1 % takes 6.72 bits
// alone, where the bound is 6.64.
TEST(RibbonTest, RatesBetweenTwoPowersOfTwoTakeOnePercentMoreThanTheBound) {
  const std::vector<uint64_t> hashes = MemberHashes(1, 1'000'000);
  const BuiltFilter built = BuildFrom("ribbon:1%", hashes);
  EXPECT_LE(static_cast<double>(built.block.size()) * 8 / 1'000'000, 6.71);
  EXPECT_LE(built.expected_fpr, 0.01);
  const FilterReader reader = OpenSound(built.block);
  EXPECT_EQ(CountFound(reader, hashes), hashes.size());
  // Four standard deviations.
  EXPECT_LE(CountFalsePositives(reader, 1, 1'000'000), 10'400u);
}

// From three quarters of a million keys on filters have a ternary column where it saves something;
// smaller ones are of bits alone, which are built in half the time.
TEST(RibbonTest, AnyRateAndAnyAmountTakeLittleMoreThanTheBound) {
  const std::vector<uint64_t> few = MemberHashes(1, 200'000);
  const std::vector<uint64_t> many = MemberHashes(1, 800'000);
  for (const char* spec : {"ribbon:1%", "ribbon:0.1%", "ribbon:0.6%", "ribbon:1.4%", "ribbon:7",
                           "ribbon:6.5", "ribbon:12.3"}) {
    EXPECT_LE(SpaceOverBound(BuildFrom(spec, few)), 1.02) << spec;
    EXPECT_LE(SpaceOverBound(BuildFrom(spec, many)), 1.014) << spec;
  }
}

// Means of some filters, since which keys are bumped is chance.
TEST(RibbonTest, FewKeysTakeMoreButNotMuch) {
  struct Row {
    uint64_t keys;
    double most;  // over the bound
  };
  for (const Row& row : {Row{600, 1.175}, Row{1000, 1.14}, Row{2000, 1.09}, Row{3000, 1.07},
                         Row{5000, 1.055}, Row{10'000, 1.045}, Row{30'000, 1.03}}) {
    constexpr uint64_t kFilters = 8;
    double sum = 0;
    for (uint64_t run = 0; run < kFilters; ++run) {
      sum += SpaceOverBound(BuildFrom("ribbon:1%", MemberHashes(run, row.keys)));
    }
    EXPECT_LE(sum / kFilters, row.most) << row.keys << " keys";
  }
}

TEST(RibbonTest, EveryFractionOfABitLowersTheRate) {
  const std::vector<uint64_t> hashes = MemberHashes(2, 50'000);
  double previous = 1;
  for (double bits = 1; bits < 9; bits += 0.1) {
    FilterSpec spec;
    spec.kind = FilterKind::kRibbon;
    spec.bits_per_key = bits;
    const BuiltFilter built = BuildFrom(ToString(spec), hashes);
    EXPECT_LT(built.expected_fpr, previous) << bits;
    previous = built.expected_fpr;
    ASSERT_LE(static_cast<double>(built.block.size()) * 8 / 50'000, bits + 0.04) << bits;
  }
}

// Each form of narrow blocks, in one shard and in more.
TEST(RibbonTest, EveryFormFindsItsKeysAndKeepsItsRate) {
  for (const char* spec : {"ribbon:1.1%", "ribbon:1.5%", "ribbon:0.9%", "ribbon:40%",
                           "ribbon:0.15%", "ribbon:0.001%"}) {
    for (const uint64_t keys : {5000, 50'000, 220'000, 800'000}) {
      const std::vector<uint64_t> hashes = MemberHashes(keys, keys);
      const FilterSpec parsed = *ParseFilterSpec(spec);
      const BuiltFilter built = BuildFrom(spec, hashes);
      const FilterReader reader = OpenSound(built.block);
      ASSERT_EQ(CountFound(reader, hashes), keys) << spec;
      EXPECT_LE(built.expected_fpr, parsed.fpr * 1.000001) << spec << " of " << keys;
      constexpr uint64_t kAsked = 100'000;
      const double expected = built.expected_fpr * kAsked;
      EXPECT_NEAR(static_cast<double>(CountFalsePositives(reader, keys, kAsked)), expected,
                  5 * std::sqrt(expected) + 1)
          << spec << " of " << keys;
    }
  }
}

// Few equations begin in the last block, so that of few blocks narrow ones count for more than
// their number says.
TEST(RibbonTest, SmallFiltersKeepThePromisedRate) {
  for (const char* spec : {"ribbon:1%", "ribbon:0.3%", "ribbon:1.5%"}) {
    const double promised = ParseFilterSpec(spec)->fpr;
    for (uint64_t keys = 1; keys < 3000; keys += 1 + keys / 8) {
      const BuiltFilter built = BuildFrom(spec, MemberHashes(keys, keys));
      EXPECT_LE(built.expected_fpr, promised * 1.000001) << spec << " of " << keys;
    }
  }
}

// Sizes around each change of shape: one layer, two, three; one lane, two, three; one shard, more.
TEST(RibbonTest, EveryKeyIsFoundWhereverTheShapeChanges) {
  for (const uint64_t around : {600, 1100, 2100, 3200, 36'500, 196'608, 750'000}) {
    for (const int64_t offset : {-1, 0, 1, 777}) {
      const auto size = static_cast<uint64_t>(static_cast<int64_t>(around) + offset);
      const std::vector<uint64_t> hashes = MemberHashes(around, size);
      const BuiltFilter built = BuildFrom("ribbon:7.3", hashes);
      ASSERT_FALSE(built.fell_back);
      EXPECT_EQ(built.num_keys, size);
      const FilterReader reader = OpenSound(built.block);
      ASSERT_EQ(CountFound(reader, hashes), size);
      EXPECT_LT(CountFalsePositives(reader, around, 20'000), 300u) << size;
    }
  }
}

// All start in one bucket: nearly all are bumped, too many for the next layer. Another salt spreads
// them.
TEST(RibbonTest, KeysThatAllCrowdAreSpreadByASalt) {
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < 30'000; ++i) hashes.push_back(i);
  const BuiltFilter built = BuildFrom("ribbon:7", hashes);
  EXPECT_FALSE(built.fell_back);
  const FilterReader reader = OpenSound(built.block);
  EXPECT_NE(reader.Describe().salt, 0u);
  EXPECT_EQ(CountFound(reader, hashes), hashes.size());
  EXPECT_LT(CountFalsePositives(reader, 3, 20'000), 400u);
}

TEST(RibbonLayerTest, BumpedKeysAreFewAndTheOthersAreInTheSolution) {
  constexpr uint64_t kKeys = 60'000;
  constexpr int kColumns = 8;
  const std::vector<uint64_t> hashes = MemberHashes(4, kKeys);
  const uint64_t num_blocks = internal::BumpingLayerBlocks(kKeys);
  internal::RibbonLayer layer(kKeys, num_blocks);
  layer.Load(kKeys, num_blocks, 1, [&](auto visit) {
    for (const uint64_t hash : hashes) visit(hash);
  });
  std::vector<uint8_t> thresholds(internal::RibbonShape::ThresholdBytes(num_blocks), 0);
  std::vector<uint64_t> bumped;
  EXPECT_EQ(layer.InsertOrBump(thresholds.data(), &bumped), 0u);
  EXPECT_GT(bumped.size(), 0u);
  EXPECT_LT(static_cast<double>(bumped.size()), 1.2 * internal::kExpectedBumpedShare * kKeys);
  std::vector<uint8_t> blocks(num_blocks * kColumns * sizeof(uint64_t));
  layer.Solve({0, kColumns, kColumns}, blocks.data());

  uint64_t num_bumped = 0;
  for (const uint64_t hash : hashes) {
    const uint64_t slot =
        internal::RibbonStartSlot(hash, 1, internal::RibbonShape::NumStarts(num_blocks));
    // As FORMAT.md says it.
    const uint64_t threshold = (thresholds[slot / 512] >> (slot / 128 % 4 * 2)) & 3;
    constexpr uint64_t kSlotsOfBumped[] = {0, 24, 56, 128};
    if (slot % 128 < kSlotsOfBumped[threshold]) {
      ++num_bumped;
      continue;
    }
    const internal::RibbonProbe probe = {blocks.data() + slot / 64 * kColumns * sizeof(uint64_t),
                                         slot % 64, internal::RibbonCoefficients(hash),
                                         internal::RibbonFingerprint(hash), kColumns};
    ASSERT_TRUE(internal::RibbonMatches(probe));
  }
  EXPECT_EQ(num_bumped, bumped.size());
}

// A filter block read as FORMAT.md says, bit by bit and with nothing of the library.
class ReaderByTheDocument {
 public:
  explicit ReaderByTheDocument(std::string_view block)
      : r_(static_cast<uint8_t>(block[64 + 18]) & 63),
        form_(static_cast<uint8_t>(block[64 + 18]) >> 6),
        shards_(Load(block, 64 + 20) & 0xffffffff),
        salt_(Load(block, 64 + 40)),
        blocks_(Load(block, 64 + 48) / 64),
        narrow_(Load(block, 64 + 56) & 0xffffff),
        second_blocks_((Load(block, 64 + 56) >> 24) & 0xffffff),
        third_blocks_(Load(block, 64 + 56) >> 48),
        payload_(block.substr(128, Load(block, 64 + 8))) {}

  bool MayContain(uint64_t hash) const {
    uint64_t h = salt_ == 0 ? hash : Remixed(hash, salt_);
    const uint64_t shard = High(h, shards_);
    const uint64_t less = form_ == 2 ? 2 : 1;
    const uint64_t shard_words = blocks_ * r_ - narrow_ * less;
    const uint64_t thresholds_of_shard = third_blocks_ == 0 ? 0 : ThresholdBytes(blocks_);
    const uint64_t trits_of_shard = (64 * std::min(blocks_, narrow_ + 1) + 4) / 5;
    uint64_t at = RoundUp(shards_ * thresholds_of_shard);
    const uint64_t trits_at = at + shards_ * shard_words * 8;
    uint64_t slot = High(h * shards_, blocks_ * 64 - 63);
    if (third_blocks_ == 0 || !IsBumped(shard * thresholds_of_shard, slot)) {
      return Matches(h, slot, at + shard * shard_words * 8, narrow_, less) &&
             (form_ == 0 || slot / 64 >= narrow_ ||
              TritMatches(h, slot, trits_at + shard * trits_of_shard));
    }
    at = trits_at + (form_ == 0 ? 0 : RoundUp(shards_ * trits_of_shard + 8));
    h = Remixed(h, 0xa0761d6478bd642f);
    if (second_blocks_ != 0) {
      slot = High(h, second_blocks_ * 64 - 63);
      const bool is_bumped = IsBumped(at, slot);
      at += RoundUp(ThresholdBytes(second_blocks_));
      if (!is_bumped) return Matches(h, slot, at, 0, 0);
      at += 8 * second_blocks_ * r_;
      h = Remixed(h, 0xa0761d6478bd642f);
    }
    return Matches(h, High(h, third_blocks_ * 64 - 63), at, 0, 0);
  }

 private:
  static uint64_t Load(std::string_view bytes, uint64_t at) {
    uint64_t word = 0;
    for (uint64_t i = 8; i-- > 0;) word = word << 8 | static_cast<uint8_t>(bytes.at(at + i));
    return word;
  }
  static uint64_t High(uint64_t a, uint64_t b) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
  }
  static uint64_t Remixed(uint64_t hash, uint64_t salt) {
    uint64_t h = hash + salt;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccd;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53;
    return h ^ (h >> 33);
  }
  static uint64_t RoundUp(uint64_t bytes) { return (bytes + 7) / 8 * 8; }
  static uint64_t ThresholdBytes(uint64_t blocks) { return ((blocks + 1) / 2 + 3) / 4; }
  bool IsBumped(uint64_t thresholds_at, uint64_t slot) const {
    const uint64_t bucket = slot / 128;
    const int threshold =
        (static_cast<uint8_t>(payload_.at(thresholds_at + bucket / 4)) >> (2 * (bucket % 4))) & 3;
    const uint64_t bumped_slots[] = {0, 24, 56, 128};
    return slot % 128 < bumped_slots[threshold];
  }
  static uint64_t CoefficientsOf(uint64_t h) {
    const uint64_t mixed = h * 0xd6e8feb86659fd93;
    return (mixed ^ (mixed >> 29)) | 1;
  }
  static uint64_t ProductOf(uint64_t h) { return (h ^ (h >> 32)) * 0x9fb21c651e98df25; }
  // Is the bit of a column at a slot of a layer set?
  bool Bit(uint64_t at, uint64_t narrow, uint64_t less, uint64_t slot, uint64_t column) const {
    const uint64_t block = slot / 64;
    const uint64_t word = block * r_ - std::min(block, narrow) * less + column;
    return ((Load(payload_, at + word * 8) >> (slot % 64)) & 1) != 0;
  }
  bool Matches(uint64_t h, uint64_t slot, uint64_t at, uint64_t narrow, uint64_t less) const {
    const uint64_t fingerprint = ProductOf(h) >> 32;
    const uint64_t columns = slot / 64 < narrow ? r_ - less : r_;
    for (uint64_t column = 0; column < columns; ++column) {
      bool sum = false;
      for (uint64_t i = 0; i < 64; ++i) {
        if (((CoefficientsOf(h) >> i) & 1) != 0) sum ^= Bit(at, narrow, less, slot + i, column);
      }
      if (sum != (((fingerprint >> column) & 1) != 0)) return false;
    }
    return true;
  }
  bool TritMatches(uint64_t h, uint64_t slot, uint64_t at) const {
    const uint64_t powers[] = {1, 3, 9, 27, 81};
    uint64_t sum = 0;
    for (uint64_t i = slot; i < slot + 64; ++i) {
      const uint64_t byte = static_cast<uint8_t>(payload_.at(at + i / 5));
      if (((CoefficientsOf(h) >> (i - slot)) & 1) != 0) sum += byte * powers[i % 5] % 256 * 3 / 256;
    }
    return sum % 3 == (ProductOf(h) % 0x100000000 * 3) >> 32;
  }

  uint64_t r_;
  uint64_t form_;
  uint64_t shards_;
  uint64_t salt_;
  uint64_t blocks_;
  uint64_t narrow_;
  uint64_t second_blocks_;
  uint64_t third_blocks_;
  std::string_view payload_;
};

TEST(RibbonTest, TheDocumentIsEnoughToReadIt) {
  FilterBuildLimits salted;
  salted.on_block_built = [](FilterKind, int attempt, std::string* block) {
    if (attempt == 0) block->back() ^= 1;
  };
  for (const char* spec :
       {"ribbon:7.3", "ribbon:2.5", "ribbon:1.2", "ribbon:8", "ribbon:1%", "ribbon:1.1%"}) {
    for (const uint64_t size : {3, 500, 1500, 40'000, 200'000}) {
      const std::vector<uint64_t> hashes = MemberHashes(size, size);
      const BuiltFilter built =
          BuildFrom(spec, hashes, size == 1500 ? salted : FilterBuildLimits());
      const FilterReader reader = OpenSound(built.block);
      const ReaderByTheDocument by_document(built.block);
      for (uint64_t i = 0; i < size; i += 1 + size / 1000) {
        ASSERT_TRUE(by_document.MayContain(hashes[i])) << spec << " of " << size;
      }
      for (uint64_t i = 0; i < 1000; ++i) {
        const uint64_t absent = AbsentHash(size, i);
        ASSERT_EQ(by_document.MayContain(absent), reader.MayContain(absent)) << spec;
      }
    }
  }
}

TEST(RibbonTest, EqualHashesAreOneKey) {
  for (const uint64_t count : {2, 700, 5000, 200'000}) {
    const std::vector<uint64_t> hashes(count, MemberHash(6, 1));
    const BuiltFilter built = BuildFrom("ribbon:7", hashes);
    EXPECT_EQ(built.num_keys, 1u) << count;
    EXPECT_LT(built.block.size(), 400u) << count;
    EXPECT_EQ(CountFound(OpenSound(built.block), hashes), count);
  }
}

TEST(RibbonTest, DuplicatesAreCountedOnceWhetherBumpedOrNot) {
  std::vector<uint64_t> hashes = MemberHashes(5, 100'000);
  const std::vector<uint64_t> again = MemberHashes(5, 1000);
  hashes.insert(hashes.end(), again.begin(), again.end());
  const BuiltFilter built = BuildFrom("ribbon:7", hashes);
  EXPECT_EQ(built.num_keys, 100'000u);
  EXPECT_EQ(CountFound(OpenSound(built.block), hashes), hashes.size());
}

}  // namespace
}  // namespace winnow::filter
