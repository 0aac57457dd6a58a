// What reads promise beyond finding keys: odd arguments, pinned values, iterators.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

TEST(DbReads, MultiGetWithSpansOfDifferentSizesIsAnErrorForEachKey) {
  MemoryDb db;
  std::vector<std::string_view> keys{"a", "b"};
  std::vector<PinnedValue> values(1);
  std::vector<absl::Status> statuses(2);
  db->MultiGet(ReadOptions(), keys, values, statuses);
  for (const absl::Status& status : statuses) EXPECT_TRUE(absl::IsInvalidArgument(status));
}

TEST(DbReads, MultiGetTakesTheSameKeyTwiceAndNoKeyAtAll) {
  MemoryDb db;
  db.Put("a", "1");
  db.Flush();
  db.Put("b", "2");
  EXPECT_EQ(db.MultiGet({"b", "a", "b", "x", "a"}),
            (std::vector<std::string>{"2", "1", "2", "(absent)", "1"}));
  EXPECT_TRUE(db.MultiGet({}).empty());
}

TEST(DbReads, ANullColumnFamilyIsInvalid) {
  MemoryDb db;
  std::string value;
  EXPECT_TRUE(absl::IsInvalidArgument(db->Get(ReadOptions(), nullptr, "key", &value)));
  EXPECT_TRUE(absl::IsInvalidArgument(db->Put(WriteOptions(), nullptr, "key", "value")));
  EXPECT_TRUE(absl::IsInvalidArgument(db->NewIterator(ReadOptions(), nullptr)->status()));
}

TEST(DbReads, APinnedValueOutlivesOverwritingCompactionAndItsFile) {
  MemoryDb db;
  const std::string original(3000, 'o');
  db.Put("key", original);
  db.CompactAll();
  PinnedValue pinned;
  ASSERT_TRUE(db->Get(ReadOptions(), "key", &pinned).ok());
  EXPECT_TRUE(pinned.is_pinned());
  db.Put("key", "new");
  db.CompactAll();
  for (int i = 0; i < 100; i++) db.Put(absl::StrCat("other", i), original);
  db.CompactAll();
  EXPECT_EQ(pinned.view(), original);
  PinnedValue moved = std::move(pinned);
  EXPECT_EQ(moved.view(), original);
  EXPECT_EQ(db.Get("key"), "new");
  moved.Reset();
  EXPECT_EQ(moved.view(), "");
}

class Backwards final : public Comparator {
 public:
  std::string_view Name() const override { return "test.backwards"; }
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  bool EqualKeysHaveEqualBytes() const override { return true; }
};

// Where filters have said "maybe" for a while, the index is looked at before they are asked.
TEST(DbReads, WhatEarlierLookUpsFoundChangesNoAnswer) {
  const Backwards backwards;
  for (const Comparator* comparator :
       {BytewiseComparator(), static_cast<const Comparator*>(&backwards)}) {
    Options options = MemoryDb::Quiet();
    options.comparator = comparator;
    options.target_file_bytes = size_t{64} << 10;  // several files
    MemoryDb db(options);
    // Keys that share more than eight bytes, some of them hardly longer than that.
    const auto key = [](int i) { return absl::StrCat("user:00000", i % 7 == 0 ? "" : "0", i); };
    std::map<std::string, std::string> expected;
    const auto put = [&](int i, const char* generation) {
      const std::string value = absl::StrCat(generation, i, std::string(50, 'v'));
      db.Put(key(i), value);
      expected[key(i)] = value;
    };
    const auto check = [&] {
      for (int run = 0; run < 8; run++) {
        for (int i = 0; i < 3000; i++) {
          // So many keys that are there in a row, then one that is not, or lies outside.
          std::vector<std::string> sought(static_cast<size_t>(run), key(2 * i));
          sought.push_back(key(2 * i + 1));
          sought.push_back(i % 2 == 0 ? "user:" : "user:1");
          for (const std::string& wanted : sought) {
            const auto found = expected.find(wanted);
            ASSERT_EQ(db.Get(wanted), found == expected.end() ? "(absent)" : found->second);
          }
        }
      }
    };
    for (int i = 0; i < 6000; i += 2) put(i, "first ");
    db.CompactAll();
    check();
    for (int i = 0; i < 6000; i += 10) put(i, "second ");
    db.Flush();
    check();
  }
}

// A memtable that is empty is left out.
TEST(DbIterators, DoNotShowWhatAnEmptyMemtableGetsLater) {
  MemoryDb db;
  const auto of_nothing = db->NewIterator(ReadOptions());
  db.Put("b", "old");
  db.Put("d", "old");
  of_nothing->SeekToFirst();
  EXPECT_FALSE(of_nothing->Valid());
  of_nothing->SeekToLast();
  EXPECT_FALSE(of_nothing->Valid());
  EXPECT_TRUE(of_nothing->status().ok());
  db.CompactAll();
  const auto of_tables = db->NewIterator(ReadOptions());
  db.Put("a", "new");
  db.Put("b", "new");
  db.Put("c", "new");
  db.Delete("d");
  std::string shown;
  for (of_tables->SeekToFirst(); of_tables->Valid(); of_tables->Next()) {
    shown.append(of_tables->key()).append("=").append(of_tables->value()).append(" ");
  }
  for (of_tables->SeekToLast(); of_tables->Valid(); of_tables->Prev()) {
    shown.append(of_tables->key()).append("=").append(of_tables->value()).append(" ");
  }
  EXPECT_EQ(shown, "b=old d=old d=old b=old ");
  const auto of_all = db->NewIterator(ReadOptions());
  of_all->Seek("b");
  ASSERT_TRUE(of_all->Valid());
  EXPECT_EQ(of_all->value(), "new");
}

TEST(DbIterators, ShowTheMomentOfTheirMakingWhateverFollows) {
  MemoryDb db;
  for (int i = 0; i < 100; i++) db.Put(absl::StrCat("key", 100 + i), "old");
  const auto iterator = db->NewIterator(ReadOptions());
  for (int i = 0; i < 100; i++) i % 2 ? db.Delete(absl::StrCat("key", 100 + i)) : db.Put("new", "");
  db.CompactAll();
  int count = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    EXPECT_EQ(iterator->value(), "old");
    count++;
  }
  EXPECT_EQ(count, 100);
}

}  // namespace
}  // namespace winnow
