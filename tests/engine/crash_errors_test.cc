// Each operation of a small workload fails once: the call that needed it says so, and reopening
// finds everything acknowledged and no half of anything.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/crash_workload.h"
#include "tests/engine/db_fixture.h"

namespace winnow {
namespace {

using Kind = FileOperation::Kind;

// Fails the operation number `which`, counted from 0, once or from then on.
struct Fault {
  size_t which;
  absl::Status error;
  bool for_ever;
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
        if (number != fault.which && !(fault.for_ever && number > fault.which)) {
          return absl::OkStatus();
        }
        if (shared->num_failed++ == 0) shared->failed_operation = operation.ToString();
        return fault.error;
      });
  run->workload->Run();
  return run;
}

// Operations whose failure no caller needs to hear of: files that nobody needs any more are removed
// by the next opening, and closing a file that has been read or synced changes nothing.
bool MayFailSilently(const std::string& operation) {
  return absl::StartsWith(operation, "remove") || absl::StartsWith(operation, "close");
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

void CheckEveryFault(const absl::Status& error, bool for_ever, bool reads) {
  size_t runs = 0;
  size_t silent = 0;
  const size_t stride = LongTests() ? 1 : (for_ever ? 3 : 1);
  for (size_t which = 0;; which += stride) {
    const std::unique_ptr<Run> run = RunWithFault({which, error, for_ever, reads});
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
  CheckEveryFault(absl::UnavailableError("injected I/O error"), false, false);
}

TEST(CrashErrors, TheDiskIsFullFromAnyMomentOn) {
  CheckEveryFault(absl::ResourceExhaustedError("injected: no space left on device"), true, false);
}

TEST(CrashErrors, EachReadFailsOnce) {
  CheckEveryFault(absl::UnavailableError("injected I/O error"), false, true);
}

TEST(CrashErrors, ReadsGoOnAfterAFailedFlushAndWritesAreRefused) {
  const auto memory = NewMemoryFileSystem();
  auto db = OpenOrFail(CrashOptions(memory.get()), "/db");
  ASSERT_TRUE(db->Put(WriteOptions(), "flushed", "1").ok());
  ASSERT_TRUE(db->Flush(db->DefaultColumnFamily()).ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "in memory", "2").ok());
  memory->set_error_hook([](const FileOperation& operation) {
    return operation.path.ends_with(".sst") && operation.kind == Kind::kAppend
               ? absl::ResourceExhaustedError("injected: no space left on device")
               : absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsResourceExhausted(db->Flush(db->DefaultColumnFamily())));
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), "flushed", &value).ok());
  EXPECT_TRUE(db->Get(ReadOptions(), "in memory", &value).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(db->Put(WriteOptions(), "key", "3")));
  EXPECT_NE(*db->GetProperty(db->DefaultColumnFamily(), "winnow.background-error"), "");
  memory->set_error_hook(nullptr);
  EXPECT_FALSE(db->Close().ok());
  db = OpenOrFail(CrashOptions(memory.get()), "/db");
  EXPECT_TRUE(db->Get(ReadOptions(), "in memory", &value).ok());
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), "key", &value)));
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
