// Filters of prefixes, whole keys and both, in one piece and in partitions: the settings whose
// combinations have lost keys in RocksDB and other stores. Each test is named for what went wrong.

#include <rocksdb/env.h>
#include <rocksdb/iterator.h>
#include <rocksdb/statistics.h>

#include <map>

#include "tests/filter/rocksdb/rocksdb_fixture.h"

namespace winnow::filter {
namespace {

constexpr size_t kPrefixLength = 4;

struct Setting {
  bool whole_keys;
  bool prefixes;
  bool partitioned;
};

std::vector<Setting> AllSettings() {
  std::vector<Setting> settings;
  for (const bool whole_keys : {false, true}) {
    for (const bool prefixes : {false, true}) {
      for (const bool partitioned : {false, true}) {
        settings.push_back({whole_keys, prefixes, partitioned});
      }
    }
  }
  return settings;
}

std::string NameOf(const Setting& setting) {
  return std::string(setting.whole_keys ? "whole keys" : "no whole keys") +
         (setting.prefixes ? ", prefixes" : ", no prefixes") +
         (setting.partitioned ? ", partitioned" : ", one piece");
}

// Groups "g00_", "g02_", … of `group_size` keys; keys shorter than a prefix, and the empty one.
std::map<std::string, std::string> GroupedEntries(int group_size) {
  std::map<std::string, std::string> entries;
  for (int group = 0; group < 60; group += 2) {
    for (int i = 0; i < group_size; ++i) {
      char key[32];
      std::snprintf(key, sizeof(key), "g%02d_%03d", group, 2 * i);
      entries[key] = "value of " + std::string(key);
    }
  }
  for (const char* key : {"", "g", "g0", "g00", "z"}) entries[key] = "short";
  return entries;
}

class PrefixTest : public testing::TestWithParam<std::string> {
 protected:
  void Open(const Setting& setting, size_t prefix_length = kPrefixLength,
            uint64_t partition_bytes = 1) {
    db_.reset();
    const PolicyPointer policy = MakeTestPolicy(GetParam());
    rocksdb::BlockBasedTableOptions table =
        setting.partitioned ? PartitionedTable(policy, partition_bytes) : TableWithFilter(policy);
    table.block_size = 64;  // many partitions: RocksDB cuts them between data blocks
    table.whole_key_filtering = setting.whole_keys;
    rocksdb::Options options = SmallTreeOptions();
    options.env = memory_.get();
    options.disable_auto_compactions = true;
    if (setting.prefixes) {
      options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(prefix_length));
    }
    db_ = OpenOrFail(options, table, "/db");
    ASSERT_NE(db_, nullptr);
  }

  void Fill(const std::map<std::string, std::string>& entries) {
    for (const auto& [key, value] : entries) ASSERT_TRUE(db_->Put({}, key, value).ok());
    ASSERT_TRUE(db_->Flush({}).ok());
  }

  void StartAnew(const Setting& setting, const std::map<std::string, std::string>& entries) {
    db_.reset();
    memory_.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
    Open(setting);
    Fill(entries);
  }

  void ExpectGetsFind(const std::map<std::string, std::string>& entries) {
    std::vector<std::string> keys;
    std::string value;
    for (const auto& [key, expected] : entries) {
      ASSERT_TRUE(db_->Get({}, key, &value).ok()) << "'" << key << "'";
      ASSERT_EQ(value, expected);
      keys.push_back(key);
      keys.push_back(key + "?");  // absent
    }
    const std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
    std::vector<rocksdb::PinnableSlice> values(keys.size());
    std::vector<rocksdb::Status> statuses(keys.size());
    db_->MultiGet({}, db_->DefaultColumnFamily(), keys.size(), slices.data(), values.data(),
                  statuses.data());
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(statuses[i].ok(), i % 2 == 0) << "'" << keys[i] << "' " << statuses[i].ToString();
    }
  }

  // From each key, from the gaps between keys and from each prefix alone, in both directions. The
  // keys of the sought prefix must come, whatever the extractor.
  void ExpectSeeksFind(const std::map<std::string, std::string>& entries) {
    const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator({}));
    const auto extractor = db_->GetOptions().prefix_extractor;
    const auto same_prefix = [&](const std::string& a, const std::string& b) {
      if (extractor == nullptr) return true;
      return extractor->InDomain(a) && extractor->InDomain(b) &&
             extractor->Transform(a) == extractor->Transform(b);
    };
    for (const auto& entry : entries) {
      for (const std::string& target :
           {entry.first, entry.first + "!", entry.first.substr(0, kPrefixLength)}) {
        const auto next = entries.lower_bound(target);
        if (next != entries.end() && same_prefix(target, next->first)) {
          iterator->Seek(target);
          ASSERT_TRUE(iterator->Valid()) << "'" << target << "' forward";
          ASSERT_EQ(iterator->key().ToString(), next->first) << "'" << target << "'";
        }
        auto previous = entries.upper_bound(target);
        if (previous == entries.begin() || !same_prefix(target, (--previous)->first)) continue;
        iterator->SeekForPrev(target);
        ASSERT_TRUE(iterator->Valid()) << "'" << target << "' backward";
        ASSERT_EQ(iterator->key().ToString(), previous->first) << "'" << target << "'";
      }
    }
    ASSERT_TRUE(iterator->status().ok());
  }

  std::unique_ptr<rocksdb::Env> memory_;  // outlives the database in it
  std::unique_ptr<rocksdb::DB> db_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, PrefixTest, testing::ValuesIn(BuildingKinds()), KindOfTest);

