// A user's comparator is shown keys that were written or asked for, and nothing else: one for
// numbers may not survive an empty key.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "engine/base/coding.h"
#include "tests/support/db_fixture.h"
#include "winnow/indexed_write_batch.h"

namespace winnow {
namespace {

class NumberComparator final : public Comparator {
 public:
  std::string_view Name() const override { return "test.number"; }
  int Compare(std::string_view a, std::string_view b) const override {
    const uint64_t left = NumberOf(a);
    const uint64_t right = NumberOf(b);
    return left < right ? -1 : left > right;
  }
  bool EqualKeysHaveEqualBytes() const override { return true; }
  void FindShortestSeparator(std::string* start, std::string_view limit) const override {
    EXPECT_LT(NumberOf(*start), NumberOf(limit));
  }
  void FindShortSuccessor(std::string* key) const override { NumberOf(*key); }

 private:
  static uint64_t NumberOf(std::string_view key) {
    EXPECT_EQ(key.size(), 8u);
    return key.size() == 8 ? DecodeFixed64(key.data()) : 0;
  }
};

std::string NumberKey(uint64_t number) {
  std::string key;
  PutFixed64(&key, number);
  return key;
}

void ExpectOk(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }

class DbComparator : public testing::TestWithParam<const char*> {
 protected:
  DbComparator() {
    options_.comparator = &comparator_;
    options_.max_log_bytes = 1 << 20;
    ExpectOk(SetOption(&options_, "compaction", GetParam()));
  }
  // Writes of all kinds, into a tree of several levels that is compacted all the time.
  void Fill(DB& db) {
    constexpr uint64_t kKeys = 100'000;
    for (uint64_t i = 0; i < 12'000; i++) {
      ExpectOk(db.Put(WriteOptions(), NumberKey(i * 7919 % kKeys), std::string(50, 'v')));
      if (i % 5 == 0) ExpectOk(db.Delete(WriteOptions(), NumberKey(i * 31 % kKeys)));
      if (i % 2000 == 17) {
        ExpectOk(db.DeleteRange(WriteOptions(), NumberKey(i), NumberKey(i + 100)));
      }
      if (i % 3000 == 5) ExpectOk(db.CompactRange(NumberKey(100), std::nullopt));
      if (i % 3000 == 9) ExpectOk(db.CompactRange(std::nullopt, NumberKey(kKeys / 2)));
    }
  }
  // Forward and backward: as many.
  static void Walk(Iterator& iterator) {
    int difference = 0;
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) difference++;
    for (iterator.SeekToLast(); iterator.Valid(); iterator.Prev()) difference--;
    EXPECT_EQ(difference, 0);
    iterator.Seek(NumberKey(77));
    iterator.SeekForPrev(NumberKey(77));
    ExpectOk(iterator.status());
  }

  NumberComparator comparator_;
  Options options_ = MemoryDb::Busy();
};

// A file in turn to be compacted was looked for behind an empty key.
TEST_P(DbComparator, IsShownKeysOnlyByWritesCompactionsAndIterators) {
  MemoryDb db(options_);
  Fill(*db);
  ExpectOk(db->WaitForBackgroundWork());
  Walk(*db->NewIterator(ReadOptions()));
  const std::string begin = NumberKey(1);
  const std::string end = NumberKey(90'000);
  const KeyRange range{begin, end};
  ExpectOk(db->GetApproximateSizes({&range, 1}).status());
  ExpectOk(db->Explain(begin).status());
  db.Reopen();
  ExpectOk(db->CompactRange(std::nullopt, std::nullopt));
  ExpectOk(db->Verify().status());
  db.CloseDb();  // before its comparator
}

TEST_P(DbComparator, IsShownKeysOnlyByTransactionsBatchesAndIngestions) {
  MemoryDb db(options_);
  Fill(*db);
  for (const auto mode :
       {TransactionOptions::Mode::kOptimistic, TransactionOptions::Mode::kPessimistic}) {
    TransactionOptions options;
    options.mode = mode;
    const auto transaction = *db->BeginTransaction(options);
    ExpectOk(transaction->Put(NumberKey(5), "value"));
    ExpectOk(transaction->Delete(NumberKey(6)));
    Walk(*transaction->NewIterator(ReadOptions()));
    ExpectOk(transaction->Commit());
  }
  IndexedWriteBatch batch(*db);
  ExpectOk(batch.Put(NumberKey(7), "value"));
  Walk(*batch.NewIterator(ReadOptions()));
  for (int i = 0; i < 2; i++) {
    const std::string path = absl::StrCat("/new", i, ".sst");
    const auto writer = *db->NewSstWriter(db->DefaultColumnFamily(), path);
    ExpectOk(writer->Put(NumberKey(3), "value"));
    ExpectOk(writer->Put(NumberKey(300'000), "value"));
    ExpectOk(writer->Finish().status());
    ExpectOk(db->Ingest({{.path = path}}, {}).status());
  }
  ExpectOk(db->CompactRange(std::nullopt, std::nullopt));
  db.CloseDb();  // before its comparator
}

INSTANTIATE_TEST_SUITE_P(EachStyle, DbComparator,
                         testing::Values("leveled", "lazy_leveled", "tiered", "fifo:1G"),
                         [](const auto& style) {
                           return std::string(style.param).substr(0, 4) +
                                  std::to_string(style.index);
                         });

}  // namespace
}  // namespace winnow
