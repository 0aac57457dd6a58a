// Filters end to end: whatever the settings, the order of events and the shape of the keys, no key
// is missed. Each test tells the story of a bug that another store has had.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"
#include "tests/support/db_model.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

using Keys = std::map<std::string, std::string>;

const std::vector<std::string>& FilterSpecs() {
  static const auto& specs =
      *new std::vector<std::string>{"blocked_bloom:10", "bloom:10", "cuckoo:1%"};
  return specs;
}
const std::vector<std::string>& FilterKeys() {
  static const auto& keys = *new std::vector<std::string>{
      "whole",        "prefix:1",       "prefix:4",          "prefix:40",
      "delimiter::",  "whole+prefix:4", "prefix:4+prefix:2", "whole+prefix:1+delimiter:::2",
      "delimiter:::2"};
  return keys;
}

// Runs `body` once for each filter kind and filter key.
template <typename Body>
void ForEachSetting(Body body) {
  for (const std::string& spec : FilterSpecs()) {
    for (const std::string& key : FilterKeys()) {
      SCOPED_TRACE(absl::StrCat("filter ", spec, ", filter key ", key));
      body(spec, key);
      if (testing::Test::HasFailure()) return;
    }
  }
}

Options WithFilter(const std::string& spec, const std::string& key) {
  Options options = MemoryDb::Quiet();
  options.filter = spec;
  options.filter_key = key;
  return options;
}

// Keys "LNNN:MMM:x"; letters b, d, ... x for `present`, c, e, ... w otherwise: absent keys differ
// from present ones in every filter key, and lie between them.
std::string LetteredKey(bool present, int i) {
  const char letter = static_cast<char>((present ? 'b' : 'c') + 2 * (i % (present ? 12 : 11)));
  return absl::StrFormat("%c%03d:%03d:x", letter, i % 7, i);
}

void PutLettered(MemoryDb* db, Keys* keys, int first, int last) {
  for (int i = first; i < last; i++) {
    const std::string key = LetteredKey(true, i);
    (*keys)[key] = absl::StrCat("value ", i);
    db->Put(key, (*keys)[key]);
  }
}

// Every way to read finds every key, and an iterator shows just these, both ways.
void ExpectExactly(MemoryDb* db, const Keys& keys) {
  ColumnFamily* family = (*db)->DefaultColumnFamily();
  std::vector<std::string> names;
  for (const auto& [key, value] : keys) {
    names.push_back(key);
    ASSERT_EQ(db->Get(key), value) << testing::PrintToString(key);
    ASSERT_TRUE((*db)->MayExist(ReadOptions(), family, key)) << testing::PrintToString(key);
    ReadOptions only_this;
    only_this.lower_bound = key;
    only_this.upper_bound = key + '\0';
    const auto iterator = (*db)->NewIterator(only_this);
    iterator->SeekToFirst();
    ASSERT_TRUE(iterator->Valid()) << testing::PrintToString(key);
    ASSERT_EQ(iterator->value(), value);
  }
  const std::vector<std::string> values = db->MultiGet(names);
  for (size_t i = 0; i < names.size(); i++) {
    ASSERT_EQ(values[i], keys.at(names[i])) << testing::PrintToString(names[i]);
  }
  const auto iterator = (*db)->NewIterator(ReadOptions());
  auto expected = keys.begin();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++expected) {
    ASSERT_NE(expected, keys.end());
    ASSERT_EQ(iterator->key(), expected->first);
  }
  ASSERT_EQ(expected, keys.end());
}

uint64_t Rejected(MemoryDb* db) {
  uint64_t rejected = 0;
  for (const FilterStatistics& row : (*db)->GetStatistics().filters) rejected += row.rejected;
  return rejected;
}

// Filters are not only right but used: of absent keys that they can tell apart most are rejected.
void ExpectFiltersUsed(MemoryDb* db) {
  const uint64_t before = Rejected(db);
  for (int i = 0; i < 100; i++) ASSERT_EQ(db->Get(LetteredKey(false, i)), "(absent)");
  EXPECT_GT(Rejected(db), before + 50);
}

// RocksDB #3776: the "last key added" started as the empty string, so that the empty key was never
// added.
TEST(DbFilter, FindsTheEmptyKeyAsOnlyAndAsFirstKey) {
  ForEachSetting([](const std::string& spec, const std::string& filter_key) {
    MemoryDb only(WithFilter(spec, filter_key));
    Keys keys{{"", "empty"}};
    only.Put("", "empty");
    only.Flush();
    ExpectExactly(&only, keys);
    MemoryDb first(WithFilter(spec, filter_key));
    first.Put("", "empty");
    PutLettered(&first, &keys, 0, 50);
    first.Flush();
    ExpectExactly(&first, keys);
    first.CompactAll();
    ExpectExactly(&first, keys);
  });
}

