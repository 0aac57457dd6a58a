// The saved form of application filters: what was saved is loaded, and nothing else is believed.

#include "winnow/filter/saved_filter.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/filter/dynamic/application_filters.h"

namespace winnow::filter {
namespace {

constexpr uint64_t kHeaderBytes = 128;
constexpr uint64_t kChecksumAt = 8;
constexpr uint64_t kCoveredFrom = 16;
constexpr uint64_t kLengthAt = 24;
constexpr uint64_t kNumSlotsAt = 56;

template <typename T>
void Put(T value, uint64_t offset, std::string* bytes) {
  std::memcpy(bytes->data() + offset, &value, sizeof(value));
}

// Makes damage look intended, so that it meets the checks behind the checksum.
void SealAgain(std::string* bytes) {
  Put<uint64_t>(bytes->size(), kLengthAt, bytes);
  Put(HashKey(std::string_view(*bytes).substr(kCoveredFrom), 0), kChecksumAt, bytes);
}

template <typename Filter>
class SavedFilterTest : public testing::Test {
 protected:
  static Filter Filled(uint64_t keys) {
    Filter filter = MakeFilter<Filter>(50, 0.01);
    for (uint64_t i = 0; i < keys; ++i) AddKeyHash(MemberHash(1, i), &filter);
    return filter;
  }
};
TYPED_TEST_SUITE(SavedFilterTest, ApplicationFilters);

TYPED_TEST(SavedFilterTest, EmptyPartlyAndOverFilledOnesComeBack) {
  for (const uint64_t keys : {0u, 1u, 50u, 400u}) {
    const TypeParam filter = this->Filled(keys);
    const std::string bytes = filter.Serialize();
    const absl::StatusOr<TypeParam> loaded = TypeParam::Deserialize(bytes);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->Serialize(), bytes);
    EXPECT_EQ(loaded->ApproximateCount(), filter.ApproximateCount());
    EXPECT_EQ(loaded->ExpectedFpr(), filter.ExpectedFpr());
    for (uint64_t i = 0; i < 2000; ++i) {
      ASSERT_EQ(loaded->ContainsHash(MemberHash(1, i)), filter.ContainsHash(MemberHash(1, i)));
      ASSERT_EQ(loaded->ContainsHash(AbsentHash(1, i)), filter.ContainsHash(AbsentHash(1, i)));
    }
  }
}

TYPED_TEST(SavedFilterTest, SeedAndPromisesComeBack) {
  const TypeParam filter = this->Filled(50);
  const TypeParam loaded = *TypeParam::Deserialize(filter.Serialize());
  EXPECT_EQ(loaded.hash_seed(), filter.hash_seed());
  EXPECT_EQ(loaded.memory_bytes(), filter.memory_bytes());
}

TYPED_TEST(SavedFilterTest, EveryFlippedBitIsNoticed) {
  const std::string sound = this->Filled(40).Serialize();
  for (size_t byte = 0; byte < sound.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = sound;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      ASSERT_FALSE(TypeParam::Deserialize(damaged).ok()) << "byte " << byte << " bit " << bit;
    }
  }
}

TYPED_TEST(SavedFilterTest, EveryTruncationAndEveryAddedByteIsNoticed) {
  const std::string sound = this->Filled(40).Serialize();
  for (size_t length = 0; length < sound.size(); ++length) {
    ASSERT_EQ(TypeParam::Deserialize(std::string_view(sound).substr(0, length)).status().code(),
              absl::StatusCode::kDataLoss);
  }
  EXPECT_EQ(TypeParam::Deserialize(sound + '\0').status().code(), absl::StatusCode::kDataLoss);
}

// Any value of any header field, with the checksum made right: an error, or a filter that works
// inside its memory. Never a crash, and never an allocation that the bytes do not pay for.
TYPED_TEST(SavedFilterTest, HostileFieldsAreRefusedOrHarmless) {
  const std::string sound = this->Filled(40).Serialize();
  for (uint64_t offset = kCoveredFrom; offset < kHeaderBytes; ++offset) {
    for (const uint64_t value :
         {uint64_t{0}, uint64_t{1}, uint64_t{0x7f}, uint64_t{1} << 31, (uint64_t{1} << 32) - 1,
          uint64_t{1} << 40, uint64_t{1} << 60, uint64_t{1} << 63, ~uint64_t{0}}) {
      for (const size_t width : {1u, 8u}) {
        if (offset + width > kHeaderBytes) continue;
        std::string hostile = sound;
        std::memcpy(hostile.data() + offset, &value, width);
        SealAgain(&hostile);
        const absl::StatusOr<TypeParam> loaded = TypeParam::Deserialize(hostile);
        if (!loaded.ok()) continue;
        EXPECT_LE(loaded->memory_bytes(), 2 * sound.size() + 64);
        CountAbsentContained(*loaded, 1, 100);
      }
    }
  }
}

