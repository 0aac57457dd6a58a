// Each operation of a small workload fails once: the call that needed it says so, and reopening
// finds everything acknowledged and no half of anything.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/engine/crash_workload.h"
#include "tests/engine/db_fixture.h"

namespace winnow {
namespace {

using Kind = FileOperation::Kind;

constexpr size_t kForEver = SIZE_MAX / 2;

// Fails `lasts` operations from number `which`, counted from 0, on.
struct Fault {
  size_t which;
  absl::Status error;
  size_t lasts;
  bool reads;  // counts what only reads, otherwise what changes the disk
};

bool OnlyReads(Kind kind) {
  return kind == Kind::kOpenForReading || kind == Kind::kRead || kind == Kind::kList ||
         kind == Kind::kInspect;
}

struct Run {
  std::unique_ptr<MemoryFileSystem> memory = NewMemoryFileSystem();
  std::unique_ptr<CrashWorkload> workload;
  std::atomic<size_t> num_operations = 0;
  std::atomic<size_t> num_failed = 0;
  std::string failed_operation;
};

std::unique_ptr<Run> RunWithFault(const Fault& fault) {
  auto run = std::make_unique<Run>();
  Run* const shared = run.get();
  run->workload = std::make_unique<CrashWorkload>(
      run->memory.get(), run->memory.get(), /*seed=*/1,
      [shared, fault](const FileOperation& operation) -> absl::Status {
        if (operation.kind == Kind::kLock || OnlyReads(operation.kind) != fault.reads) {
          return absl::OkStatus();
        }
        const size_t number = shared->num_operations++;
        if (number < fault.which || number - fault.which >= fault.lasts) return absl::OkStatus();
        if (shared->num_failed++ == 0) shared->failed_operation = operation.ToString();
        return fault.error;
      });
  run->workload->Run();
  return run;
}

// Operations whose failure no caller needs to hear of: files that nobody needs any more are removed
// by the next opening, closing a file that has been read or synced changes nothing, and a table
// that a flush could not write is written again.
bool MayFailSilently(const std::string& operation) {
  return absl::StartsWith(operation, "remove") || absl::StartsWith(operation, "close") ||
         absl::StrContains(operation, ".sst");
}

std::string WhyRecoveredIsWrong(MemoryFileSystem* disk, const CrashWorkload& workload,
                                std::optional<size_t> crashed_after) {
  auto db = DB::Open(CrashOptions(disk), kCrashDatabase);
  if (!db.ok()) return db.status().ToString();
  std::string problem;
  const Contents found = ReadEverything(**db, workload.keys(), &problem);
  if (problem.empty()) {
    problem = crashed_after.has_value()
                  ? workload.history().WhyWrongAfterCrash(found, *crashed_after, false)
                  : workload.history().WhyWrongAfterErrors(found);
  }
  if (problem.empty()) problem = std::string((*db)->Put(WriteOptions(), "key", "on").message());
  if (problem.empty() && !(*db)->Verify().empty()) problem = (*db)->Verify().front();
  const absl::Status closed = (*db)->Close();
  return problem.empty() && !closed.ok() ? closed.ToString() : problem;
}

void CheckEveryFault(const absl::Status& error, size_t lasts, bool reads) {
  size_t runs = 0;
  size_t silent = 0;
  const size_t stride = LongTests() || lasts == 1 ? 1 : 3;
  for (size_t which = 0;; which += stride) {
    const std::unique_ptr<Run> run = RunWithFault({which, error, lasts, reads});
    if (run->num_failed == 0) break;
    runs++;
    SCOPED_TRACE(absl::StrCat("operation ", which, " failed: ", run->failed_operation));
    if (run->workload->errors().empty()) {
      silent++;
      ASSERT_TRUE(reads || MayFailSilently(run->failed_operation)) << "nobody was told";
    }
    // The power fails as well: whatever was acknowledged as synced must be there all the same.
    const size_t end = run->memory->num_operations();
    for (const CrashChoice& choice :
         {CrashChoice::KeepNothingUnsynced(), CrashChoice::RandomSubset(which)}) {
      const auto crashed = run->memory->StateAfterCrash(end, choice);
      ASSERT_EQ(WhyRecoveredIsWrong(crashed.get(), *run->workload, end), "") << choice.ToString();
    }
    ASSERT_EQ(WhyRecoveredIsWrong(run->memory.get(), *run->workload, std::nullopt), "");
  }
  std::printf("%zu runs with a fault, %zu of them without effect\n", runs, silent);
  EXPECT_GT(runs, 30u);
}

TEST(CrashErrors, EachChangeOfTheDiskFailsOnce) {
  CheckEveryFault(absl::UnavailableError("injected I/O error"), 1, false);
}

TEST(CrashErrors, TheDiskIsFullFromAnyMomentOn) {
  CheckEveryFault(absl::ResourceExhaustedError("injected: no space left on device"), kForEver,
                  false);
}

TEST(CrashErrors, TheDiskIsFullForAWhile) {
  CheckEveryFault(absl::ResourceExhaustedError("injected: no space left on device"), 7, false);
}

TEST(CrashErrors, EachReadFailsOnce) {
  CheckEveryFault(absl::UnavailableError("injected I/O error"), 1, true);
}

// Writes until the disk is full, with an error hook that makes it so for some files; then there is
// space again, and the database must go on without being reopened.
void CheckHealing(const std::function<bool(const FileOperation&)>& is_full) {
  const auto memory = NewMemoryFileSystem();
  auto db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
  ASSERT_TRUE(db->Put(WriteOptions(), "flushed", "1").ok());
  ASSERT_TRUE(db->Flush(db->DefaultColumnFamily()).ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "in memory", "2").ok());
  std::atomic<bool> full = true;
  memory->set_error_hook([&](const FileOperation& operation) {
    return full && is_full(operation)
               ? absl::ResourceExhaustedError("injected: no space left on device")
               : absl::OkStatus();
  });
  std::map<std::string, bool> acknowledged;
  const std::string value(2000, 'v');
  absl::Status refused;
  for (int i = 0; i < 400 && refused.ok(); i++) {
    const std::string key = absl::StrCat("key", i);
    refused = db->Put(WriteOptions(), key, value);
    acknowledged[key] = refused.ok();
    if (i % 40 == 39) refused.Update(db->Flush(db->DefaultColumnFamily()));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  std::string found;
  EXPECT_TRUE(db->Get(ReadOptions(), "flushed", &found).ok());
  EXPECT_TRUE(db->Get(ReadOptions(), "in memory", &found).ok());
  for (int i = 0; i < 3; i++) {  // refusals and tries while it lasts change nothing
    db->Put(WriteOptions(), "maybe", "x").IgnoreError();
    db->Flush(db->DefaultColumnFamily()).IgnoreError();
  }
  full = false;
  absl::Status healed = absl::UnknownError("not tried");
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (!healed.ok() && absl::Now() < deadline) {
    healed = db->Put(WriteOptions(), "afterwards", "3");
    healed.Update(db->Flush(db->DefaultColumnFamily()));
  }
  ASSERT_TRUE(healed.ok()) << healed;
  EXPECT_EQ(*db->GetProperty(db->DefaultColumnFamily(), "winnow.background-error"), "");
  EXPECT_GT(memory->num_operations(), 0u);
  for (const bool reopened : {false, true}) {
    if (reopened) {
      EXPECT_TRUE(db->Close().ok());
      db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
    }
    for (const auto& [key, was_acknowledged] : acknowledged) {
      if (!was_acknowledged) continue;
      EXPECT_TRUE(db->Get(ReadOptions(), key, &found).ok()) << key;
    }
    for (const char* key : {"flushed", "in memory", "afterwards"}) {
      EXPECT_TRUE(db->Get(ReadOptions(), key, &found).ok()) << key;
    }
  }
}

TEST(CrashErrors, SpaceForTablesReturns) {
  CheckHealing([](const FileOperation& operation) {
    return operation.path.ends_with(".sst") && operation.kind == Kind::kAppend;
  });
}

TEST(CrashErrors, SpaceForTheLogReturns) {
  CheckHealing([](const FileOperation& operation) {
    return operation.path.ends_with(".log") && operation.kind == Kind::kAppend;
  });
}

TEST(CrashErrors, SpaceForNewFilesReturns) {
  CheckHealing([](const FileOperation& operation) { return operation.kind == Kind::kCreate; });
}

TEST(CrashErrors, SpaceForTheManifestReturns) {
  CheckHealing([](const FileOperation& operation) {
    return absl::StrContains(operation.path, "MANIFEST") &&
           (operation.kind == Kind::kAppend || operation.kind == Kind::kSync);
  });
}

TEST(CrashErrors, SpaceForAnythingReturns) {
  CheckHealing([](const FileOperation& operation) {
    return operation.kind == Kind::kAppend || operation.kind == Kind::kCreate;
  });
}

TEST(CrashErrors, AFailedSyncOfTheLogIsFinal) {
  const auto memory = NewMemoryFileSystem();
  auto db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
  ASSERT_TRUE(db->Put(WriteOptions(), "before", "1").ok());
  std::atomic<bool> fails = true;
  memory->set_error_hook([&](const FileOperation& operation) {
    return operation.kind == Kind::kSync && operation.path.ends_with(".log") &&
                   fails.exchange(false)
               ? absl::UnavailableError("injected I/O error")
               : absl::OkStatus();
  });
  WriteOptions synced;
  synced.sync = true;
  EXPECT_TRUE(absl::IsUnavailable(db->Put(synced, "key", "2")));
  EXPECT_FALSE(fails) << "the fault was never met";
  // The next sync would succeed, and prove nothing.
  EXPECT_TRUE(absl::IsFailedPrecondition(db->Put(synced, "key", "3")));
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), "before", &value).ok());
  EXPECT_NE(*db->GetProperty(db->DefaultColumnFamily(), "winnow.background-error"), "");
  EXPECT_FALSE(db->Close().ok());
  db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
  EXPECT_TRUE(db->Get(ReadOptions(), "before", &value).ok());
}