TEST(DbFilter, FindsTheEmptyKeyAsLastKey) {
  static const ReverseComparator reverse;
  for (const std::string& spec : FilterSpecs()) {
    Options options = WithFilter(spec, "whole");
    options.comparator = &reverse;
    MemoryDb db(options);
    for (const char* key : {"", "a", "b"}) db.Put(key, key);
    db.Flush();
    for (const char* key : {"", "a", "b"}) EXPECT_EQ(db.Get(key), key);
  }
}

// RocksDB #4024, #5835: a prefix whose keys lie on both sides of a boundary was only added on the
// first; separators equal to a prefix led to the wrong side.
TEST(DbFilter, FindsPrefixesAcrossEveryFileBoundary) {
  for (const char* filter_key : {"prefix:4", "delimiter::"}) {
    Options options = WithFilter("blocked_bloom:10", filter_key);
    options.target_file_bytes = 64 << 10;
    options.block_bytes = 256;
    MemoryDb db(options);
    Keys keys;
    for (int i = 0; i < 120; i++) {
      const std::string prefix = absl::StrFormat("p%02d:", i);
      keys[prefix] = std::string(1500, 'v');
      for (int j = 0; j < 6; j++) keys[absl::StrCat(prefix, j)] = std::string(1500, 'v');
    }
    for (const auto& [key, value] : keys) db.Put(key, value);
    db.CompactAll();
    const auto levels = db->GetStatistics().levels;
    ASSERT_EQ(levels.size(), 1u);
    ASSERT_GT(levels[0].num_files, 10u);
    ExpectExactly(&db, keys);
    for (int i = 0; i < 120; i++) {
      ReadOptions prefix;
      prefix.lower_bound = absl::StrFormat("p%02d:", i);
      prefix.upper_bound = absl::StrFormat("p%02d;", i);
      const auto iterator = db->NewIterator(prefix);
      int found = 0;
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) found++;
      EXPECT_EQ(found, 7) << *prefix.lower_bound;
    }
  }
}

// RocksDB #5665: MultiGet asked with whole keys filters that held prefixes.
TEST(DbFilter, GetAndMultiGetAgreeOnPresentAndAbsentKeys) {
  ForEachSetting([](const std::string& spec, const std::string& filter_key) {
    MemoryDb db(WithFilter(spec, filter_key));
    Keys present;
    PutLettered(&db, &present, 0, 100);
    db.CompactAll();
    PutLettered(&db, &present, 100, 150);
    db.Flush();
    PutLettered(&db, &present, 150, 170);
    std::vector<std::string> keys;
    for (int i = 0; i < 200; i++) {
      keys.push_back(LetteredKey(i % 2 == 0, i));
      keys.push_back(LetteredKey(true, i) + "-absent");
    }
    const std::vector<std::string> together = db.MultiGet(keys);
    for (size_t i = 0; i < keys.size(); i++) {
      ASSERT_EQ(together[i], db.Get(keys[i])) << keys[i];
      ASSERT_EQ(together[i] != "(absent)", present.contains(keys[i])) << keys[i];
    }
  });
}

// RocksDB #5190: a key shorter than the extractor's prefix was read past its end.
TEST(DbFilter, FindsKeysShorterThanThePrefix) {
  for (const int prefix : {1, 2, 7, 8, 9, 16}) {
    MemoryDb db(WithFilter("bloom:10", absl::StrCat("prefix:", prefix)));
    Keys keys;
    for (int length = 0; length <= prefix + 1; length++) {
      for (const char c : {'\0', 'a', '\xff'}) {
        keys[std::string(static_cast<size_t>(length), c)] =
            absl::StrCat("of ", length, " ", static_cast<int>(c));
      }
    }
    for (const auto& [key, value] : keys) db.Put(key, value);
    db.Flush();
    ExpectExactly(&db, keys);
  }
}

// RocksDB 68af7811ea, #7726, #9736: files did not record what they hold, so that other settings at
// the next open lost keys, or filters were silently no longer asked.
TEST(DbFilter, ReopenedWithEveryOtherSettingMissesNothingAndStillRejects) {
  for (const std::string& written : FilterKeys()) {
    for (const std::string& spec : FilterSpecs()) {
      SCOPED_TRACE(absl::StrCat("written with ", spec, " ", written));
      MemoryDb db(WithFilter(spec, written));
      Keys keys;
      PutLettered(&db, &keys, 0, 120);
      db.CompactAll();
      PutLettered(&db, &keys, 120, 200);
      db.Flush();
      for (const std::string& read : FilterKeys()) {
        SCOPED_TRACE("read with " + read);
        db.options().filter = read == "whole" ? "none" : "cuckoo:2%";
        db.options().filter_key = read;
        db.Reopen();
        ExpectExactly(&db, keys);
        ExpectFiltersUsed(&db);
        if (HasFailure()) return;
      }
    }
  }
}

