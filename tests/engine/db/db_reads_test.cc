// What reads promise beyond finding keys: odd arguments, pinned values, iterators.
#include <gtest/gtest.h>

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
