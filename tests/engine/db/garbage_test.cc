// Deletions that readers pass, or that make up most of a file, are compacted before their level is
// due; iterators that are made to show the present.
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"
#include "winnow/event_listener.h"

namespace winnow {
namespace {

std::string NumberedKey(uint64_t number) { return absl::StrFormat("key%08d", number); }

class EventsOfKind final : public EventListener {
 public:
  explicit EventsOfKind(Event::Kind kind) : kind_(kind) {}
  void OnEvent(const Event& event) override {
    if (event.kind != kind_) return;
    std::lock_guard<std::mutex> lock(mutex_);
    events_.push_back(event);
  }
  std::vector<Event> events() {
    std::lock_guard<std::mutex> lock(mutex_);
    return events_;
  }

 private:
  const Event::Kind kind_;
  // Guards what follows; standard mutexes cannot be annotated.
  std::mutex mutex_;
  std::vector<Event> events_;
};

// 20,000 keys at the last level, and above it, at level 5, deletions of `num_deleted` of them from
// key 5,000 on, with `num_puts` other entries.
void MakeTree(MemoryDb* db, int num_deleted, int num_puts) {
  const std::string value(100, 'v');
  for (uint64_t i = 0; i < 20000; i++) db->Put(NumberedKey(i), value);
  db->CompactAll();
  for (int i = 0; i < num_deleted; i++) db->Delete(NumberedKey(5000 + static_cast<uint64_t>(i)));
  for (int i = 0; i < num_puts; i++) {
    db->Put(NumberedKey(12000 + static_cast<uint64_t>(i)) + "x", "");
  }
}

Options WithCompactions(size_t write_buffer_bytes) {
  Options options = MemoryDb::Quiet();
  options.disable_auto_compactions = false;
  options.write_buffer_bytes = write_buffer_bytes;
  return options;
}

uint64_t CountKeys(DB* db) {
  const auto it = db->NewIterator({});
  uint64_t count = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) count++;
  EXPECT_TRUE(it->status().ok());
  return count;
}

uint64_t EntriesOf(DB* db) {
  uint64_t entries = 0;
  for (const LevelStatistics& level : db->GetStatistics().levels) entries += level.num_entries;
  return entries;
}

TEST(Garbage, AnIteratorTellsWhatItPassed) {
  Options options = MemoryDb::Quiet();
  const auto events = std::make_shared<EventsOfKind>(Event::Kind::kGarbageMet);
  options.listeners.push_back(events);
  MemoryDb db(options);
  MakeTree(&db, 3000, 0);
  EXPECT_EQ(CountKeys(db.get()), 17000u);
  const uint64_t skipped = db->GetStatistics().Get(Ticker::kIteratorEntriesSkipped);
  EXPECT_GE(skipped, 6000u) << "each deletion, and what it hides";
  EXPECT_LT(skipped, 6100u);
  db.Flush();
  db.CompactAll();
  EXPECT_EQ(CountKeys(db.get()), 17000u);
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kIteratorEntriesSkipped), skipped);
  ASSERT_TRUE(db->Close().ok());
  ASSERT_EQ(events->events().size(), 1u);
  EXPECT_EQ(events->events()[0].column_family, "default");
  EXPECT_GE(events->events()[0].num_inputs, 5900u);
}

// A reader that comes by the same deletions again and again says nothing new.
TEST(Garbage, IsToldOnceAMinuteForEachFamily) {
  Options options = MemoryDb::Quiet();
  const auto events = std::make_shared<EventsOfKind>(Event::Kind::kGarbageMet);
  options.listeners.push_back(events);
  MemoryDb db(options);
  MakeTree(&db, 3000, 0);
  for (int i = 0; i < 50; i++) EXPECT_EQ(CountKeys(db.get()), 17000u);
  ASSERT_TRUE(db->Close().ok());
  EXPECT_EQ(events->events().size(), 1u);
}

