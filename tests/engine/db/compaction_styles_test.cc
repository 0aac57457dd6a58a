// The styles of compaction, and a database that is opened with one after the other.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"
#include "winnow/event_listener.h"

namespace winnow {
namespace {

using Kind = CompactionStyle::Kind;

std::string KeyOf(uint64_t number) { return absl::StrFormat("key%08d", number); }

// Memtables of 64 KiB and few threads: trees of several levels with little data.
Options SmallTree(CompactionStyle style) {
  Options options = MemoryDb::Busy();
  options.compaction = style;
  options.compression = Compression::kNone;
  options.level0_compaction_trigger = 4;
  options.level_size_multiplier = 10;
  options.background_threads = 2;
  return options;
}

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed) {}

  void WriteRandomly(MemoryDb* db, int count, uint64_t num_keys) {
    for (int i = 0; i < count; i++) {
      const std::string key = KeyOf(random_() % num_keys);
      if (random_() % 10 == 0) {
        db->Delete(key);
        entries_.erase(key);
      } else {
        const std::string value = std::to_string(version_++) + std::string(100, 'v');
        db->Put(key, value);
        entries_[key] = value;
      }
    }
  }
  void ExpectSame(MemoryDb* db) {
    const auto it = (*db)->NewIterator({});
    auto expected = entries_.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++expected) {
      ASSERT_NE(expected, entries_.end()) << it->key();
      ASSERT_EQ(it->key(), expected->first);
      ASSERT_EQ(it->value(), expected->second);
    }
    ASSERT_TRUE(it->status().ok()) << it->status();
    ASSERT_EQ(expected, entries_.end());
    for (int i = 0; i < 300; i++) {
      const std::string key = KeyOf(random_() % 20000);
      const auto found = entries_.find(key);
      ASSERT_EQ(db->Get(key), found == entries_.end() ? "(absent)" : found->second) << key;
    }
  }

 private:
  std::mt19937_64 random_;
  std::map<std::string, std::string> entries_;
  int version_ = 0;
};

TEST(CompactionStyles, ADatabaseMayBeOpenedWithAnotherStyleEachTime) {
  const std::vector<CompactionStyle> styles = {
      {}, {Kind::kLazyLeveled, 0}, {Kind::kTiered, 0}, CompactionStyle::Fifo(uint64_t{1} << 40)};
  for (const uint64_t seed : Seeds(3)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    Model model(seed);
    MemoryDb db(SmallTree({}));
    for (int opening = 0; opening < 8; opening++) {
      db.options().compaction = styles[(opening + seed) % styles.size()];
      SCOPED_TRACE(db.options().compaction.ToString());
      ASSERT_NO_FATAL_FAILURE(db.Reopen());
      ASSERT_NO_FATAL_FAILURE(model.WriteRandomly(&db, 8000, 20000));
      if (random() % 3 == 0) db.CompactAll();
      if (random() % 2 == 0) {
        ASSERT_TRUE(db->WaitForBackgroundWork().ok());
      }
      ASSERT_NO_FATAL_FAILURE(model.ExpectSame(&db));
    }
    const auto problems = db->Verify();
    ASSERT_TRUE(problems.ok()) << problems.status();
    EXPECT_TRUE(problems->empty());
  }
}

// What leveled compaction leaves drains into the shape of the other style, and back.
TEST(CompactionStyles, LazyLevelingKeepsHalfAboveTheLastLevelAtMost) {
  Model model(1);
  MemoryDb db(SmallTree({Kind::kLazyLeveled, 0}));
  uint64_t most_above = 0;
  for (int i = 0; i < 10; i++) {
    ASSERT_NO_FATAL_FAILURE(model.WriteRandomly(&db, 5000, 50000));
    ASSERT_TRUE(db->WaitForBackgroundWork().ok());
    const Statistics statistics = db->GetStatistics();
    uint64_t above = 0;
    for (const LevelStatistics& level : statistics.levels) {
      if (level.level > 0 && level.level < kNumLevels - 1) above += level.file_bytes;
      if (level.level == kNumLevels - 1) {
        EXPECT_LE(above, std::max<uint64_t>(level.file_bytes, 64 << 10) / 2)
            << "nothing is due, and yet the last level has not got it";
      }
    }
    most_above = std::max(most_above, above);
  }
  EXPECT_GT(most_above, 0u) << "no run was ever kept above the last level";
}