// Once: a prefix that ended one partition was missing from the next; the empty key was taken for
// "the same as before" and never added; a separator equal to the next partition's prefix led the
// probe astray; SeekForPrev looked into the wrong partition, mended three times.
TEST_P(PrefixTest, EverySettingFindsEveryKeyAndPrefixInBothDirections) {
  for (const Setting& setting : AllSettings()) {
    SCOPED_TRACE(NameOf(setting));
    for (const int group_size : {1, 2, 30}) {
      const auto entries = GroupedEntries(group_size);
      StartAnew(setting, entries);
      ExpectGetsFind(entries);
      ExpectSeeksFind(entries);
      if (HasFatalFailure()) return;
    }
  }
}

// Once: a file did not record whether it holds whole keys or prefixes, and reopening with other
// settings lost keys; MultiGet asked for whole keys where there were prefixes.
TEST_P(PrefixTest, ReopeningWithEveryOtherSettingLosesNothing) {
  const auto entries = GroupedEntries(3);
  for (const Setting& before : AllSettings()) {
    StartAnew(before, entries);
    for (const Setting& after : AllSettings()) {
      SCOPED_TRACE(NameOf(before) + ", then " + NameOf(after));
      Open(after);
      ExpectGetsFind(entries);
      ExpectSeeksFind(entries);
      if (HasFatalFailure()) return;
    }
  }
}

// Once: after a change of the extractor at run time, the memtable and the files used different
// ones.
TEST_P(PrefixTest, AnExtractorMayChangeWithDataEverywhere) {
  auto entries = GroupedEntries(3);
  for (const bool partitioned : {false, true}) {
    for (const bool whole_keys : {false, true}) {
      SCOPED_TRACE(NameOf({whole_keys, true, partitioned}));
      StartAnew({whole_keys, true, partitioned}, entries);
      rocksdb::CompactRangeOptions below;
      ASSERT_TRUE(db_->CompactRange(below, nullptr, nullptr).ok());
      Fill({{"g01_000", "in a level 0 file"}});
      ASSERT_TRUE(db_->Put({}, "g03_000", "in the memtable").ok());
      auto all = entries;
      all["g01_000"] = "in a level 0 file";
      all["g03_000"] = "in the memtable";
      for (const char* extractor : {"fixed:3", "nullptr", "capped:5", "fixed:1", "fixed:4"}) {
        SCOPED_TRACE(extractor);
        ASSERT_TRUE(db_->SetOptions({{"prefix_extractor", extractor}}).ok());
        ExpectGetsFind(all);
        ExpectSeeksFind(all);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// RocksDB 7 counts these where it counts look-ups that a prefix filter has rejected; later releases
// have tickers of their own for them, which are known by name where headers of 7 do not have them.
uint64_t SeeksRejected(const rocksdb::Statistics& statistics) {
  uint64_t rejected = 0;
  for (const auto& [ticker, name] : rocksdb::TickersNameMap) {
    if (name == "rocksdb.bloom.filter.prefix.useful" ||
        name == "rocksdb.last.level.seek.filtered" ||
        name == "rocksdb.non.last.level.seek.filtered") {
      rejected += statistics.getTickerCount(ticker);
    }
  }
  return rejected;
}

// Prefix filters do their work, too: seeks to absent groups between present ones are rejected.
TEST_P(PrefixTest, AbsentPrefixesAreRejected) {
  for (const bool partitioned : {false, true}) {
    for (const bool whole_keys : {false, true}) {
      StartAnew({whole_keys, true, partitioned}, GroupedEntries(30));
      const auto statistics = db_->GetOptions().statistics;
      ASSERT_TRUE(statistics->Reset().ok());
      const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator({}));
      for (int group = 1; group < 59; group += 2) {
        char target[32];
        std::snprintf(target, sizeof(target), "g%02d_", group);
        iterator->Seek(target);
      }
      EXPECT_GE(SeeksRejected(*statistics), 25u) << partitioned << whole_keys;
    }
  }
}

// A partition holds no more than its share: the filter is in several blocks, each of about the size
// asked for, and absent keys are rejected in each.
TEST_P(PrefixTest, PartitionsRejectLikeWholeFilters) {
  const TestFolder folder;
  rocksdb::BlockBasedTableOptions table =
      PartitionedTable(MakeTestPolicy(GetParam() + ":1%"), 4096);
  auto db = OpenOrFail(SmallTreeOptions(), table, folder.Path("db"));
  PutEvenKeys(db.get(), 30'000);
  ASSERT_TRUE(db->CompactRange({}, nullptr, nullptr).ok());
  ExpectAllFound(db.get(), 30'000);
  EXPECT_LT(AskAbsentKeys(db.get(), 30'000), 0.02);
}

}  // namespace
}  // namespace winnow::filter
