// What each call promises beyond finding keys: errors, limits, snapshots, pinned values, column
// families, properties.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

TEST(DbSnapshots, KeepEveryVersionThroughFlushesAndCompactions) {
  MemoryDb db;
  std::vector<SnapshotGuard> snapshots;
  for (int i = 0; i < 8; i++) {
    i % 4 == 3 ? db.Delete("key") : db.Put("key", std::to_string(i));
    snapshots.emplace_back(*db);
    if (i % 3 == 0) db.Flush();
  }
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 8; i++) {
      const auto at = static_cast<size_t>(i);
      EXPECT_EQ(db.Get("key", snapshots[at].get()), i % 4 == 3 ? "(absent)" : std::to_string(i));
      ReadOptions read;
      read.snapshot = snapshots[at].get();
      const auto iterator = db->NewIterator(read);
      iterator->SeekToFirst();
      EXPECT_EQ(iterator->Valid(), i % 4 != 3);
    }
    db.CompactAll();
  }
  snapshots.clear();
  db->ReleaseSnapshot(nullptr);
  db.CompactAll();
  EXPECT_TRUE(db->GetStatistics().levels.empty()) << "the deleted key leaves nothing behind";
}

// How many versions of "key" the database keeps once everything is compacted.
uint64_t NumVersions(MemoryDb& db) {
  db.CompactAll();
  uint64_t num_entries = 0;
  for (const LevelStatistics& level : db->GetStatistics().levels) num_entries += level.num_entries;
  return num_entries;
}

TEST(DbSnapshots, AGuardReleasesItsSnapshotOnceAtTheEndOfItsLife) {
  MemoryDb db;
  db.Put("key", "old");
  {
    const SnapshotGuard guard(*db);
    EXPECT_EQ(guard.get()->sequence(), 1u);
    db.Put("key", "new");
    EXPECT_EQ(NumVersions(db), 2u);
    EXPECT_EQ(db.Get("key", guard.get()), "old");
  }
  EXPECT_EQ(NumVersions(db), 1u) << "nothing holds the old version any more";
}

TEST(DbSnapshots, AGuardThatIsMovedHandsItsSnapshotOn) {
  MemoryDb db;
  db.Put("key", "first");
  SnapshotGuard first(*db);
  db.Put("key", "second");
  SnapshotGuard second(*db);
  db.Put("key", "third");
  SnapshotGuard moved(std::move(first));
  EXPECT_EQ(first.get(),
            nullptr);  // NOLINT(bugprone-use-after-move): what a moved-from guard holds
  EXPECT_EQ(db.Get("key", moved.get()), "first");
  EXPECT_EQ(NumVersions(db), 3u);

  moved = std::move(second);
  EXPECT_EQ(db.Get("key", moved.get()), "second");
  EXPECT_EQ(NumVersions(db), 2u) << "what the guard held before is released";
  SnapshotGuard& itself = moved;
  moved = std::move(itself);
  EXPECT_EQ(db.Get("key", moved.get()), "second");

  moved.Release();
  EXPECT_EQ(moved.get(), nullptr);
  moved.Release();
  EXPECT_EQ(NumVersions(db), 1u);
}

