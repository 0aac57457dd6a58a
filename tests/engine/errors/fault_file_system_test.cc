// The file system that makes faults, and a database whose reads it spoils: each answer is right or
// a clear error, and nothing is lost once the faults are over.
#include "tests/support/fault_file_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

using Effect = FaultRule::Effect;
using Kind = FileOperation::Kind;

class FaultFileSystemTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& bytes) {
    const auto file = *memory_->Create(path, {});
    ASSERT_TRUE(file->Append(bytes).ok() && file->Sync().ok() && file->Close().ok());
  }
  std::string Read(const std::string& path) { return *ReadFile(faults_, path, 1 << 20); }

  const std::unique_ptr<RecordingFileSystem> memory_ = std::make_unique<RecordingFileSystem>();
  FaultFileSystem faults_{memory_.get(), 1};
};

TEST_F(FaultFileSystemTest, ARuleFiresOnTheOperationsItNames) {
  const size_t rule = faults_.Add(
      FaultRule::Error(InjectedDescriptorLimit()).On({Kind::kCreate}, "*.sst").From(1, 2));
  const auto create = [&](const std::string& path) { return faults_.Create(path, {}).status(); };
  EXPECT_TRUE(create("/a.log").ok());
  EXPECT_TRUE(create("/a.sst").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(create("/b.sst")));
  EXPECT_TRUE(absl::IsResourceExhausted(create("/c.sst")));
  EXPECT_TRUE(create("/d.sst").ok());
  EXPECT_EQ(faults_.fired(rule), 2u);
  EXPECT_EQ(faults_.matched(rule), 4u);
  EXPECT_EQ(faults_.first_fired(rule), "create /b.sst");
  faults_.Add(FaultRule::Error(InjectedIoError()));
  EXPECT_TRUE(absl::IsUnavailable(faults_.List("/").status()));
  faults_.Clear();
  EXPECT_TRUE(faults_.List("/").ok());
}

TEST_F(FaultFileSystemTest, RulesAddedAfterClearFireAndTheClearedOnesStayQuiet) {
  const FaultRule no_listing = FaultRule::Error(InjectedIoError()).On({Kind::kList});
  const size_t cleared = faults_.Add(no_listing);
  EXPECT_FALSE(faults_.List("/").ok());
  faults_.Clear();
  const size_t added = faults_.Add(no_listing.From(1, 1));
  EXPECT_NE(added, cleared) << "numbers are not used again: the cleared rule's counts stay";
  EXPECT_TRUE(faults_.List("/").ok());
  EXPECT_FALSE(faults_.List("/").ok());
  EXPECT_TRUE(faults_.List("/").ok());
  EXPECT_EQ(faults_.fired(cleared), 1u);
  EXPECT_EQ(faults_.matched(cleared), 1u);
  EXPECT_EQ(faults_.fired(added), 1u);
  EXPECT_EQ(faults_.matched(added), 3u);
}

TEST_F(FaultFileSystemTest, ChanceIsTheSameForTheSameSeed) {
  Write("/file", "bytes");
  const auto pattern = [&](uint64_t seed) {
    FaultFileSystem faults(memory_.get(), seed);
    faults.Add(FaultRule::Error(InjectedIoError()).On({Kind::kInspect}).Sometimes(0.3));
    std::string failed;
    for (int i = 0; i < 200; i++) failed += faults.Exists("/file").ok() ? '.' : 'x';
    return failed;
  };
  EXPECT_EQ(pattern(1), pattern(1));
  EXPECT_NE(pattern(1), pattern(2));
  const std::string of_one = pattern(1);
  const auto count = std::count(of_one.begin(), of_one.end(), 'x');
  EXPECT_GT(count, 20);
  EXPECT_LT(count, 120);
}

TEST_F(FaultFileSystemTest, ATornAppendLeavesAPart) {
  FaultRule torn = FaultRule::Error(InjectedFullDisk()).On({Kind::kAppend}).From(1, 1);
  torn.effect = Effect::kTornAppend;
  faults_.Add(torn);
  const auto file = *faults_.Create("/file", {});
  ASSERT_TRUE(file->Append("whole ").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(file->Append(std::string(1000, 'x'))));
  EXPECT_TRUE(absl::IsResourceExhausted(file->Append("more"))) << "an error is final";
  EXPECT_GT(file->size(), 6u);
  EXPECT_LT(file->size(), 1006u);
}

