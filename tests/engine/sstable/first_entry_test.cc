// SstableReader::FindFirst against the model: what begins with a prefix, and whether the filter was
// right to let it through.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/engine/sstable/sstable_model.h"

namespace winnow {
namespace {

// The keys have much in common, so that blocks end between those with one beginning.
SstableModel SharingModel(std::mt19937* random, size_t num_keys) {
  SstableModel model;
  for (size_t i = 0; i < num_keys; i++) {
    std::string key;
    for (size_t length = (*random)() % 7; key.size() < length;) {
      key.push_back("abc\xff"[(*random)() % 4]);
    }
    const EntryType type = (*random)() % 4 == 0 ? EntryType::kDelete : EntryType::kPut;
    const std::string value = type == EntryType::kPut ? std::string((*random)() % 40, 'v') : "";
    model[MakeInternalKey(key, 1 + (*random)() % 50, type)] = value;
  }
  return model;
}

// In ascending order of their lengths.
std::vector<std::string> Prefixes() {
  std::vector<std::string> all = {"a", "b", "c", "\xff"};
  for (size_t i = 0; all[i].size() < 4; i++) {
    for (const char byte : {'a', 'b', 'c', '\xff'}) all.push_back(all[i] + byte);
  }
  all.emplace_back("d");
  all.emplace_back("a0");
  return all;
}

class FirstEntryTest : public testing::TestWithParam<SstableBuilderOptions> {};

TEST_P(FirstEntryTest, IsTheFirstThatBeginsWithThePrefix) {
  const std::vector<std::string> prefixes = Prefixes();
  for (uint32_t seed = 1; seed <= 30; seed++) {
    std::mt19937 random(seed);
    const SstableModel model = SharingModel(&random, 1 + random() % 400);
    const auto table = OpenSstable(BuildTable(model, GetParam()).bytes);
    ASSERT_TRUE(table.ok()) << table.status();
    PointLookup steps[2];
    bool has_neighbour = false;
    for (size_t i = 0; i < prefixes.size(); i++) {
      const std::string_view prefix = prefixes[i];
      FirstLookup lookup;
      lookup.prefix = prefix;
      lookup.filter_key_bytes = random() % (prefix.size() + 1);
      BlockDirectory::Place place{};
      const bool has_place = random() % 2 == 0 && (*table)->FindIndexLine(prefix, &place);
      lookup.place = has_place ? &place : nullptr;
      lookup.steps = &steps[i % 2];
      lookup.neighbour = has_neighbour ? &steps[1 - i % 2] : nullptr;
      has_neighbour = random() % 8 != 0;
      std::optional<std::string> key;
      std::string value;
      const absl::Status status =
          (*table)->FindFirst({}, &lookup, [&](const SstableReader::FirstEntry& entry) {
            EXPECT_LE(entry.shared, prefix.size());
            key.emplace(prefix.substr(0, entry.shared));
            key->append(entry.rest);
            PutFixed64(&*key, entry.trailer);
            value.assign(entry.value);
          });
      ASSERT_TRUE(status.ok()) << status;
      const auto begins_with = [&](SstableModel::const_iterator at, std::string_view beginning) {
        return at != model.end() && UserKey(at->first).starts_with(beginning);
      };
      const auto at =
          model.lower_bound(MakeInternalKey(prefix, kMaxSequenceNumber, kEntryTypeForSeek));
      ASSERT_EQ(key.has_value(), begins_with(at, prefix)) << "seed " << seed;
      if (key.has_value()) {
        EXPECT_EQ(*key, at->first);
        EXPECT_EQ(value, at->second);
      }
      if (lookup.filter_key_bytes == 0) continue;
      const std::string_view asked = prefix.substr(0, lookup.filter_key_bytes);
      const auto first =
          model.lower_bound(MakeInternalKey(asked, kMaxSequenceNumber, kEntryTypeForSeek));
      EXPECT_EQ(lookup.filter_key_present, begins_with(first, asked)) << "seed " << seed;
    }
  }
}

// Blocks of a few entries and of many, indexes of one level and of two.
INSTANTIATE_TEST_SUITE_P(Tables, FirstEntryTest, testing::ValuesIn([] {
                           std::vector<SstableBuilderOptions> all;
                           for (const size_t block_size : {32, 256, 4096}) {
                             for (const bool is_partitioned : {false, true}) {
                               SstableBuilderOptions options;
                               options.block_bytes = block_size;
                               options.restart_interval = block_size == 256 ? 3 : 16;
                               if (is_partitioned) {
                                 options.index_partition_threshold = 1;
                                 options.index_partition_bytes = 100;
                               }
                               all.push_back(options);
                             }
                           }
                           return all;
                         }()));

// What begins with one prefix after the other, where possible from the last that was found on.
TEST_P(FirstEntryTest, TheNextIsFoundBehindTheLast) {
  using NextEntry = SstableReader::NextEntry;
  size_t num_found = 0;
  size_t num_absent = 0;
  for (uint32_t seed = 1; seed <= 30; seed++) {
    std::mt19937 random(seed);
    const SstableModel model = SharingModel(&random, 400);
    const auto table = OpenSstable(BuildTable(model, GetParam()).bytes);
    ASSERT_TRUE(table.ok()) << table.status();
    PointLookup steps;
    std::string last;
    std::optional<std::string> key;
    const auto take = [&](std::string_view prefix) {
      return [&, prefix](const SstableReader::FirstEntry& entry) {
        key.emplace(prefix.substr(0, entry.shared));
        key->append(entry.rest);
        PutFixed64(&*key, entry.trailer);
        EXPECT_EQ(model.at(*key), entry.value);
      };
    };
    for (const std::string& prefix : Prefixes()) {
      const auto at =
          model.lower_bound(MakeInternalKey(prefix, kMaxSequenceNumber, kEntryTypeForSeek));
      key.reset();
      const NextEntry next = last.empty()
                                 ? NextEntry::kUnknown
                                 : SstableReader::FindNext(last, prefix, &steps, take(prefix));
      num_found += next == NextEntry::kFound ? 1 : 0;
      num_absent += next == NextEntry::kAbsent ? 1 : 0;
      if (next == NextEntry::kUnknown) {
        FirstLookup lookup;
        lookup.prefix = prefix;
        lookup.steps = &steps;
        ASSERT_TRUE((*table)->FindFirst({}, &lookup, take(prefix)).ok());
      }
      const bool is_there = at != model.end() && UserKey(at->first).starts_with(prefix);
      ASSERT_EQ(key.has_value(), is_there) << "seed " << seed;
      // What was found before is still the last.
      if (next == NextEntry::kAbsent) continue;
      last.clear();
      if (!key.has_value()) continue;
      ASSERT_EQ(*key, at->first) << "seed " << seed;
      last = UserKey(*key);
    }
  }
  // Blocks of 32 bytes hold one entry.
  EXPECT_EQ(num_found > 100, GetParam().block_bytes > 32) << num_found;
  EXPECT_EQ(num_absent > 100, GetParam().block_bytes > 32) << num_absent;
}

TEST(FirstEntry, AnErrorOfReadingIsTold) {
  std::mt19937 random(1);
  SstableBuilderOptions options;
  options.block_bytes = 256;
  const BuiltTable built = BuildTable(SharingModel(&random, 300), options);
  auto file = std::make_unique<StringFile>(built.bytes);
  StringFile* const reads = file.get();
  const auto table = SstableReader::Open({}, std::move(file), "t.sst");
  ASSERT_TRUE(table.ok());
  reads->bad_begin = 0;
  reads->bad_end = built.summary.properties.data_bytes;
  PointLookup steps;
  FirstLookup lookup;
  lookup.prefix = "b";
  lookup.steps = &steps;
  EXPECT_FALSE(
      (*table)->FindFirst({}, &lookup, [](const SstableReader::FirstEntry&) { FAIL(); }).ok());
}

}  // namespace
}  // namespace winnow
