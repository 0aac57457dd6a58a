// A damaged filter costs speed, never a key; a hostile one does no harm.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "filter/format/block_format.h"
#include "tests/filter/filter_fixture.h"
#include "winnow/filter/hash.h"

namespace winnow::filter {
namespace {

// Offsets as filter/FORMAT.md gives them, written out again: a test of the document too.
constexpr uint64_t kUnit = 64;
constexpr uint64_t kPayloadBytesAt = kUnit + 8;
constexpr uint64_t kKindAt = kUnit + 16;
constexpr uint64_t kKindVersionAt = kUnit + 17;
constexpr uint64_t kParameterAt = kUnit + 18;
constexpr uint64_t kNumShardsAt = kUnit + 20;
constexpr uint64_t kNumKeysAt = kUnit + 24;
constexpr uint64_t kSaltAt = kUnit + 40;
constexpr uint64_t kSlotsPerShardAt = kUnit + 48;
constexpr uint64_t kDetailAt = kUnit + 56;

template <typename T>
void Put(T value, uint64_t offset, std::string* block) {
  std::memcpy(block->data() + offset, &value, sizeof(value));
}

void RecomputeChecksums(std::string* block) {
  Put(HashKey(std::string_view(*block).substr(kUnit + 8), 0), kUnit, block);
  Put(HashKey(std::string_view(*block).substr(16, 48), 0), 8, block);
}

// Opens a copy in memory of exactly its size, so that a sanitizer sees any step outside, and asks
// some hashes, in all the ways there are.
FilterState OpenAndAsk(const std::string& block) {
  const std::unique_ptr<char[]> exact(new char[block.size()]);
  std::copy(block.begin(), block.end(), exact.get());
  FilterState state;
  const FilterReader reader =
      FilterReader::Open(std::string_view(exact.get(), block.size()), &state);
  std::vector<uint64_t> hashes = {0, ~uint64_t{0}};
  for (uint64_t i = 0; i < 50; ++i) hashes.push_back(AbsentHash(1, i));
  std::vector<uint8_t> answers(hashes.size());
  reader.MayContainBatch(hashes.data(), hashes.size(), answers.data());
  for (size_t i = 0; i < hashes.size(); ++i) {
    reader.Prefetch(hashes[i]);
    EXPECT_EQ(reader.MayContain(hashes[i]), answers[i] != 0);
  }
  reader.Describe();
  return state;
}

class DamageTest : public testing::TestWithParam<const char*> {
 protected:
  DamageTest() : members_(MemberHashes(4, 60)), sound_(BuildFrom(GetParam(), members_).block) {}

  // Damage is reported, and no member is hidden.
  void ExpectHarmless(const std::string& damaged, const std::string& what) const {
    FilterState state;
    const FilterReader reader = FilterReader::Open(damaged, &state);
    ASSERT_NE(state.code, FilterStateCode::kOk) << what;
    ASSERT_FALSE(state.reason.empty()) << what;
    ASSERT_EQ(CountFound(reader, members_), members_.size()) << what;
  }

  const std::vector<uint64_t> members_;
  const std::string sound_;
};

TEST_P(DamageTest, UndamagedBlockRefutes) {
  const FilterReader reader = OpenSound(sound_);
  EXPECT_EQ(CountFound(reader, members_), members_.size());
  EXPECT_LT(CountFalsePositives(reader, 4, 1000), 100u);
}

TEST_P(DamageTest, EveryFlippedBitIsReportedAndHidesNothing) {
  for (size_t bit = 0; bit < sound_.size() * 8; ++bit) {
    std::string damaged = sound_;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    ExpectHarmless(damaged, "bit " + std::to_string(bit));
    if (HasFatalFailure()) return;
  }
}

TEST_P(DamageTest, EveryTruncationIsReportedAndHidesNothing) {
  for (size_t size = 0; size < sound_.size(); ++size) {
    ExpectHarmless(sound_.substr(0, size), "cut to " + std::to_string(size));
    OpenAndAsk(sound_.substr(0, size));
    if (HasFatalFailure()) return;
  }
}

TEST_P(DamageTest, AppendedBytesAreReportedAndHideNothing) {
  for (const size_t more : {1, 63, 64, 128, 1000}) {
    ExpectHarmless(sound_ + std::string(more, '\0'), "longer by " + std::to_string(more));
  }
}

TEST_P(DamageTest, EveryValueOfEveryByteFieldIsSurvived) {
  for (const uint64_t at : {kKindAt, kKindVersionAt, kParameterAt, kParameterAt + 1, kDetailAt,
                            kDetailAt + 3, kDetailAt + 6, uint64_t{16}, uint64_t{20}}) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = sound_;
      changed[at] = static_cast<char>(value);
      RecomputeChecksums(&changed);
      OpenAndAsk(changed);
    }
  }
}