TEST(CrashErrors, ADamagedTableIsLeftAloneAndTheRestGoesOn) {
  const auto memory = NewMemoryFileSystem();
  memory->set_recording(false);
  auto db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
  ASSERT_TRUE(db->Put(WriteOptions(), "key", std::string(900, 'a')).ok());
  ASSERT_TRUE(db->Flush(db->DefaultColumnFamily()).ok());
  ASSERT_TRUE(db->Close().ok());
  std::string table;
  const std::vector<std::string> names = *memory->List(kCrashDatabase);
  for (const std::string& name : names) {
    if (absl::EndsWith(name, ".sst")) table = absl::StrCat(kCrashDatabase, "/", name);
  }
  std::string bytes = *ReadFile(*memory, table, 1 << 20);
  bytes[10] ^= 1;
  const auto file = *memory->Create(table, {});
  ASSERT_TRUE(file->Append(bytes).ok() && file->Close().ok());

  db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
  for (int i = 0; i < 8; i++) {  // enough files on level 0 for a compaction
    for (const std::string& key : {std::string("a"), absl::StrCat("key", i), std::string("z")}) {
      ASSERT_TRUE(db->Put(WriteOptions(), key, "b").ok());
    }
    const absl::Status flushed = db->Flush(db->DefaultColumnFamily());
    ASSERT_TRUE(flushed.ok() || absl::IsDataLoss(flushed)) << flushed;
  }
  const absl::Status waited = db->WaitForBackgroundWork();
  EXPECT_TRUE(absl::IsDataLoss(waited)) << waited;
  EXPECT_TRUE(absl::StrContains(waited.message(), table)) << waited;
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFilesQuarantined), 1u);
  EXPECT_TRUE(db->Put(WriteOptions(), "still", "writing").ok());
  std::string value;
  EXPECT_TRUE(absl::IsDataLoss(db->Get(ReadOptions(), "key", &value)));
  for (int i = 0; i < 8; i++) {
    EXPECT_TRUE(db->Get(ReadOptions(), absl::StrCat("key", i), &value).ok());
  }
  EXPECT_TRUE(*memory->Exists(table));
}