// Bytes that compactions wrote for one load.
uint64_t BytesWritten(CompactionStyle style) {
  Model model(7);
  Options options = SmallTree(style);
  MemoryDb db(options);
  // In steps of some memtables, so that it is the style that says what comes together in one
  // compaction, and not how busy the machine is.
  for (int written = 0; written < 60000; written += 2000) {
    model.WriteRandomly(&db, 2000, 30000);
    EXPECT_TRUE(db->WaitForBackgroundWork().ok());
  }
  model.ExpectSame(&db);
  return db->GetStatistics().Get(Ticker::kCompactionBytesWritten);
}

// Leveled trees have their last level at 6. Tiers go deeper, and what they leave there stays.
TEST(CompactionStyles, ALeveledTreeTakesTheLevelsThatTiersLeft) {
  Model model(5);
  MemoryDb db(SmallTree({}));
  const auto deepest = [&] {
    EXPECT_TRUE(db->WaitForBackgroundWork().ok());
    return db->GetStatistics().levels.back().level;
  };
  model.WriteRandomly(&db, 20000, 10000);
  EXPECT_EQ(deepest(), 6);
  db.options().compaction.kind = Kind::kLazyLeveled;
  db.Reopen();
  model.WriteRandomly(&db, 20000, 10000);
  db.CompactAll();
  EXPECT_EQ(deepest(), kNumLevels - 1);
  db.options().compaction.kind = Kind::kLeveled;
  db.Reopen();
  model.WriteRandomly(&db, 20000, 10000);
  db.CompactAll();
  EXPECT_EQ(deepest(), kNumLevels - 1);
  EXPECT_EQ(db->GetStatistics().levels.size(), 1u);
  model.ExpectSame(&db);
}

TEST(CompactionStyles, TieringAndLazyLevelingWriteLessThanLeveling) {
  const uint64_t leveled = BytesWritten({});
  const uint64_t tiered = BytesWritten({Kind::kTiered, 0});
  const uint64_t fifo = BytesWritten(CompactionStyle::Fifo(uint64_t{1} << 40));
  const uint64_t lazy = BytesWritten({Kind::kLazyLeveled, 0});
  EXPECT_LT(lazy, leveled);
  EXPECT_LT(tiered, leveled);
  EXPECT_LT(fifo, leveled);
}

class ReasonListener final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind != Event::Kind::kCompactionEnd || event.message != "over the limit of fifo") {
      return;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    drops_++;
    bytes_read_ += event.bytes_read;
  }
  int drops() {
    std::lock_guard<std::mutex> lock(mutex_);
    return drops_;
  }
  uint64_t bytes_read() {
    std::lock_guard<std::mutex> lock(mutex_);
    return bytes_read_;
  }

 private:
  // Guards what follows; standard mutexes cannot be annotated.
  std::mutex mutex_;
  int drops_ = 0;
  uint64_t bytes_read_ = 0;
};

