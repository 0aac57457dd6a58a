// The signatures of a table: what they hold, what they promise, and what damage does to them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/write_time.h"
#include "engine/sstable/signature_block.h"
#include "engine/sstable/signature_builder.h"
#include "engine/sstable/signature_cursor.h"
#include "tests/engine/sstable/sstable_model.h"

namespace winnow {
namespace {

// "group|field|version"; a key without '|' is none that is known, and one with "marker" for its
// field has no value.
bool ParsePath(std::string_view key, std::string_view value, SignedEntry* parsed) {
  const size_t first = key.find('|');
  const size_t last = key.rfind('|');
  if (first == std::string_view::npos || first == last) return false;
  parsed->group = key.substr(0, first);
  parsed->field = key.substr(first + 1, last - first - 1);
  parsed->has_value = parsed->field != "marker";
  parsed->value = value;
  return true;
}
bool ParseWithoutItsFirstByte(std::string_view key, std::string_view value, SignedEntry* parsed) {
  const bool is_known = ParsePath(key, value, parsed);
  parsed->value.remove_prefix(1);
  return is_known;
}

struct Value {
  std::string key;
  std::string value;
};

SstableBuilderOptions SignedOptions(SignedFields fields) {
  SstableBuilderOptions options;
  options.signed_entry_parser = ParsePath;
  options.signed_fields = std::move(fields);
  options.hash_seed = 11;
  return options;
}

std::string Build(const std::vector<Value>& values, const SstableBuilderOptions& options) {
  SstableModel model;
  for (const Value& value : values) {
    model[MakeInternalKey(value.key, 5, EntryType::kPut)] = value.value;
  }
  return BuildTable(model, options).bytes;
}

std::unique_ptr<SstableReader> Open(const std::string& bytes) {
  auto table = OpenSstable(bytes);
  EXPECT_TRUE(table.ok()) << table.status();
  return *std::move(table);
}

using Groups = std::map<std::string, Signature>;
Groups SignaturesIn(const SstableReader& table, std::string_view from = {}) {
  Groups groups;
  SignatureCursor cursor(table, {});
  const absl::Status opened = cursor.Open();
  EXPECT_TRUE(opened.ok()) << opened;
  for (cursor.Seek(from); cursor.Valid(); cursor.Next()) {
    groups[std::string(cursor.group())] = cursor.signature();
  }
  EXPECT_TRUE(cursor.status().ok()) << cursor.status();
  return groups;
}

Signature Of(const std::vector<std::pair<std::string, std::string>>& values) {
  Signature signature;
  for (const auto& [field, value] : values) signature.Add(Signature(field, value, 11));
  return signature;
}

std::vector<Value> ManyGroups(int count) {
  std::vector<Value> values;
  for (int i = 0; i < count; i++) {
    const std::string group = absl::StrCat("group", 100'000 + i);
    values.push_back({group + "|city|1", absl::StrCat("city", i % 97)});
    values.push_back({group + "|note|1", std::string(20, 'n')});
  }
  return values;
}

TEST(SstableSignatures, HaveEachSignedValueOfAGroupInAnyVersion) {
  const std::string bytes = Build({{"a|city|1", "Bonn"},
                                   {"a|city|2", "Ulm"},
                                   {"a|name|1", "ann"},
                                   {"b|marker|1", "x"},
                                   {"b|note|1", "not signed"},
                                   {"c|city|1", ""}},
                                  SignedOptions({"city", "marker", "name"}));
  const auto table = Open(bytes);
  const Groups groups = SignaturesIn(*table);
  ASSERT_EQ(groups.size(), 2u) << "b has no value of a signed field";
  EXPECT_EQ(groups.at("a"), Of({{"city", "Bonn"}, {"city", "Ulm"}, {"name", "ann"}}));
  EXPECT_EQ(groups.at("c"), Of({{"city", ""}}));
  EXPECT_EQ(table->ReadProperties()->num_signatures, 2u);
  EXPECT_EQ(table->Verify(nullptr, ParsePath).size(), 0u);
}

TEST(SstableSignatures, AreFoundByTheirIndexAcrossBlocks) {
  SstableBuilderOptions options = SignedOptions({"city"});
  options.block_bytes = 256;
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    options.compression = compression;
    const auto table = Open(Build(ManyGroups(2'000), options));
    EXPECT_EQ(SignaturesIn(*table).size(), 2'000u);
    EXPECT_EQ(SignaturesIn(*table, "group100500").size(), 1'500u);
    EXPECT_EQ(SignaturesIn(*table, "group100500x").size(), 1'499u);
    EXPECT_TRUE(SignaturesIn(*table, "h").empty());
    uint64_t blocks = 0;
    uint64_t groups = 0;
    uint64_t bytes = 0;
    const auto count = [&](const SstableBlockInfo& block) {
      const bool is_index = block.kind == BlockKind::kSignatureIndex;
      if (block.kind != BlockKind::kSignatures && !is_index) return;
      bytes += block.stored_bytes;
      if (is_index) {
        EXPECT_EQ(block.num_entries, blocks);
      } else {
        blocks++;
        groups += block.num_entries;
      }
    };
    ASSERT_TRUE(table->ForEachBlock(count).ok());
    EXPECT_GT(blocks, 50u);
    EXPECT_EQ(groups, 2'000u);
    EXPECT_EQ(bytes, table->figures().signature_bytes);
  }
}

TEST(SstableSignatures, AreOfTablesOnlyThatWereAskedForAndUnderstood) {
  const std::vector<Value> values = {{"a|city|1", "Ulm"}};
  EXPECT_TRUE(Open(Build(values, SignedOptions({"city"})))->has_signatures());
  // So that nobody takes the table for one that was not asked.
  EXPECT_TRUE(Open(Build(values, SignedOptions({"other"})))->has_signatures());
  EXPECT_FALSE(Open(Build(values, SignedOptions({})))->has_signatures());
  SstableBuilderOptions without_parser = SignedOptions({"city"});
  without_parser.signed_entry_parser = nullptr;
  EXPECT_FALSE(Open(Build(values, without_parser))->has_signatures());
  EXPECT_FALSE(Open(Build({{"a|city|1", "Ulm"}, {"unknown", ""}}, SignedOptions({"city"})))
                   ->has_signatures());
}

TEST(SstableSignatures, OfAGroupOfAnySizeTakeTheSameMemory) {
  SignatureBuilder builder(ParsePath, {"city"}, 11, 4096);
  for (int i = 0; i < 100'000; i++) {
    builder.Add(MakeInternalKey(absl::StrCat("a|city|", 1'000'000 + i), 5, EntryType::kPut),
                "value");
  }
  EXPECT_LT(builder.EstimatedBytes(), 100u);
  EXPECT_EQ(builder.num_groups(), 0u) << "it may go on";
}

TEST(SstableSignatures, PassOverDeletionsAndWriteTimes) {
  SstableModel model;
  std::string timed = "Ulm";
  AppendWriteTime(&timed, 77);
  model[MakeInternalKey("a|city|1", 5, EntryType::kPutWithTime)] = timed;
  model[MakeInternalKey("a|city|2", 5, EntryType::kDelete)] = "";
  const auto table = Open(BuildTable(model, SignedOptions({"city"})).bytes);
  EXPECT_EQ(SignaturesIn(*table).at("a"), Of({{"city", "Ulm"}}));
  EXPECT_EQ(table->Verify(nullptr, ParsePath).size(), 0u);
  // What an operand makes is not known here.
  model[MakeInternalKey("b|city|1", 5, EntryType::kMerge)] = "operand";
  EXPECT_FALSE(Open(BuildTable(model, SignedOptions({"city"})).bytes)->has_signatures());
}

// PostgreSQL's bloom: a value sets k of m bits, here always two different ones.
TEST(SstableSignatures, LetThroughAsManyGroupsAsTheTheorySays) {
  constexpr int kGroups = 200'000;
  constexpr double kBits = Signature::kBits;
  for (const int num_fields : {1, 4, 16}) {
    int passed = 0;
    for (int i = 0; i < kGroups; i++) {
      Signature signature;
      for (int field = 0; field < num_fields; field++) {
        signature.Add(Signature(absl::StrCat("f", field), absl::StrCat(i), 3));
      }
      EXPECT_TRUE(signature.MayContain(Signature("f0", absl::StrCat(i), 3)));
      passed += signature.MayContain(Signature("f0", "absent", 3)) ? 1 : 0;
    }
    // Neither bit is set by any of n values, by inclusion and exclusion.
    const double one_clear = std::pow(1 - 2 / kBits, num_fields);
    const double both_clear =
        std::pow((kBits - 2) * (kBits - 3) / (kBits * (kBits - 1)), num_fields);
    const double expected = 1 - 2 * one_clear + both_clear;
    const double deviation = std::sqrt(expected * (1 - expected) / kGroups);
    EXPECT_NEAR(static_cast<double>(passed) / kGroups, expected, 5 * deviation) << num_fields;
    // A little better than where the two bits may be one.
    EXPECT_LT(expected, std::pow(1 - std::pow(1 - 1 / kBits, 2 * num_fields), 2));
  }
}

// Byte by byte, as FORMAT.md has it.
TEST(SstableSignatures, HaveTheFormThatIsDocumented) {
  SignatureBlockBuilder builder;
  builder.Add("ab", Signature::Decode("0123456789"));
  builder.Add("acd", Signature::Decode("abcdefghij"));
  const std::string block = builder.Finish();
  EXPECT_EQ(block, std::string("\0\0\0\0\2\0\0\0\0\2"
                               "ab0123456789\1\2"
                               "cdabcdefghij",
                               36));
  EXPECT_EQ(SignatureBlockError(block), nullptr);
  SignatureIndex index;
  index.seed = 7;
  index.fields = {"a", "bc"};
  index.blocks = {{300, "acd"}};
  EXPECT_EQ(index.Encode(), std::string("\0\0\0\0\7\0\0\0\0\0\0\0\2\1a\2bc\1\xac\2\3acd", 25));
}

TEST(SstableSignatures, VerifyComparesThemWithTheEntries) {
  const auto table = Open(Build(ManyGroups(3), SignedOptions({"city"})));
  EXPECT_TRUE(table->Verify(nullptr, ParsePath).empty());
  const auto problems = table->Verify(nullptr, ParseWithoutItsFirstByte);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_TRUE(absl::StrContains(problems[0].reason, "its signature does not have its value"))
      << problems[0].reason;
}

TEST(SstableSignatures, EachDamagedByteIsSeenAndNoneKeepsTheTableFromBeingRead) {
  SstableBuilderOptions options = SignedOptions({"city"});
  options.block_bytes = 512;
  const std::string sound = Build(ManyGroups(100), options);
  const SstableFigures figures = Open(sound)->figures();
  for (uint64_t i = 0; i < figures.signature_bytes; i++) {
    std::string bytes = sound;
    bytes[figures.data_bytes + i] ^= 0x10;
    const auto table = Open(bytes);
    SignatureCursor cursor(*table, {});
    absl::Status status = cursor.Open();
    if (status.ok()) {
      for (cursor.Seek({}); cursor.Valid();) cursor.Next();
      status = cursor.status();
    }
    ASSERT_TRUE(absl::IsDataLoss(status)) << i << ": " << status;
    ASSERT_TRUE(absl::StrContains(status.message(), "signature")) << status;
    ASSERT_EQ(table->Verify(nullptr, ParsePath).size(), 1u) << i;
  }
}

TEST(SstableSignatures, MalformedBlocksAndIndexesAreRefused) {
  SignatureBlockBuilder builder;
  builder.Add("ab", Signature());
  builder.Add("ac", Signature());
  const std::string block = builder.Finish();
  SignatureIndex index;
  for (size_t i = 0; i < block.size(); i++) {
    EXPECT_NE(SignatureBlockError(block.substr(0, i)), nullptr) << i;
  }
  EXPECT_NE(SignatureBlockError(block + "x"), nullptr);
  index.fields = {"b", "a"};
  EXPECT_STREQ(SignatureIndex().Decode(index.Encode()), "signed fields out of order");
  index.fields = {"a"};
  index.blocks = {{10, "y"}, {10, "x"}};
  EXPECT_STREQ(SignatureIndex().Decode(index.Encode()), "signature blocks out of order");
  index.blocks = {{10, "x"}, {0, "y"}};
  EXPECT_NE(SignatureIndex().Decode(index.Encode()), nullptr) << "a block without bytes";
}

}  // namespace
}  // namespace winnow