// RocksDB #8608: a snapshot that was released while a compaction ran changed its mind midway.
TEST(DbSnapshots, OneReleasedAtAnyStepOfACompactionChangesNothingForTheOthers) {
  for (int step = 0;; step++) {
    SCOPED_TRACE(step);
    MemoryDb db;
    std::vector<const Snapshot*> snapshots;
    for (int version = 0; version < 3; version++) {
      for (int i = 0; i < 60; i++) {
        const std::string key = absl::StrCat("key", 100 + i);
        (i + version) % 3 == 0 ? db.Delete(key) : db.Put(key, std::string(200, 'a' + version));
      }
      db.Flush();
      snapshots.push_back(db->GetSnapshot());
    }
    int operations = 0;
    db.file_system().set_error_hook([&](const FileOperation& operation) {
      const bool counts =
          operation.path.ends_with(".sst") && (operation.kind == FileOperation::Kind::kRead ||
                                               operation.kind == FileOperation::Kind::kAppend);
      if (counts && operations++ == step) db->ReleaseSnapshot(snapshots[1]);
      return absl::OkStatus();
    });
    db.CompactAll();
    db.file_system().set_error_hook(nullptr);
    for (const int version : {0, 2}) {
      for (int i = 0; i < 60; i++) {
        ASSERT_EQ(db.Get(absl::StrCat("key", 100 + i), snapshots[static_cast<size_t>(version)]),
                  (i + version) % 3 == 0 ? "(absent)" : std::string(200, 'a' + version));
      }
    }
    if (operations <= step) db->ReleaseSnapshot(snapshots[1]);
    db->ReleaseSnapshot(snapshots[0]);
    db->ReleaseSnapshot(snapshots[2]);
    if (operations <= step) {
      EXPECT_GT(step, 5) << "a compaction has so many steps";
      return;
    }
  }
}

// Each call without a family is the same call on "default", whatever other families hold.
TEST(DbDefaultFamily, EveryCallWithoutAFamilyIsForDefault) {
  MemoryDb db;
  const auto other = db->CreateColumnFamily(ColumnFamilyOptions(), "other");
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(db->Put(WriteOptions(), *other, "b", "other's").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "a", "1").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "gone", "1").ok());
  ASSERT_TRUE(db->Delete(WriteOptions(), "gone").ok());
  ASSERT_TRUE(db->SetFilter("bloom:9", "").ok());
  ASSERT_TRUE(db->Flush().ok());

  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), "a", &value).ok());
  PinnedValue pinned;
  EXPECT_TRUE(db->Get(ReadOptions(), "a", &pinned).ok());
  EXPECT_EQ(pinned.view(), value);
  pinned.Reset();
  EXPECT_EQ(db.MultiGet({"a", "b", "gone"}),
            (std::vector<std::string>{"1", "(absent)", "(absent)"}));
  EXPECT_TRUE(db->MayExist(ReadOptions(), "a"));
  EXPECT_TRUE(*db->Exists(ReadOptions(), "a"));
  EXPECT_FALSE(*db->Exists(ReadOptions(), "b"));
  EXPECT_TRUE(db->Explain("a")->found);
  EXPECT_FALSE(db->Explain("b")->found);
  {
    const auto iterator = db->NewIterator(ReadOptions());
    iterator->SeekToFirst();
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->key(), "a");
    iterator->Next();
    EXPECT_FALSE(iterator->Valid());
  }
  const KeyRange all = {"", "z"};
  EXPECT_GT(db->GetApproximateSizes({&all, 1})->front(), 0u);
  EXPECT_EQ(db->GetApproximateSizes(*other, {&all, 1})->front(), 0u) << "still in its memtable";
  EXPECT_EQ(*db->GetProperty("winnow.filter"), "bloom:9");
  EXPECT_NE(*db->GetProperty(*other, "winnow.filter"), "bloom:9");
  EXPECT_EQ(*db->GetProperty("winnow.num-files-at-level0"), "1");
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  EXPECT_EQ(*db->GetProperty("winnow.num-files-at-level0"), "0");
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