TEST(CompactionStyles, FifoDropsTheOldestUnreadAndNoOldVersionComesBack) {
  constexpr uint64_t kLimit = 1 << 20;
  Options options = SmallTree(CompactionStyle::Fifo(kLimit));
  const auto listener = std::make_shared<ReasonListener>();
  options.listeners.push_back(listener);
  MemoryDb db(options);
  constexpr uint64_t kNumKeys = 5000;
  const std::string filler(100, 'f');
  std::vector<std::string> newest(kNumKeys);
  std::mt19937_64 random(3);
  for (int i = 0; i < 60000; i++) {
    const uint64_t key = random() % kNumKeys;
    newest[key] = std::to_string(i) + filler;
    db.Put(KeyOf(key), newest[key]);
    if (i % 500 == 0) {
      ASSERT_EQ(db.Get(KeyOf(key)), newest[key]);
    }
  }
  // The newest are there, and of a key either its newest version or none.
  db.Put(KeyOf(1), "the last");
  newest[1] = "the last";
  db.Flush();
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  uint64_t bytes = 0;
  for (const LevelStatistics& level : db->GetStatistics().levels) {
    bytes += level.file_bytes;
    EXPECT_TRUE(level.level == 0 || level.file_bytes == 0);
  }
  EXPECT_LE(bytes, kLimit);
  EXPECT_GT(bytes, kLimit / 2);
  EXPECT_GT(listener->drops(), 5);
  EXPECT_EQ(listener->bytes_read(), 0u);
  EXPECT_EQ(db.Get(KeyOf(1)), "the last");
  uint64_t absent = 0;
  for (uint64_t key = 0; key < kNumKeys; key++) {
    const std::string value = db.Get(KeyOf(key));
    if (value == "(absent)") {
      absent++;
    } else {
      ASSERT_EQ(value, newest[key]);
    }
  }
  EXPECT_LT(absent, kNumKeys);
}

TEST(CompactionStyles, FifoDropsWhatOtherStylesLeftBeforeItsOwn) {
  Options options = SmallTree({});
  MemoryDb db(options);
  const std::string filler(100, 'f');
  for (uint64_t i = 0; i < 20000; i++) db.Put(KeyOf(i % 10000), "old" + filler);
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  db.options().compaction = CompactionStyle::Fifo(512 << 10);
  db.Reopen();
  for (uint64_t i = 0; i < 1000; i++) db.Put(KeyOf(i), "new" + filler);
  db.Flush();
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  for (uint64_t i = 0; i < 1000; i++) ASSERT_EQ(db.Get(KeyOf(i)), "new" + filler);
  uint64_t left = 0;
  for (uint64_t i = 1000; i < 10000; i++) left += db.Get(KeyOf(i)) == "(absent)" ? 0 : 1;
  EXPECT_LT(left, 5000u);
  db.CompactAll();  // has nothing to do
  EXPECT_EQ(db.Get(KeyOf(5)), "new" + filler);
}

// A load in order of its keys is never written twice: runs that do not overlap move.
TEST(CompactionStyles, ASequentialLoadMovesThroughTiers) {
  for (const Kind kind : {Kind::kLazyLeveled, Kind::kTiered}) {
    MemoryDb db(SmallTree({kind, 0}));
    const std::string value(100, 'v');
    for (uint64_t i = 0; i < 30000; i++) db.Put(KeyOf(i), value);
    ASSERT_TRUE(db->WaitForBackgroundWork().ok());
    const Statistics statistics = db->GetStatistics();
    EXPECT_LT(statistics.Get(Ticker::kCompactionBytesWritten),
              statistics.Get(Ticker::kFlushBytesWritten) / 4)
        << CompactionStyle{kind, 0}.ToString();
  }
}

TEST(CompactionStyle, TextFormsAreTheirOwnReverse) {
  for (const char* text : {"leveled", "lazy_leveled", "tiered", "fifo:1048576"}) {
    const auto style = ParseCompactionStyle(text);
    ASSERT_TRUE(style.ok()) << style.status();
    EXPECT_EQ(style->ToString(), text);
  }
  EXPECT_EQ(*ParseCompactionStyle("fifo:1G"), CompactionStyle::Fifo(uint64_t{1} << 30));
  for (const char* text : {"", "level", "fifo", "fifo:", "fifo:x", "fifo:-1", "tiered:2"}) {
    EXPECT_EQ(ParseCompactionStyle(text).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
  Options options;
  EXPECT_FALSE(SetOption(&options, "compaction", "fifo:1K").ok()) << "below the range";
  EXPECT_EQ(options.compaction, CompactionStyle{});
  EXPECT_TRUE(SetOption(&options, "compaction", "fifo:2M").ok());
  EXPECT_EQ(options.compaction, CompactionStyle::Fifo(2 << 20));
}

}  // namespace
}  // namespace winnow