TEST_F(FaultFileSystemTest, ASyncThatDroppedThePagesIsNeverRight) {
  FaultRule dropped = FaultRule::Error(InjectedIoError()).On({Kind::kSync}).From(0, 1);
  dropped.effect = Effect::kDroppedPages;
  const size_t rule = faults_.Add(dropped);
  const auto file = *faults_.Create("/file", {});
  ASSERT_TRUE(faults_.SyncDirectory("/").ok());
  ASSERT_TRUE(file->Append("bytes").ok());
  EXPECT_FALSE(file->Sync().ok());
  EXPECT_TRUE(file->Sync().ok()) << "the lie";
  EXPECT_EQ(faults_.fired(rule), 1u);
  EXPECT_EQ(Read("/file"), "bytes") << "from the cache";
  const auto crashed =
      memory_->StateAfterCrash(memory_->num_operations(), CrashChoice::KeepNothingUnsynced());
  EXPECT_EQ(*ReadFile(*crashed, "/file", 100), "");
}

TEST_F(FaultFileSystemTest, ReadsAreSpoiledOnTheWayOnly) {
  std::string bytes;
  for (int i = 0; i < 4096; i++) bytes += static_cast<char>(i / 16);
  Write("/before", std::string(4096, 'b'));
  Write("/file", bytes);
  ASSERT_EQ(Read("/before").size(), 4096u);
  const std::map<Effect, size_t> least_different = {{Effect::kBitFlip, 1},
                                                    {Effect::kZeroedPage, 400},
                                                    {Effect::kMisdirectedBlock, 900},
                                                    {Effect::kStaleBlock, 900}};
  for (const auto& [effect, least] : least_different) {
    FaultFileSystem faults(memory_.get(), 7);
    ASSERT_TRUE(faults.OpenRandomAccess("/before").ok());
    const size_t rule = faults.Add(FaultRule::OfRead(effect).From(0, 1));
    const auto file = *faults.OpenRandomAccess("/file");
    std::string got(1024, '\0');
    for (const bool spoiled : {true, false}) {
      ASSERT_EQ(file->Read(2048, 1024, got.data()).value(), 1024u);
      size_t different = 0;
      for (size_t i = 0; i < got.size(); i++) different += got[i] != bytes[2048 + i] ? 1 : 0;
      EXPECT_EQ(different >= least, spoiled) << static_cast<int>(effect) << ": " << different;
      EXPECT_EQ(different == 0, !spoiled);
    }
    EXPECT_EQ(faults.fired(rule), 1u);
  }
}

// A database whose every n-th read is spoiled answers rightly or names the file; its compactions
// drop nothing; once the reads are good again, and after reopening, all is there.
class SpoiledReads : public testing::TestWithParam<Effect> {};

constexpr int kKeys = 300;
std::string KeyOf(int i) { return absl::StrCat("key", 1000 + i); }

void Fill(DB& db) {
  for (int round = 0; round < 3; round++) {
    for (int i = round; i < kKeys; i += round + 1) {
      const std::string value = absl::StrCat("round ", round, " of ", i, std::string(40, 'v'));
      ASSERT_TRUE(db.Put(WriteOptions(), KeyOf(i), value).ok());
    }
    ASSERT_TRUE(db.Flush().ok());
  }
}

std::map<std::string, std::string> ReadAll(DB& db) {
  std::map<std::string, std::string> found;
  const auto iterator = db.NewIterator(ReadOptions());
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    found.emplace(iterator->key(), iterator->value());
  }
  EXPECT_TRUE(iterator->status().ok()) << iterator->status();
  return found;
}

void ExpectRightOrClear(DB& db, const std::map<std::string, std::string>& expected,
                        size_t* errors) {
  for (int i = 0; i < kKeys + 5; i++) {
    std::string value;
    const absl::Status status = db.Get(ReadOptions(), KeyOf(i), &value);
    if (absl::IsDataLoss(status)) {
      EXPECT_NE(status.message().find(".sst"), absl::string_view::npos) << status;
      (*errors)++;
      continue;
    }
    const auto wanted = expected.find(KeyOf(i));
    ASSERT_EQ(status.ok(), wanted != expected.end()) << status;
    ASSERT_TRUE(!status.ok() || value == wanted->second) << value;
  }
  const auto iterator = db.NewIterator(ReadOptions());
  auto next = expected.begin();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++next) {
    ASSERT_NE(next, expected.end());
    ASSERT_EQ(iterator->key(), next->first);
    ASSERT_EQ(iterator->value(), next->second);
  }
  if (iterator->status().ok()) {
    ASSERT_EQ(next, expected.end());
  } else {
    (*errors)++;
  }
}