// RocksDB history, 9.7: the extractor changed at run time, and memtables and files used different
// ones.
TEST(DbFilter, ExtractorChangedAtRunTimeMissesNothing) {
  MemoryDb db(WithFilter("blocked_bloom:10", "prefix:4"));
  Keys keys;
  PutLettered(&db, &keys, 0, 60);
  db.CompactAll();
  PutLettered(&db, &keys, 60, 120);
  db.Flush();
  PutLettered(&db, &keys, 120, 180);
  int next = 180;
  ForEachSetting([&](const std::string& spec, const std::string& filter_key) {
    const absl::Status set = db->SetFilter(spec, filter_key);
    ASSERT_TRUE(set.ok()) << set.ToString();
    ASSERT_EQ(*db->GetProperty("winnow.filter-key"), filter_key);
    ExpectExactly(&db, keys);
    PutLettered(&db, &keys, next, next + 30);
    next += 30;
    if (next % 60 == 0) db.Flush();
    ExpectExactly(&db, keys);
    ExpectFiltersUsed(&db);
  });
  db.CompactAll();
  ExpectExactly(&db, keys);
  db.options().filter.clear();
  db.options().filter_key.clear();
  db.Reopen();
  EXPECT_EQ(*db->GetProperty("winnow.filter-key"), FilterKeys().back());
  ExpectExactly(&db, keys);
}

// Pebble a6ce3f886: char is signed in C++ and bytes from 0x80 on in a key's tail hashed otherwise.
TEST(DbFilter, FindsKeysWithHighBytesInEveryPosition) {
  for (const std::string& spec : FilterSpecs()) {
    MemoryDb db(WithFilter(spec, "whole"));
    Keys keys;
    for (size_t length = 1; length <= 40; length++) {
      for (size_t at = 0; at < length; at++) {
        for (const char high : {'\x80', '\xfe', '\xff'}) {
          std::string key(length, 'k');
          key[at] = high;
          keys[key] = absl::StrCat(length, " ", at);
        }
      }
    }
    for (const auto& [key, value] : keys) db.Put(key, value);
    db.Flush();
    for (const auto& [key, value] : keys) ASSERT_EQ(db.Get(key), value);
  }
}

// RocksDB #5907, #8137, #12872 and HBASE-27936: SeekForPrev and scans asked prefix filters that
// could not answer for them; fixed three times, since each fix covered one setting.
TEST(DbFilter, BoundedScansInBothDirectionsShowTheSameAsWithoutFilters) {
  for (const uint64_t seed : Seeds(2)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    ForEachSetting([&](const std::string& spec, const std::string& filter_key) {
      std::mt19937_64 random(seed);
      KeyMaker maker(&random);
      MemoryDb db(WithFilter(spec, filter_key));
      ModelFamily model;
      for (int i = 0; i < 600; i++) {
        const std::string key = maker.Any();
        db.Put(key, std::to_string(i));
        PutInModel(&model, key, std::to_string(i));
        if (i == 200) db.CompactAll();
        if (i == 300 || i == 450) db.Flush();
      }
      for (int i = 0; i < 150; i++) {
        ReadOptions read;
        const std::string anchor = maker.Any();
        read.lower_bound = anchor.substr(0, 1 + maker.Below(8));
        if (i % 3 == 0) read.upper_bound = maker.Any();
        if (i % 3 == 1) read.upper_bound = *read.lower_bound + "\xff";
        const ModelFamily expected = Bounded(model, read.lower_bound, read.upper_bound);
        const auto iterator = db->NewIterator(read);
        auto forward = expected.begin();
        for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++forward) {
          ASSERT_NE(forward, expected.end());
          ASSERT_EQ(iterator->key(), forward->first);
        }
        ASSERT_EQ(forward, expected.end());
        const std::string target = maker.Any();
        auto backward = std::make_reverse_iterator(expected.upper_bound(target));
        for (iterator->SeekForPrev(target); iterator->Valid(); iterator->Prev(), ++backward) {
          ASSERT_NE(backward, expected.rend());
          ASSERT_EQ(iterator->key(), backward->first);
        }
        ASSERT_EQ(backward, expected.rend());
      }
    });
  }
}

