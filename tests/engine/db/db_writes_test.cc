// What writes promise beyond being found: limits, batches, writes inside writes.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

TEST(DbLimits, KeysOverTheLimitAreRefusedEverywhereAndTheLongestOnesWork) {
  MemoryDb db;
  ColumnFamily* family = db->DefaultColumnFamily();
  const std::string too_long(kMaxKeyBytes + 1, 'k');
  const std::string longest(kMaxKeyBytes, 'k');
  std::string value;
  for (const absl::Status& status :
       {db->Put(WriteOptions(), too_long, "v"), db->Delete(WriteOptions(), too_long),
        db->Get(ReadOptions(), too_long, &value),
        db->Exists(ReadOptions(), family, too_long).status(),
        db->Explain(family, too_long).status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status.ToString();
  }
  EXPECT_TRUE(absl::StrContains(db.MultiGet({too_long})[0], "over the limit"));
  WriteBatch batch;
  batch.Put("innocent", "v");
  batch.Delete(too_long);
  EXPECT_TRUE(absl::IsInvalidArgument(db->Write(WriteOptions(), batch)));
  EXPECT_EQ(db.Get("innocent"), "(absent)") << "the whole batch is refused";
  db.Put(longest, "v");
  EXPECT_EQ(db.Get(longest), "v");
  db.CompactAll();
  EXPECT_EQ(db.Get(longest), "v");
}

TEST(DbLimits, ABatchThatIsNoBatchIsRefused) {
  MemoryDb db;
  WriteBatch good;
  good.Put("key", "value");
  good.Put("key2", "value2");
  const std::string encoded(good.encoded());
  for (size_t length = 1; length < encoded.size(); length++) {
    const absl::Status status =
        db->Write(WriteOptions(), WriteBatch::FromEncoded(encoded.substr(0, length)));
    EXPECT_TRUE(absl::IsDataLoss(status)) << length << ": " << status.ToString();
  }
  EXPECT_EQ(db.Get("key"), "(absent)");
  EXPECT_TRUE(db->Write(WriteOptions(), WriteBatch::FromEncoded(encoded)).ok());
  EXPECT_EQ(db.Get("key2"), "value2");
  EXPECT_TRUE(db->Write(WriteOptions(), WriteBatch()).ok()) << "an empty batch is no error";
}

TEST(DbWrites, LaterUpdatesOfABatchWinAndABatchCanBeUsedAgain) {
  MemoryDb db;
  WriteBatch batch;
  batch.Put("key", "first");
  batch.Delete("key");
  batch.Put("key", "last");
  batch.Put("gone", "v");
  batch.Delete("gone");
  for (int i = 0; i < 2; i++) {
    ASSERT_TRUE(db->Write(WriteOptions(), batch).ok());
    EXPECT_EQ(db.Get("key"), "last");
    EXPECT_EQ(db.Get("gone"), "(absent)");
    db.Delete("key");
  }
  EXPECT_EQ(*db->GetProperty("winnow.last-sequence"), "12");
}

// Writes to another database whenever it compares.
class NotingComparator final : public Comparator {
 public:
  std::string_view Name() const override { return "test.noting"; }
  bool EqualKeysHaveEqualBytes() const override { return true; }
  int Compare(std::string_view a, std::string_view b) const override {
    if (notes != nullptr) {
      EXPECT_TRUE(notes->Put(WriteOptions(), absl::StrCat("note", num_notes++), "").ok());
      EXPECT_TRUE(notes->Delete(WriteOptions(), "no note").ok());
    }
    return a.compare(b);
  }

  DB* notes = nullptr;
  mutable int num_notes = 0;
};

TEST(DbWrites, AWriteFromInsideAnotherOfTheThreadHarmsNeither) {
  MemoryDb notes;
  NotingComparator comparator;
  Options options = MemoryDb::Quiet();
  options.comparator = &comparator;
  MemoryDb db(options);
  comparator.notes = notes.get();
  for (int i = 0; i < 100; i++) db.Put(absl::StrCat("key", i), absl::StrCat("value", i));
  db.Delete("key7");
  comparator.notes = nullptr;
  for (int i = 0; i < 100; i++) {
    EXPECT_EQ(db.Get(absl::StrCat("key", i)), i == 7 ? "(absent)" : absl::StrCat("value", i));
  }
  ASSERT_GT(comparator.num_notes, 100);
  EXPECT_EQ(notes.Get(absl::StrCat("note", comparator.num_notes - 1)), "");
}

}  // namespace
}  // namespace winnow