TEST(DbFamilies, ErrorsOfCreatingFindingAndDropping) {
  MemoryDb db;
  EXPECT_TRUE(absl::IsInvalidArgument(db->CreateColumnFamily({}, "").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(db->CreateColumnFamily({}, std::string(256, 'n')).status()));
  EXPECT_TRUE(db->CreateColumnFamily({}, std::string(255, 'n')).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(db->CreateColumnFamily({}, "default").status()));
  ColumnFamilyOptions bad;
  bad.filter = "nonsense";
  EXPECT_TRUE(absl::IsInvalidArgument(db->CreateColumnFamily(bad, "bad").status()));
  EXPECT_TRUE(absl::IsNotFound(db->FindColumnFamily("bad").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(db->DropColumnFamily(db->DefaultColumnFamily())));
  EXPECT_TRUE(absl::IsInvalidArgument(db->SetFilter("nonsense", "whole")));
  EXPECT_TRUE(absl::IsInvalidArgument(db->SetFilter("", "prefix:0")));
}

TEST(DbFamilies, ADroppedFamilyRefusesCallsLosesItsFilesAndItsNameIsFree) {
  MemoryDb db;
  ColumnFamily* family = *db->CreateColumnFamily({}, "short-lived");
  ASSERT_TRUE(db->Put(WriteOptions(), family, "key", "value").ok());
  ASSERT_TRUE(db->Flush(family).ok());
  ASSERT_TRUE(db->Put(WriteOptions(), family, "key2", "value").ok());
  const auto iterator = db->NewIterator(ReadOptions(), family);
  ASSERT_TRUE(db->DropColumnFamily(family).ok());
  std::string value;
  WriteBatch batch;
  batch.Put("innocent", "v");
  batch.Put(family, "key", "v");
  for (const absl::Status& status :
       {db->Put(WriteOptions(), family, "key", "v"), db->Write(WriteOptions(), batch),
        db->Get(ReadOptions(), family, "key", &value), db->Flush(family),
        db->DropColumnFamily(family), db->SetFilter(family, "none", ""),
        db->NewIterator(ReadOptions(), family)->status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status.ToString();
  }
  EXPECT_EQ(db.Get("innocent"), "(absent)");
  int shown = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) shown++;
  EXPECT_EQ(shown, 2) << "an iterator keeps what it shows";

  ColumnFamily* again = *db->CreateColumnFamily({}, "short-lived");
  EXPECT_NE(again->id(), family->id());
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), again, "key", &value)));
}

TEST(DbFamilies, TheFilesOfADroppedFamilyGoWhenItsLastReaderHas) {
  MemoryDb db;
  ColumnFamily* family = *db->CreateColumnFamily({}, "short-lived");
  ASSERT_TRUE(db->Put(WriteOptions(), family, "key", "value").ok());
  ASSERT_TRUE(db->Flush(family).ok());
  const auto num_tables = [&] {
    int count = 0;
    const auto names = db.file_system().List(MemoryDb::kPath);
    for (const std::string& name : *names) {
      count += name.ends_with(".sst") ? 1 : 0;
    }
    return count;
  };
  auto iterator = db->NewIterator(ReadOptions(), family);
  ASSERT_TRUE(db->DropColumnFamily(family).ok());
  EXPECT_EQ(num_tables(), 1);
  iterator.reset();
  EXPECT_EQ(num_tables(), 0);
}

TEST(DbFamilies, ReopenWithTheirOwnRecordedFiltersAndListInOrder) {
  MemoryDb db;
  ColumnFamilyOptions options;
  options.filter = "cuckoo:2%";
  options.filter_key = "prefix:3";
  ColumnFamily* family = *db->CreateColumnFamily(options, "second");
  ASSERT_TRUE(db->Put(WriteOptions(), family, "abc1", "value").ok());
  ASSERT_TRUE(db->SetFilter("bloom:7", "").ok());
  EXPECT_EQ(*DB::ListColumnFamilies(db.options(), MemoryDb::kPath),
            (std::vector<std::string>{"default", "second"}));
  db.Reopen();
  family = *db->FindColumnFamily("second");
  EXPECT_EQ(*db->GetProperty(family, "winnow.filter"), "cuckoo:2%");
  EXPECT_EQ(*db->GetProperty(family, "winnow.filter-key"), "prefix:3");
  EXPECT_EQ(*db->GetProperty("winnow.filter"), "bloom:7");
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), family, "abc1", &value).ok());
  EXPECT_EQ(db.Get("abc1"), "(absent)") << "families are separate key spaces";
  db.CloseDb();
  db.options().column_families["third"] = {};
  EXPECT_TRUE(absl::IsNotFound(DB::Open(db.options(), MemoryDb::kPath).status()));
}