// The range deletion and what it hides lie in the same memtable, and are stepped over one by one.
TEST(Garbage, WhatARangeDeletionHidesIsCountedAndFlushed) {
  Options options = MemoryDb::Quiet();
  options.disable_auto_compactions = false;
  options.write_buffer_bytes = 1 << 20;
  const auto events = std::make_shared<EventsOfKind>(Event::Kind::kGarbageMet);
  options.listeners.push_back(events);
  MemoryDb db(options);
  for (uint64_t i = 0; i < 3000; i++) db.Put(NumberedKey(i), std::string(100, 'v'));
  ASSERT_TRUE(db->DeleteRange(WriteOptions(), NumberedKey(100), NumberedKey(2900)).ok());
  EXPECT_EQ(CountKeys(db.get()), 200u);
  const auto backwards = db->NewIterator({});
  uint64_t count = 0;
  for (backwards->SeekToLast(); backwards->Valid(); backwards->Prev()) count++;
  EXPECT_EQ(count, 200u);
  ASSERT_TRUE(backwards->Refresh().ok());
  // Backwards, those that are shown are passed as well.
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kIteratorEntriesSkipped), 2 * 2800u + 200u);
  db.Put("last", "value");
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFlushes), 1u);
  EXPECT_EQ(EntriesOf(db.get()), 200u);
  ASSERT_TRUE(db->Close().ok());
  ASSERT_EQ(events->events().size(), 1u);
  EXPECT_EQ(events->events()[0].num_inputs, 2048u);
}

// Deletions at level 5, over 20,000 entries of level 6 that nothing else is to be done with.
std::vector<std::string> ReasonsAfter(int num_deleted, int num_puts, bool scan,
                                      const char* style = "leveled") {
  Options options = MemoryDb::Quiet();
  options.compaction = *ParseCompactionStyle(style);
  options.background_threads = 2;
  options.level0_compaction_trigger = 1;
  options.level_base_bytes = 1 << 20;
  options.level_size_multiplier = 3;
  const auto events = std::make_shared<EventsOfKind>(Event::Kind::kCompactionBegin);
  options.listeners.push_back(events);
  MemoryDb db(options);
  MakeTree(&db, num_deleted, num_puts);
  db.Flush();
  db.options().disable_auto_compactions = false;
  db.Reopen();
  EXPECT_TRUE(db->WaitForBackgroundWork().ok());
  const uint64_t before = EntriesOf(db.get());
  if (scan) {
    EXPECT_EQ(CountKeys(db.get()),
              20000u - static_cast<uint64_t>(num_deleted) + static_cast<uint64_t>(num_puts));
    EXPECT_TRUE(db->WaitForBackgroundWork().ok());
    EXPECT_LT(EntriesOf(db.get()), before);
  }
  EXPECT_TRUE(db->Close().ok());
  std::vector<std::string> reasons;
  for (const Event& event : events->events()) reasons.push_back(event.message);
  return reasons;
}

bool Has(const std::vector<std::string>& reasons, std::string_view reason) {
  return std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
}

TEST(Garbage, AFileThatIsMostlyDeletionsGoesDownByItself) {
  EXPECT_TRUE(Has(ReasonsAfter(3000, 500, false), "many deletions"));
  EXPECT_FALSE(Has(ReasonsAfter(1500, 4000, false), "many deletions"));
}

TEST(Garbage, AFileWhoseDeletionsReadersPassGoesDownByItself) {
  for (const char* style : {"leveled", "lazy_leveled", "tiered"}) {
    SCOPED_TRACE(style);
    EXPECT_FALSE(Has(ReasonsAfter(1500, 4000, false, style), "readers passed many deletions"));
    EXPECT_TRUE(Has(ReasonsAfter(1500, 4000, true, style), "readers passed many deletions"));
  }
}