// RocksDB once took a read error for the end of a file, and compaction dropped what came after it.
TEST(CrashErrors, NoReadErrorDuringACompactionDropsData) {
  size_t failures = 0;
  for (int which = 0;; which++) {
    const auto memory = NewMemoryFileSystem();
    memory->set_recording(false);
    Options options = CrashOptions(memory.get());
    options.disable_auto_compactions = true;
    auto db = OpenOrFail(options, "/db");
    for (int i = 0; i < 240; i++) {
      const std::string key = absl::StrCat("key", i % 120);
      ASSERT_TRUE(db->Put(WriteOptions(), key, absl::StrCat("value ", i)).ok());
      if (i % 80 == 79) {
        ASSERT_TRUE(db->Flush(db->DefaultColumnFamily()).ok());
      }
    }
    std::atomic<int> reads = 0;
    memory->set_error_hook([&](const FileOperation& operation) {
      return operation.kind == Kind::kRead && reads++ == which
                 ? absl::UnavailableError("injected I/O error")
                 : absl::OkStatus();
    });
    const absl::Status status =
        db->CompactRange(db->DefaultColumnFamily(), std::nullopt, std::nullopt);
    memory->set_error_hook(nullptr);
    if (reads <= which) break;
    failures += status.ok() ? 0 : 1;
    for (const bool reopen : {false, true}) {
      if (reopen) {
        db->Close().IgnoreError();
        db = OpenOrFail(options, "/db");
      }
      for (int i = 0; i < 120; i++) {
        std::string value;
        ASSERT_TRUE(db->Get(ReadOptions(), absl::StrCat("key", i), &value).ok()) << which;
        ASSERT_EQ(value, absl::StrCat("value ", 120 + i));
      }
      if (reopen) {  // before that, a filter that could not be read is told as a problem
        ASSERT_EQ(db->Verify(), std::vector<std::string>());
      }
    }
  }
  EXPECT_GT(failures, 3u);
}

}  // namespace
}  // namespace winnow