TEST(DbProperties, EachNameAnswersAndTheJsonOnesParse) {
  MemoryDb db;
  for (int i = 0; i < 1000; i++) db.Put(absl::StrCat("key", i), "value \"quoted\"\n");
  db.CompactAll();
  db.Put("key", "in memory");
  for (int i = 0; i < 500; i++) db.Get(absl::StrCat("key", 2 * i));
  ColumnFamily* family = db->DefaultColumnFamily();
  for (const std::string_view name : DB::PropertyNames()) {
    std::string asked(name);
    if (asked.ends_with("<N>")) asked.replace(asked.size() - 3, 3, "6");
    const auto property = db->GetProperty(family, asked);
    ASSERT_TRUE(property.ok()) << asked << ": " << property.status().ToString();
    if (asked.ends_with("-json")) {
      EXPECT_TRUE(nlohmann::json::accept(*property)) << asked << ":\n" << *property;
    } else if (asked != "winnow.background-error" && asked != "winnow.recovery") {
      EXPECT_FALSE(property->empty()) << asked;
    }
  }
  for (const char* name :
       {"winnow.stats", "winnow.filter-stats", "winnow.levels", "winnow.sstables"}) {
    EXPECT_TRUE(db->GetProperty(family, absl::StrCat(name, "-json")).ok()) << name;
  }
  EXPECT_EQ(*db->GetProperty(family, "winnow.num-files-at-level6"), "1");
  EXPECT_EQ(*db->GetProperty(family, "winnow.estimate-num-keys"), "1001");
  for (const char* unknown : {"winnow.num-files-at-level7", "winnow.num-files-at-level-1",
                              "winnow.num-files-at-level", "winnow.nonsense", ""}) {
    EXPECT_TRUE(absl::IsNotFound(db->GetProperty(family, unknown).status())) << unknown;
  }
}

TEST(DbExplain, TellsEachPlaceInTheOrderOfAGet) {
  MemoryDb db;
  db.Put("key", "oldest");
  db.CompactAll();
  db.Delete("key");
  db.Put("other", "v");
  db.Flush();
  db.Put("a third", "v");
  auto explained = db->Explain("key");
  ASSERT_TRUE(explained.ok());
  EXPECT_FALSE(explained->found);
  ASSERT_EQ(explained->steps.size(), 2u) << "memtable, level 0; not what the tombstone hides";
  EXPECT_EQ(explained->steps[0].source, ExplainStep::Source::kMemtable);
  EXPECT_EQ(explained->steps[1].level, 0);
  EXPECT_EQ(explained->steps[1].answer, ExplainStep::Answer::kDeleted);
  explained = db->Explain("other");
  EXPECT_TRUE(explained->found);
  EXPECT_EQ(explained->steps.back().filter_answer, ExplainStep::FilterAnswer::kMaybe);
  EXPECT_EQ(explained->filter_key, "other");
  EXPECT_TRUE(nlohmann::json::accept(explained->ToJson())) << explained->ToJson();
  EXPECT_TRUE(absl::StrContains(explained->steps.back().file_name,
                                absl::StrFormat("/%06d.sst", explained->steps.back().file_number)));
  EXPECT_TRUE(absl::StrContains(explained->ToString(), "blocked_bloom"));
  explained = db->Explain(std::string("\xff\x00\"\\\n", 5));
  EXPECT_TRUE(nlohmann::json::accept(explained->ToJson())) << explained->ToJson();
}