TYPED_TEST(SavedFilterTest, ATerabyteOfSlotsIsRefusedBeforeItIsAllocated) {
  std::string hostile = this->Filled(40).Serialize();
  for (const uint64_t slots : {uint64_t{1} << 43, uint64_t{1} << 63, ~uint64_t{63}}) {
    Put(slots, kNumSlotsAt, &hostile);
    SealAgain(&hostile);
    if constexpr (std::is_same_v<TypeParam, ScalableBloomFilter>) continue;  // its layers have them
    EXPECT_EQ(TypeParam::Deserialize(hostile).status().code(), absl::StatusCode::kDataLoss);
  }
}

// A few bytes that claim room for a billion keys would make the next key ask for gigabytes.
TEST(SavedScalableFilterTest, LayersMustBeAsLargeAsTheCapacityThatIsClaimed) {
  constexpr uint64_t kCapacityAt = 40;
  std::string hostile = MakeFilter<ScalableBloomFilter>(50, 0.01).Serialize();
  for (const uint64_t capacity : {uint64_t{200}, uint64_t{1} << 30, uint64_t{1} << 40}) {
    Put(capacity, kCapacityAt, &hostile);
    SealAgain(&hostile);
    EXPECT_EQ(ScalableBloomFilter::Deserialize(hostile).status().code(),
              absl::StatusCode::kDataLoss);
  }
}

TYPED_TEST(SavedFilterTest, AnotherKindAndANewerVersionAreToldApart) {
  std::string bytes = this->Filled(40).Serialize();
  const SavedFilterKind kind = *KindOfSavedFilter(bytes);
  const bool is_bloom = kind == SavedFilterKind::kBloom;
  EXPECT_EQ(BloomFilter::Deserialize(bytes).status().code(),
            is_bloom ? absl::StatusCode::kOk : absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CuckooFilter::Deserialize(bytes).ok(), kind == SavedFilterKind::kCuckoo);
  std::string newer_kind = bytes;
  newer_kind[17] = 99;
  SealAgain(&newer_kind);
  EXPECT_EQ(TypeParam::Deserialize(newer_kind).status().code(), absl::StatusCode::kUnimplemented);
  bytes[16] = 2;
  SealAgain(&bytes);
  EXPECT_EQ(TypeParam::Deserialize(bytes).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(KindOfSavedFilter(bytes).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(SavedFilterKindTest, NamesAreThoseOfTheFormat) {
  EXPECT_EQ(SavedFilterKindName(SavedFilterKind::kBloom), "bloom");
  EXPECT_EQ(SavedFilterKindName(SavedFilterKind::kGuavaBloom), "guava_bloom");
  EXPECT_EQ(SavedFilterKindName(static_cast<SavedFilterKind>(0)), "unknown");
  EXPECT_FALSE(LooksLikeSavedFilter("WNWFILTR"));
  EXPECT_FALSE(LooksLikeSavedFilter(""));
}

std::string HexDump(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % 16 == 0 && i > 0) text += '\n';
    if (i % 16 != 0) text += ' ';
    text += kDigits[static_cast<uint8_t>(bytes[i]) >> 4];
    text += kDigits[static_cast<uint8_t>(bytes[i]) & 15];
  }
  return text + "\n";
}

// The document's example is what this program writes.
TEST(SavedFormatDocumentTest, ItsExampleIsRebuilt) {
  BloomFilter filter = *BloomFilter::Create(3, 0.01, 0x0123456789abcdef);
  for (const char* key : {"apple", "banana", "cherry"}) filter.Add(key);
  std::ifstream file(WINNOW_SAVED_FORMAT_DOCUMENT);
  std::stringstream document;
  document << file.rdbuf();
  std::string dump;
  bool inside = false;
  for (std::string line; std::getline(document, line);) {
    if (line.rfind("```", 0) == 0) {
      inside = line == "```hexdump";
    } else if (inside) {
      // "0000  00 11 22  what it means"
      if (line.size() > 6) dump += line.substr(6, line.find("  ", 6) - 6) + "\n";
    }
  }
  EXPECT_EQ(dump, HexDump(filter.Serialize()));
}

}  // namespace
}  // namespace winnow::filter