// Where levels are tiers: 2,400 deletions, of every `step`-th key, over a run of 20,000 entries.
struct TiersAfter {
  std::vector<std::string> reasons;
  uint64_t entries = 0;
};
TiersAfter DeleteOverTiers(const char* style, uint64_t step) {
  Options options = MemoryDb::Quiet();
  options.compaction = *ParseCompactionStyle(style);
  options.level0_compaction_trigger = 1;
  options.target_file_bytes = 64 << 10;
  options.level_base_bytes = 64 << 20;
  const auto events = std::make_shared<EventsOfKind>(Event::Kind::kCompactionBegin);
  options.listeners.push_back(events);
  MemoryDb db(options);
  for (uint64_t i = 0; i < 20000; i++) db.Put(NumberedKey(i), std::string(20 * step, 'v'));
  db.CompactAll();
  for (uint64_t i = 0; i < 2400; i++) db.Delete(NumberedKey(1000 + i * step));
  db.Flush();
  db.options().disable_auto_compactions = false;
  db.Reopen();
  EXPECT_TRUE(db->WaitForBackgroundWork().ok());
  TiersAfter after;
  after.entries = EntriesOf(db.get());
  EXPECT_EQ(CountKeys(db.get()), 20000u - 2400u);
  EXPECT_TRUE(db->Verify()->empty());
  EXPECT_TRUE(db->Close().ok());
  for (const Event& event : events->events()) after.reasons.push_back(event.message);
  return after;
}

TEST(Garbage, ARunThatIsMostlyDeletionsMeetsTheNextOneIfThatIsNotFarLarger) {
  for (const char* style : {"lazy_leveled", "tiered"}) {
    SCOPED_TRACE(style);
    const TiersAfter dense = DeleteOverTiers(style, 1);
    EXPECT_TRUE(Has(dense.reasons, "many deletions"));
    EXPECT_EQ(dense.entries, 20000u - 2400u);
    const TiersAfter sparse = DeleteOverTiers(style, 7);
    EXPECT_FALSE(Has(sparse.reasons, "many deletions")) << "for all of a run that is much larger";
    EXPECT_EQ(sparse.entries, 20000u + 2400u);
  }
}

// A queue: what was written is deleted before it has left the memtable.
TEST(Garbage, AMemtableOfDeletionsThatReadersPassIsFlushedAndItsFileCompacted) {
  for (const char* style : {"leveled", "lazy_leveled", "tiered"}) {
    SCOPED_TRACE(style);
    Options options = WithCompactions(1 << 20);
    options.compaction = *ParseCompactionStyle(style);
    const auto events = std::make_shared<EventsOfKind>(Event::Kind::kCompactionBegin);
    options.listeners.push_back(events);
    MemoryDb db(options);
    for (uint64_t i = 0; i < 1500; i++) db.Put(NumberedKey(i), std::string(100, 'v'));
    for (uint64_t i = 0; i < 1500; i++) db.Delete(NumberedKey(i));
    db.Put("last", "value");
    ASSERT_TRUE(db->WaitForBackgroundWork().ok());
    EXPECT_EQ(db->GetStatistics().Get(Ticker::kFlushes), 0u) << "nobody has passed them";
    EXPECT_EQ(CountKeys(db.get()), 1u);
    db.Put("last", "another value");
    ASSERT_TRUE(db->WaitForBackgroundWork().ok());
    EXPECT_EQ(db->GetStatistics().Get(Ticker::kFlushes), 1u);
    EXPECT_EQ(EntriesOf(db.get()), 1501u) << "without what was hidden in the memtable";
    EXPECT_EQ(CountKeys(db.get()), 1u);
    ASSERT_TRUE(db->WaitForBackgroundWork().ok());
    EXPECT_EQ(EntriesOf(db.get()), 1u);
    EXPECT_EQ(db.Get("last"), "another value");
    ASSERT_TRUE(db->Close().ok());
    ASSERT_EQ(events->events().size(), 1u);
    EXPECT_EQ(events->events()[0].message, "readers passed many deletions");
  }
}

