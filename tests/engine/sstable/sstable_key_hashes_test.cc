// The key hashes of a table: which it has, in what form, and what damage does to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/coding.h"
#include "engine/sstable/key_hashes.h"
#include "tests/engine/sstable/sstable_model.h"
#include "tests/fuzz/reseal.h"
#include "winnow/filter_policy.h"

namespace winnow::sstable_key_hashes {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kSeed = 11;

SstableBuilderOptions Always(std::string_view filter_key = "whole") {
  SstableBuilderOptions options;
  options.filter_spec = Spec("blocked_bloom:10");
  options.filter_key = Extractor(filter_key);
  options.hash_seed = kSeed;
  options.key_hashes_ratio = 1;
  return options;
}

// Two versions of each key, of which the older is deleted.
SstableModel Numbers(int count, size_t value_bytes = 3) {
  SstableModel model;
  for (int i = 0; i < count; i++) {
    const std::string key = absl::StrCat("key", 1'000'000 + i);
    model[MakeInternalKey(key, 7, EntryType::kPut)] = std::string(value_bytes, 'v');
    model[MakeInternalKey(key, 5, EntryType::kDelete)] = "";
  }
  return model;
}

std::unique_ptr<SstableReader> Open(const std::string& bytes) {
  auto table = OpenSstable(bytes);
  EXPECT_TRUE(table.ok()) << table.status();
  return *std::move(table);
}

absl::StatusOr<std::vector<uint64_t>> HashesIn(const SstableReader& table,
                                               size_t readahead_bytes = 1) {
  SstableReadOptions options;
  options.readahead_bytes = readahead_bytes;
  KeyHashCursor cursor(table, options);
  std::vector<uint64_t> all;
  for (uint64_t i = 0; i < cursor.num_blocks(); i++) {
    std::vector<uint64_t> hashes;
    WINNOW_RETURN_IF_ERROR(cursor.Read(i, &hashes));
    all.insert(all.end(), hashes.begin(), hashes.end());
  }
  return all;
}

// By FORMAT.md and not by the builder's code: the hash of each part of each key, each once.
std::vector<uint64_t> ExpectedHashes(const SstableModel& model, size_t prefix_bytes,
                                     bool whole_too) {
  std::vector<uint64_t> hashes;
  std::string last;
  for (const auto& [internal_key, value] : model) {
    const std::string key(UserKey(internal_key));
    const std::string prefix = key.substr(0, prefix_bytes);
    if (key == last) continue;
    if (whole_too) hashes.push_back(filter::HashKey(key, kSeed));
    if (last.empty() || last.substr(0, prefix_bytes) != prefix) {
      hashes.push_back(filter::HashKey(prefix, whole_too ? ~kSeed : kSeed));
    }
    last = key;
  }
  return hashes;
}

TEST(SstableKeyHashes, AreThoseOfEachFilterKeyOnceInItsOrder) {
  for (const int count : {1, 2, 8191, 8192, 8193, 20'000}) {
    const SstableModel model = Numbers(count);
    const auto table = Open(BuildTable(model, Always()).bytes);
    ASSERT_TRUE(table->has_key_hashes());
    std::vector<uint64_t> expected;
    for (int i = 0; i < count; i++) {
      expected.push_back(filter::HashKey(absl::StrCat("key", 1'000'000 + i), kSeed));
    }
    for (const size_t readahead : {size_t{1}, size_t{100'000}, size_t{1} << 20}) {
      EXPECT_EQ(*HashesIn(*table, readahead), expected) << count;
    }
    EXPECT_THAT(table->Verify(), IsEmpty()) << count;
  }
  const SstableModel model = Numbers(3'000);
  EXPECT_EQ(*HashesIn(*Open(BuildTable(model, Always("prefix:8")).bytes)),
            ExpectedHashes(model, 8, false));
  const auto of_parts = Open(BuildTable(model, Always("whole+prefix:8")).bytes);
  EXPECT_EQ(*HashesIn(*of_parts), ExpectedHashes(model, 8, true));
  EXPECT_THAT(of_parts->Verify(), IsEmpty());
}

TEST(SstableKeyHashes, TakeNoMoreThanTheirShareOfTheData) {
  const auto bytes_of = [](int count, size_t value_bytes, double ratio) {
    SstableBuilderOptions options = Always();
    options.key_hashes_ratio = ratio;
    return Open(BuildTable(Numbers(count, value_bytes), options).bytes)->figures();
  };
  EXPECT_EQ(bytes_of(1'000, 1'000, 0).key_hash_bytes, 0u);
  EXPECT_EQ(bytes_of(1'000, 100, 0.02).key_hash_bytes, 0u);
  const SstableFigures large = bytes_of(1'000, 1'000, 0.02);
  EXPECT_EQ(large.key_hash_bytes, 8'000u + 8 + 9);
  EXPECT_LT(large.key_hash_bytes, large.data_bytes / 50);
  // With 1 they are there however small the data is.
  EXPECT_GT(bytes_of(1, 0, 1).key_hash_bytes, 0u);
  const SstableFigures figures = bytes_of(1'000, 100, 0);
  const double share = 8'017.0 / static_cast<double>(figures.data_bytes);
  EXPECT_GT(bytes_of(1'000, 100, share * 1.0001).key_hash_bytes, 0u);
  EXPECT_EQ(bytes_of(1'000, 100, share * 0.9999).key_hash_bytes, 0u);
}

class AnyPolicy final : public FilterPolicy {
 public:
  std::string_view Name() const override { return "any"; }
  void CreateFilter(std::span<const std::string_view> keys, std::string* filter) const override {
    filter->append(absl::StrCat(keys.size()));
  }
  bool KeyMayMatch(std::string_view, std::string_view) const override { return true; }
};

TEST(SstableKeyHashes, AreOfTablesOnlyWhoseFilterIsMadeOfThem) {
  SstableBuilderOptions options = Always();
  options.filter_spec = Spec("none");
  EXPECT_FALSE(Open(BuildTable(Numbers(100), options).bytes)->has_key_hashes());
  options.filter_spec = Spec("none+range:8");
  EXPECT_FALSE(Open(BuildTable(Numbers(100), options).bytes)->has_key_hashes());
  const AnyPolicy policy;
  options = Always();
  options.filter_policy = &policy;
  EXPECT_FALSE(Open(BuildTable(Numbers(100), options).bytes)->has_key_hashes());
  EXPECT_FALSE(Open(BuildTable({}, Always()).bytes)->has_key_hashes());
  for (const char* filter : {"ribbon:1%", "cuckoo:12", "auto", "bloom:10+range:8"}) {
    options = Always();
    options.filter_spec = Spec(filter);
    EXPECT_TRUE(Open(BuildTable(Numbers(100), options).bytes)->has_key_hashes()) << filter;
  }
}

// Byte by byte, as FORMAT.md has it: behind the data, full blocks and one that is not.
TEST(SstableKeyHashes, HaveTheFormThatIsDocumented) {
  const BuiltTable built = BuildTable(Numbers(8'194), Always());
  const auto table = Open(built.bytes);
  const SstableFigures& figures = table->figures();
  ASSERT_EQ(figures.key_hash_bytes, 8'194u * 8 + 2 * (8 + 9));
  std::string expected("\0\0\0\0\0\x20\0\0", 8);
  for (int i = 0; i < 8'192; i++) {
    PutFixed64(&expected, filter::HashKey(absl::StrCat("key", 1'000'000 + i), kSeed));
  }
  EXPECT_EQ(built.bytes.substr(figures.data_bytes, expected.size()), expected);
  std::string last("\0\0\0\0\2\0\0\0", 8);
  for (int i = 8'192; i < 8'194; i++) {
    PutFixed64(&last, filter::HashKey(absl::StrCat("key", 1'000'000 + i), kSeed));
  }
  EXPECT_EQ(built.bytes.substr(figures.data_bytes + expected.size() + 9, last.size()), last);
  uint64_t bytes = 0;
  uint64_t hashes = 0;
  const auto count = [&](const SstableBlockInfo& block) {
    if (block.kind != BlockKind::kKeyHashes) return;
    bytes += block.stored_bytes;
    hashes += block.num_entries;
  };
  ASSERT_TRUE(table->ForEachBlock(count).ok());
  EXPECT_EQ(bytes, figures.key_hash_bytes);
  EXPECT_EQ(hashes, 8'194u);
}

TEST(SstableKeyHashes, AreReadInBoundedPieces) {
  auto file = std::make_unique<StringFile>(BuildTable(Numbers(50'000), Always()).bytes);
  const StringFile& reads = *file;
  const auto table = SstableReader::Open({}, std::move(file), "t.sst");
  ASSERT_TRUE(table.ok()) << table.status();
  reads.reads.clear();
  EXPECT_EQ(HashesIn(**table, 100'000)->size(), 50'000u);
  EXPECT_GT(reads.reads.size(), 4u);
  for (const auto& [from, to] : reads.reads) EXPECT_LE(to - from, 100'000u);
}

TEST(SstableKeyHashes, EachDamagedByteIsSeenAndNoneKeepsTheTableFromBeingRead) {
  const SstableModel model = Numbers(40);
  const std::string sound = BuildTable(model, Always()).bytes;
  const SstableFigures figures = Open(sound)->figures();
  for (uint64_t i = 0; i < figures.key_hash_bytes; i++) {
    std::string bytes = sound;
    bytes[figures.data_bytes + i] ^= 0x10;
    const auto table = Open(bytes);
    const absl::Status status = HashesIn(*table).status();
    ASSERT_TRUE(absl::IsDataLoss(status)) << i << ": " << status;
    ASSERT_THAT(std::string(status.message()), HasSubstr("key hash block")) << i;
    ASSERT_EQ(table->Verify().size(), 1u) << i;
    ASSERT_NO_FATAL_FAILURE(ExpectScansEqual(*table, model));
  }
}

TEST(SstableKeyHashes, MalformedBlocksAreRefusedWhateverTheirChecksum) {
  EXPECT_EQ(KeyHashBlockError(std::string("\0\0\0\0\1\0\0\0"
                                          "12345678",
                                          16)),
            nullptr);
  for (const std::string& block :
       {std::string(), std::string(8, '\0'), std::string("\0\0\0\0\1\0\0\0", 8),
        std::string("\0\0\0\0\1\0\0\0"
                    "1234567",
                    15),
        std::string("\0\0\0\0\2\0\0\0"
                    "12345678",
                    16),
        std::string("\1\0\0\0\1\0\0\0"
                    "12345678",
                    16)}) {
    EXPECT_NE(KeyHashBlockError(block), nullptr) << block.size();
  }
  // What it stands for is plain: a block that says it is compressed has another number of them.
  std::string bytes = BuildTable(Numbers(40), Always()).bytes;
  const BlockHandle handle = Open(bytes)->key_hash_layout().handle(0);
  bytes[handle.offset + handle.size] = static_cast<char>(Compression::kSnappy);
  const auto table = Open(fuzz::ResealTable(bytes, {handle}));
  EXPECT_TRUE(absl::IsDataLoss(HashesIn(*table).status()));
}

std::string WithNumber(std::string bytes, std::string_view property, uint64_t value) {
  const size_t at = bytes.rfind(property);
  EXPECT_NE(at, std::string::npos);
  EncodeFixed64(bytes.data() + at + property.size() + 1, value);
  return fuzz::ResealTable(std::move(bytes), {});
}

TEST(SstableKeyHashes, NumbersThatDoNotFitAreRefused) {
  const std::string sound = BuildTable(Numbers(40), Always()).bytes;
  const SstableFigures figures = Open(sound)->figures();
  for (const uint64_t bytes : {uint64_t{0}, figures.key_hash_bytes - 8, figures.key_hash_bytes + 8,
                               UINT64_MAX, uint64_t{1} << 63}) {
    EXPECT_TRUE(absl::IsDataLoss(OpenSstable(WithNumber(sound, "key_hash_bytes", bytes)).status()));
  }
  // A byte less of one and more of the other: no number of hashes takes so many.
  EXPECT_TRUE(absl::IsDataLoss(
      OpenSstable(WithNumber(WithNumber(sound, "key_hash_bytes", figures.key_hash_bytes - 1),
                             "data_bytes", figures.data_bytes + 1))
          .status()));
  // A filter of them would deny keys.
  EXPECT_TRUE(absl::IsDataLoss(OpenSstable(WithNumber(sound, "num_filter_keys", 41)).status()));
  EXPECT_TRUE(OpenSstable(WithNumber(sound, "num_filter_keys", 40)).ok());
}

TEST(SstableKeyHashes, VerifyComparesThemWithTheKeys) {
  const std::string sound = BuildTable(Numbers(40), Always()).bytes;
  const BlockHandle handle = Open(sound)->key_hash_layout().handle(0);
  for (const uint64_t hash : {uint64_t{0}, uint64_t{17}, uint64_t{39}}) {
    std::string bytes = sound;
    bytes[handle.offset + 8 + hash * 8] ^= 1;
    const auto problems = Open(fuzz::ResealTable(bytes, {handle}))->Verify();
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_THAT(problems[0].reason, HasSubstr(absl::StrCat("\"key", 1'000'000 + hash, "\"")));
    EXPECT_THAT(problems[0].reason, HasSubstr("the key hashes are not those of the keys"));
  }
}

// A key that turned into another version of the one before it.
TEST(SstableKeyHashes, VerifyFindsHashesOfNoKey) {
  SstableModel model;
  model[MakeInternalKey("a2", 5, EntryType::kPut)] = "x";
  model[MakeInternalKey("a3", 4, EntryType::kPut)] = "y";
  std::string bytes = BuildTable(model, Always()).bytes;
  std::vector<BlockHandle> data;
  ASSERT_TRUE(Open(bytes)
                  ->ForEachBlock([&](const SstableBlockInfo& block) {
                    if (block.kind == BlockKind::kData) {
                      data.push_back({block.offset, block.stored_bytes - kBlockTrailerBytes});
                    }
                  })
                  .ok());
  ASSERT_EQ(data.size(), 1u);
  const size_t at = bytes.find("3xy", data[0].offset);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = '2';
  EXPECT_THAT(Open(fuzz::ResealTable(bytes, data))->Verify(),
              Contains(Field(&SstableProblem::reason, HasSubstr("more hashes than keys"))));
}

// What is kept of a table is not what is asked of its filter file.
TEST(SstableKeyHashes, AreOfOneFilterKeyAndOneSeed) {
  const auto table = Open(BuildTable(Numbers(40), Always("prefix:8")).bytes);
  EXPECT_TRUE(table->HasKeyHashesFor(Extractor("prefix:8"), kSeed));
  EXPECT_FALSE(table->HasKeyHashesFor(Extractor("prefix:8"), kSeed + 1));
  EXPECT_FALSE(table->HasKeyHashesFor(Extractor("prefix:7"), kSeed));
  EXPECT_FALSE(table->HasKeyHashesFor(Extractor("whole+prefix:8"), kSeed));
  EXPECT_FALSE(Open(BuildTable(Numbers(40), SstableBuilderOptions()).bytes)
                   ->HasKeyHashesFor(Extractor("whole"), 0));
}

}  // namespace
}  // namespace winnow::sstable_key_hashes