// fjall lsm-tree 1bcca8b1, 68320889: a table whose keys end exactly where a filter part is cut got
// no filter.
TEST(DbFilter, EveryTableHasAFilterWhateverItsNumberOfKeys) {
  for (const std::string& spec : FilterSpecs()) {
    for (const int count : {1,   2,   3,   4,   5,   50,  51,  52,  53,   63,   64,   65,   101,
                            102, 103, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 4096, 4097}) {
      SCOPED_TRACE(absl::StrCat(spec, ", ", count, " keys"));
      MemoryDb db(WithFilter(spec, "whole"));
      for (int i = 0; i < count; i++) db.Put(absl::StrFormat("key%05d", i), "v");
      db.Flush();
      const auto levels = db->GetStatistics().levels;
      ASSERT_EQ(levels.size(), 1u);
      EXPECT_GT(levels[0].filter_bits_per_key, 0);
      for (int i = 0; i < count; i++) ASSERT_EQ(db.Get(absl::StrFormat("key%05d", i)), "v");
      ASSERT_TRUE(VerifyMessages(*db).empty());
    }
  }
}

// fjall lsm-tree 27e1d863, RocksDB #9453: a table of deletions alone. If its filter did not know
// the deleted keys, those below would come back.
TEST(DbFilter, TablesOfDeletionsAloneHideWhatLiesBelow) {
  ForEachSetting([](const std::string& spec, const std::string& filter_key) {
    MemoryDb db(WithFilter(spec, filter_key));
    Keys keys;
    PutLettered(&db, &keys, 0, 80);
    db.CompactAll();
    for (int i = 0; i < 80; i += 2) {
      db.Delete(LetteredKey(true, i));
      keys.erase(LetteredKey(true, i));
    }
    db.Flush();
    const auto levels = db->GetStatistics().levels;
    ASSERT_EQ(levels.size(), 2u);
    EXPECT_EQ(levels[0].num_entries, 40u);
    EXPECT_GT(levels[0].filter_bits_per_key, 0);
    for (int i = 0; i < 80; i += 2) ASSERT_EQ(db.Get(LetteredKey(true, i)), "(absent)");
    ExpectExactly(&db, keys);
    for (int i = 1; i < 80; i += 2) db.Delete(LetteredKey(true, i));
    db.CompactAll();
    ExpectExactly(&db, {});
    EXPECT_TRUE(db->GetStatistics().levels.empty());
  });
}

// Pebble a2d5e412b, 7c863c9c3: rewriting a table under another filter setting wrote an empty or
// damaged filter.
TEST(DbFilter, TablesRewrittenUnderAnotherSettingKeepAllKeysAndAFilter) {
  MemoryDb db(WithFilter("none", "whole"));
  Keys keys;
  PutLettered(&db, &keys, 0, 200);
  db.CompactAll();
  EXPECT_EQ(db->GetStatistics().levels.at(0).filter_bytes, 0u);
  ForEachSetting([&](const std::string& spec, const std::string& filter_key) {
    ASSERT_TRUE(db->SetFilter(spec, filter_key).ok());
    db.CompactAll();
    EXPECT_GT(db->GetStatistics().levels.at(0).filter_bits_per_key, 0);
    ExpectExactly(&db, keys);
    ExpectFiltersUsed(&db);
    ASSERT_TRUE(VerifyMessages(*db).empty());
  });
}

TEST(DbFilter, WithoutAFilterEverythingMayExist) {
  MemoryDb db(WithFilter("none", "whole"));
  db.Put("a", "value");
  db.Put("c", "value");
  db.Flush();
  for (const char* key : {"a", "b", "c"}) {
    EXPECT_TRUE(db->MayExist(ReadOptions(), key)) << key;
  }
  EXPECT_FALSE(*db->Exists(ReadOptions(), "b"));
}

// A read at an old snapshot does not see the key, but the file holds it: no filter answer may be
// remembered as wrong.
TEST(DbFilter, AKeyTooYoungForASnapshotIsNotTakenForAFalsePositive) {
  ForEachSetting([](const std::string& spec, const std::string& filter_key) {
    MemoryDb db(WithFilter(spec, filter_key));
    const SnapshotGuard before(*db);
    Keys keys;
    PutLettered(&db, &keys, 0, 50);
    db.Flush();
    for (int round = 0; round < 3; round++) {
      for (const auto& [key, value] : keys) ASSERT_EQ(db.Get(key, before.get()), "(absent)");
    }
    ExpectExactly(&db, keys);
    EXPECT_EQ(db->GetStatistics().Get(Ticker::kFalsePositiveCacheHits), 0u);
  });
}

}  // namespace
}  // namespace winnow