TEST_P(SpoiledReads, AreNoticedAndLoseNothing) {
  size_t errors = 0;
  uint64_t spoiled = 0;
  for (uint64_t seed = 1; seed <= (LongTests() ? 200u : 12u); seed++) {
    const auto memory = NewUnrecordedFileSystem();
    FaultFileSystem faults(memory.get(), seed);
    Options options = MemoryDb::Quiet();
    options.file_system = &faults;
    options.block_bytes = 512;
    options.block_cache_bytes = seed % 2 == 0 ? 0 : size_t{1} << 20;
    auto db = OpenOrFail(options, "/db");
    Fill(*db);
    const std::map<std::string, std::string> expected = ReadAll(*db);
    ASSERT_TRUE(db->Close().ok());
    db = OpenOrFail(options, "/db");  // nothing is cached
    const size_t rule = faults.Add(FaultRule::OfRead(GetParam()).Sometimes(0.1));
    ExpectRightOrClear(*db, expected, &errors);
    db->CompactRange(std::nullopt, std::nullopt).IgnoreError();
    ExpectRightOrClear(*db, expected, &errors);
    faults.Clear();
    spoiled += faults.fired(rule);
    EXPECT_EQ(ReadAll(*db), expected) << "seed " << seed;
    db->Close().IgnoreError();
    db = OpenOrFail(options, "/db");
    EXPECT_EQ(ReadAll(*db), expected) << "seed " << seed;
    EXPECT_EQ(DamageMessages(*db), std::vector<std::string>());
  }
  EXPECT_GT(spoiled, 100u);
  EXPECT_GT(errors, 10u);
}

// Opening meets the same: the manifest, the log, the tables' ends.
TEST_P(SpoiledReads, WhileOpeningAreNoticed) {
  size_t refused = 0;
  for (uint64_t which = 0;; which++) {
    const auto memory = NewUnrecordedFileSystem();
    FaultFileSystem faults(memory.get(), which);
    Options options = MemoryDb::Quiet();
    options.file_system = &faults;
    options.recovery_mode = RecoveryMode::kStrict;
    auto db = OpenOrFail(options, "/db");
    Fill(*db);
    ASSERT_TRUE(db->Put(WriteOptions(), "logged", "value").ok());
    const std::map<std::string, std::string> expected = ReadAll(*db);
    ASSERT_TRUE(db->Close().ok());
    const size_t rule = faults.Add(FaultRule::OfRead(GetParam()).From(which, 1));
    auto opened = DB::Open(options, "/db");
    if (faults.fired(rule) == 0) break;
    faults.Clear();
    refused += opened.ok() ? 0 : 1;
    if (!opened.ok()) {
      opened = DB::Open(options, "/db");
      ASSERT_TRUE(opened.ok()) << opened.status();
    }
    size_t errors = 0;
    ExpectRightOrClear(**opened, expected, &errors);
    (*opened)->Close().IgnoreError();
    db = OpenOrFail(options, "/db");
    EXPECT_EQ(ReadAll(*db), expected) << "read " << which;
  }
  // Not more: what a log's reader takes for damage it reads once more. CURRENT is read twice in a
  // row, so that what stood there before is what should.
  EXPECT_TRUE(refused > 0 || GetParam() == Effect::kStaleBlock);
}

INSTANTIATE_TEST_SUITE_P(Effects, SpoiledReads,
                         testing::Values(Effect::kBitFlip, Effect::kZeroedPage,
                                         Effect::kMisdirectedBlock, Effect::kStaleBlock),
                         [](const testing::TestParamInfo<Effect>& effect) {
                           switch (effect.param) {
                             case Effect::kBitFlip:
                               return "BitFlip";
                             case Effect::kZeroedPage:
                               return "ZeroedPage";
                             case Effect::kMisdirectedBlock:
                               return "MisdirectedBlock";
                             default:
                               return "StaleBlock";
                           }
                         });

}  // namespace
}  // namespace winnow