// Each problem names its file, where in it if that is known, and says that it is damage.
TEST(DbVerify, NamesFileAndOffsetOfDamage) {
  MemoryDb db;
  for (int i = 0; i < 1000; i++) db.Put(absl::StrCat("key", i), std::string(100, 'v'));
  db.Flush();
  EXPECT_TRUE(db->Verify()->empty());
  db.CloseDb();
  FileSystem& files = db.file_system();
  std::string path;
  const std::vector<std::string> names = *files.List(MemoryDb::kPath);
  for (const std::string& name : names) {
    if (name.ends_with(".sst")) path = absl::StrCat(MemoryDb::kPath, "/", name);
  }
  std::string bytes = *ReadFile(files, path, 1 << 20);
  bytes[bytes.size() / 2] ^= 4;
  const auto file = *files.Create(path, {});
  ASSERT_TRUE(file->Append(bytes).ok() && file->Close().ok());
  db.Reopen();
  const auto problems = db->Verify();
  ASSERT_EQ(problems->size(), 1u);
  EXPECT_EQ(problems->front().path, path);
  ASSERT_TRUE(problems->front().offset.has_value());
  EXPECT_LE(*problems->front().offset, bytes.size() / 2);
  EXPECT_TRUE(absl::IsDataLoss(problems->front().status));
  EXPECT_TRUE(
      absl::StartsWith(problems->front().status.message(),
                       absl::StrCat(path, ": at offset ", *problems->front().offset, ": ")));

  ASSERT_TRUE(db->Close().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(db->Verify().status()));
}

TEST(DbMaintenance, ACompactionOfPartOfTheRangeLeavesTheRestWhereItIs) {
  MemoryDb db;
  for (const char* key : {"a", "b"}) db.Put(key, "1");
  db.CompactAll();
  for (const char* key : {"x", "y"}) db.Put(key, "1");
  db.Flush();
  ASSERT_TRUE(db->CompactRange("a", "c").ok());
  EXPECT_EQ(*db->GetProperty("winnow.num-files-at-level0"), "1");
  ASSERT_TRUE(db->CompactRange("x", std::nullopt).ok());
  EXPECT_EQ(*db->GetProperty("winnow.num-files-at-level0"), "0");
  for (const char* key : {"a", "b", "x", "y"}) EXPECT_EQ(db.Get(key), "1");
}

// Knows keys of eight bytes only, as comparators of numbers do.
class FixedWidthComparator final : public Comparator {
 public:
  std::string_view Name() const override { return "fixed-width"; }
  int Compare(std::string_view a, std::string_view b) const override {
    EXPECT_EQ(a.size(), 8u);
    EXPECT_EQ(b.size(), 8u);
    return a.compare(b);
  }
};

// An end that is open was once compared as the empty key, which such a comparator does not survive.
TEST(DbMaintenance, CompactRangeWithOpenEndsComparesKeysOnly) {
  const FixedWidthComparator comparator;
  Options options = MemoryDb::Quiet();
  options.comparator = &comparator;
  MemoryDb db(options);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 100; i++) db.Put(absl::StrFormat("%08d", i), std::to_string(round));
    db.Flush();
  }
  ASSERT_TRUE(db->CompactRange(std::nullopt, "00000050").ok());
  ASSERT_TRUE(db->CompactRange("00000050", std::nullopt).ok());
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  EXPECT_EQ(db.Get("00000099"), "2");
  db.CloseDb();  // before its comparator
}

TEST(DbSnapshots, ManyAreReleasedInAnyOrderAndTwiceHarmsNothing) {
  MemoryDb db;
  std::vector<const Snapshot*> snapshots;
  for (int i = 0; i < 20'000; i++) {
    if (i % 100 == 0) db.Put("key", std::to_string(i));
    snapshots.push_back(db->GetSnapshot());
  }
  EXPECT_EQ(db.Get("key", snapshots[150]), "100");
  for (size_t i = 0; i < snapshots.size(); i++) {
    db->ReleaseSnapshot(snapshots[i * 7919 % snapshots.size()]);
  }
  db->ReleaseSnapshot(snapshots[0]);
  db->ReleaseSnapshot(nullptr);
  db.CompactAll();
  EXPECT_EQ(db.Get("key"), "19900");
}

}  // namespace
}  // namespace winnow