TEST_P(DamageTest, FieldsOutOfProportionToThePayloadAreDamage) {
  const std::vector<uint64_t> values = {0,
                                        1,
                                        2,
                                        3,
                                        5,
                                        63,
                                        64,
                                        65,
                                        1000,
                                        (uint64_t{1} << 31),
                                        (uint64_t{1} << 32) + 1,
                                        (uint64_t{1} << 58),
                                        (uint64_t{1} << 61),
                                        (uint64_t{1} << 63),
                                        ~uint64_t{0} - 63,
                                        ~uint64_t{0}};
  for (const uint64_t value : values) {
    for (const uint64_t at : {kPayloadBytesAt, kSlotsPerShardAt}) {
      std::string changed = sound_;
      uint64_t before;
      std::memcpy(&before, changed.data() + at, sizeof(before));
      if (before == value) continue;
      Put(value, at, &changed);
      RecomputeChecksums(&changed);
      EXPECT_EQ(OpenAndAsk(changed).code, FilterStateCode::kDamaged) << value << " at " << at;
    }
    std::string changed = sound_;
    Put(static_cast<uint32_t>(value), kNumShardsAt, &changed);
    RecomputeChecksums(&changed);
    if (static_cast<uint32_t>(value) != 1) {
      EXPECT_EQ(OpenAndAsk(changed).code, FilterStateCode::kDamaged) << value << " shards";
    }
  }
}

// What a reader computes with lies within the payload, whatever the fields say that describe its
// parts: lengths that would take terabytes, counts that wrap when they are multiplied.
TEST_P(DamageTest, PartsThatDoNotAddUpToThePayloadAreDamage) {
  for (int shift = 0; shift < 64; ++shift) {
    for (const uint64_t difference : {uint64_t{1} << shift, ~uint64_t{0} << shift}) {
      std::string changed = sound_;
      uint64_t detail;
      std::memcpy(&detail, changed.data() + kDetailAt, sizeof(detail));
      Put(detail ^ difference, kDetailAt, &changed);
      RecomputeChecksums(&changed);
      const FilterState state = OpenAndAsk(changed);
      // Another segment length is another filter of the same size: no reader can tell.
      if (FilterReader::Open(sound_, nullptr).kind() == FilterKind::kBinaryFuse) continue;
      EXPECT_EQ(state.code, FilterStateCode::kDamaged) << "detail ^ 0x" << std::hex << difference;
    }
  }
}

// datasketches-rust #187: a count of zero in the header was believed, and all keys were refuted.
TEST_P(DamageTest, NoSingleCountOfZeroMakesTheFilterRefuteItsKeys) {
  for (const uint64_t at : {kNumKeysAt, kSlotsPerShardAt, kPayloadBytesAt}) {
    std::string changed = sound_;
    Put(uint64_t{0}, at, &changed);
    RecomputeChecksums(&changed);
    ExpectHarmless(changed, "zero at " + std::to_string(at));
  }
  std::string changed = sound_;
  Put(uint32_t{0}, kNumShardsAt, &changed);
  RecomputeChecksums(&changed);
  ExpectHarmless(changed, "zero shards");
}