// As long as readers lose less time to it than a flush would take.
TEST(Garbage, ASmallMemtableIsFlushedOnceReadersHavePassedItsDeletionsOftenEnough) {
  MemoryDb db(WithCompactions(64 << 20));
  for (uint64_t i = 0; i < 2000; i++) db.Put(NumberedKey(i), std::string(100, 'v'));
  for (uint64_t i = 0; i < 2000; i++) db.Delete(NumberedKey(i));
  db.Put("last", "value");
  const auto flushes_after_scans = [&](int num_scans) {
    for (int i = 0; i < num_scans; i++) EXPECT_EQ(CountKeys(db.get()), 1u);
    db.Put("last", "value");
    EXPECT_TRUE(db->WaitForBackgroundWork().ok());
    return db->GetStatistics().Get(Ticker::kFlushes);
  };
  EXPECT_EQ(flushes_after_scans(10), 0u);
  EXPECT_EQ(flushes_after_scans(50), 1u);
  EXPECT_EQ(flushes_after_scans(1), 1u);
  EXPECT_EQ(EntriesOf(db.get()), 1u) << "its file goes once they are passed there";
  const uint64_t passed = db->GetStatistics().Get(Ticker::kIteratorEntriesSkipped);
  EXPECT_EQ(flushes_after_scans(50), 1u);
  EXPECT_LT(db->GetStatistics().Get(Ticker::kIteratorEntriesSkipped), passed + 1000);
}

// Flushing the few deletions of a memtable does not help where it is a file that has many.
TEST(Garbage, AMemtableStaysForWhatReadersPassInFiles) {
  MemoryDb db(WithCompactions(64 << 20));
  for (uint64_t i = 0; i < 5000; i++) db.Put(NumberedKey(i), "value");
  const Snapshot* const snapshot = db->GetSnapshot();  // needs what is in the file
  for (uint64_t i = 0; i < 5000; i++) db.Delete(NumberedKey(i));
  db.Flush();
  const uint64_t before = db->GetStatistics().Get(Ticker::kFlushes);
  db.Delete("last");
  for (int i = 0; i < 100; i++) EXPECT_EQ(CountKeys(db.get()), 0u);
  EXPECT_GE(db->GetStatistics().Get(Ticker::kIteratorEntriesSkipped), 100u * 10000u);
  db.Delete("last");
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFlushes), before);
  db->ReleaseSnapshot(snapshot);
}

TEST(Garbage, AMemtableOfFewDeletionsStays) {
  MemoryDb db(WithCompactions(4 << 20));
  for (uint64_t i = 0; i < 10000; i++) db.Put(NumberedKey(i), std::string(100, 'v'));
  for (uint64_t i = 0; i < 1500; i++) db.Delete(NumberedKey(i));
  EXPECT_EQ(CountKeys(db.get()), 8500u);
  db.Put("last", "value");
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFlushes), 0u);
}

TEST(IteratorRefresh, ShowsThePresentWithinItsBounds) {
  MemoryDb db;
  for (const char* key : {"a", "b", "c"}) db.Put(key, "old");
  ReadOptions read;
  read.lower_bound = "b";
  read.upper_bound = "d";
  const auto it = db->NewIterator(read);
  it->SeekToFirst();
  EXPECT_EQ(it->key(), "b");
  db.Put("b", "new");
  db.Put("b2", "new");
  db.Put("e", "new");
  db.Flush();
  db.Delete("c");
  it->SeekToFirst();
  EXPECT_EQ(it->value(), "old") << "before it is refreshed";
  ASSERT_TRUE(it->Refresh().ok());
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(it->status().ok());
  std::string seen;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    seen += std::string(it->key()) + "=" + std::string(it->value()) + " ";
  }
  EXPECT_EQ(seen, "b=new b2=new ");
  it->SeekToLast();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "b2");
  ASSERT_TRUE(it->Refresh().ok());
  it->SeekForPrev("b1");
  EXPECT_EQ(it->key(), "b");
}

TEST(IteratorRefresh, OneOfASnapshotStaysWithIt) {
  MemoryDb db;
  db.Put("a", "1");
  ReadOptions read;
  read.snapshot = db->GetSnapshot();
  {
    const auto it = db->NewIterator(read);
    db.Put("a", "2");
    EXPECT_EQ(it->Refresh().code(), absl::StatusCode::kFailedPrecondition);
    it->SeekToFirst();
    EXPECT_EQ(it->value(), "1");
  }
  db->ReleaseSnapshot(read.snapshot);
}

TEST(IteratorRefresh, OneThatCouldNotBeMadeSaysWhy) {
  MemoryDb db;
  ASSERT_TRUE(db->Close().ok());
  const auto it = db->NewIterator(ReadOptions());
  EXPECT_EQ(it->status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(it->Refresh(), it->status());
}

}  // namespace
}  // namespace winnow