TEST_P(DamageTest, NewerVersionsAndKindsAreNamedAndHideNothing) {
  std::string changed = sound_;
  changed[16] = 2;
  RecomputeChecksums(&changed);
  EXPECT_EQ(OpenAndAsk(changed).code, FilterStateCode::kUnknownVersion);
  ExpectHarmless(changed, "newer format");

  changed = sound_;
  changed[kKindVersionAt] = 3;
  RecomputeChecksums(&changed);
  EXPECT_EQ(OpenAndAsk(changed).code, FilterStateCode::kUnknownVersion);
  ExpectHarmless(changed, "newer kind version");

  changed = sound_;
  changed[kKindAt] = 77;
  RecomputeChecksums(&changed);
  EXPECT_EQ(OpenAndAsk(changed).code, FilterStateCode::kUnknownKind);
  ExpectHarmless(changed, "newer kind");
}

TEST_P(DamageTest, RandomlyChangedHeadersWithRightChecksumsAreSurvived) {
  constexpr uint32_t kSeed = 20240817;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  const std::vector<uint64_t> fields = {kPayloadBytesAt, kKindAt,          kNumShardsAt, kNumKeysAt,
                                        kSaltAt,         kSlotsPerShardAt, kDetailAt};
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = sound_;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const uint64_t at = fields[random() % fields.size()];
      Put(random() >> (random() % 64), at, &changed);
      if (random() % 2 == 0) changed[kKindAt] = static_cast<char>(1 + random() % 5);
      if (random() % 2 == 0) Put(static_cast<uint8_t>(1 + random() % 2), kKindVersionAt, &changed);
      if (random() % 2 == 0) changed[kKindAt + 3] = 0;
    }
    RecomputeChecksums(&changed);
    OpenAndAsk(changed);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, DamageTest,
                         testing::Values("bloom:10", "blocked_bloom:10", "cuckoo:10", "cuckoo:20",
                                         "cuckoo:33", "cuckoo:10:semi_sorted",
                                         "cuckoo:20:semi_sorted", "binary_fuse:10",
                                         "binary_fuse:20", "ribbon:10", "ribbon:7.3"));

// A ribbon filter large enough for all its layers, with each field changed at random.
TEST(HostileBytesTest, LayeredRibbonsWithChangedHeadersAreSurvived) {
  constexpr uint32_t kSeed = 7;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  // Of bits alone, and with each form of a ternary column.
  std::vector<std::string> sound;
  for (const char* spec : {"ribbon:3", "ribbon:2.4", "ribbon:2.8"}) {
    sound.push_back(BuildFrom(spec, MemberHashes(9, 40'000)).block);
  }
  for (int i = 0; i < 3000; ++i) {
    std::string changed = sound[static_cast<size_t>(i) % sound.size()];
    for (uint64_t changes = 1 + random() % 2; changes > 0; --changes) {
      const uint64_t fields[] = {kNumShardsAt, kNumKeysAt, kSlotsPerShardAt, kDetailAt};
      Put(random() >> (random() % 64), fields[random() % 4], &changed);
      if (random() % 2 == 0) changed[kParameterAt] = static_cast<char>(random());
    }
    RecomputeChecksums(&changed);
    OpenAndAsk(changed);
  }
}

// What a unit without a payload says of its shape is not read.
TEST(HostileBytesTest, EmptyUnitsOfAnyShapeRefuteEverything) {
  for (uint8_t kind = 1; kind <= 5; ++kind) {
    for (int parameter = 0; parameter < 256; ++parameter) {
      internal::UnitHeader header;
      header.kind = kind;
      header.parameter = static_cast<uint8_t>(parameter);
      std::string block = internal::MakeUnsealedBlock(0);
      internal::SealBlock(header, &block);
      FilterState state;
      const FilterReader reader = FilterReader::Open(block, &state);
      ASSERT_EQ(state.code, FilterStateCode::kOk) << int{kind} << " " << parameter;
      EXPECT_FALSE(reader.MayContain(uint64_t{1}));
      EXPECT_EQ(reader.Describe().num_keys, 0u);
    }
  }
}

TEST(HostileBytesTest, RandomBytesBehindTheMagicAreSurvived) {
  constexpr uint32_t kSeed = 99;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (bytes.size() >= 64) {
      bytes.replace(0, 8, "WNWFILTR");
      bytes[16] = 1;
      Put(HashKey(std::string_view(bytes).substr(16, 48), 0), 8, &bytes);
    }
    EXPECT_NE(OpenAndAsk(bytes).code, FilterStateCode::kOk);
  }
}

}  // namespace
}  // namespace winnow::filter
