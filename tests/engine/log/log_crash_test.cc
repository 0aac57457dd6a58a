// A log after a crash at every operation, with every choice of what survived.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/file_system/testing/recording_file_system.h"
#include "tests/engine/log/log_records.h"

namespace winnow {
namespace {

constexpr uint64_t kCrashedLogNumber = 12;
constexpr char kPath[] = "/db/000012.log";

// What had been promised when the file system had recorded so many operations.
struct Moment {
  size_t num_operations;
  size_t appended;
  size_t synced;
  bool entry_durable;
};

struct Workload {
  std::unique_ptr<RecordingFileSystem> memory = std::make_unique<RecordingFileSystem>();
  std::vector<std::string> payloads;
  std::vector<Moment> moments;

  Moment At(size_t num_operations) const {
    Moment last = {0, 0, 0, false};
    for (const Moment& moment : moments) {
      if (moment.num_operations <= num_operations) last = moment;
    }
    return last;
  }
};

Workload RunWorkload(WritableFileOptions::Mode mode) {
  Workload workload;
  RecordingFileSystem& memory = *workload.memory;
  size_t synced = 0;
  bool entry_durable = false;
  const auto remember = [&] {
    workload.moments.push_back(
        {memory.num_operations(), workload.payloads.size(), synced, entry_durable});
  };
  EXPECT_TRUE(memory.CreateDirectories("/db").ok());
  EXPECT_TRUE(memory.SyncDirectory("/").ok());
  auto writer = LogWriter::Create(memory, kPath, kCrashedLogNumber, mode);
  EXPECT_TRUE(memory.SyncDirectory("/db").ok());
  entry_durable = true;
  remember();
  for (int i = 0; i < 40; i++) {
    const std::string payload(static_cast<size_t>(i * i % 1900), static_cast<char>('a' + i % 26));
    EXPECT_TRUE((*writer)->Append(payload).ok());
    workload.payloads.push_back(payload);
    remember();
    if (i % 7 == 6) {
      EXPECT_TRUE((*writer)->Sync().ok());
      synced = workload.payloads.size();
      remember();
    }
  }
  EXPECT_TRUE((*writer)->CloseCleanly().ok());
  synced = workload.payloads.size();
  remember();
  return workload;
}

std::vector<CrashChoice> Choices() {
  std::vector<CrashChoice> choices = {
      CrashChoice::KeepNothingUnsynced(), CrashChoice::KeepAll(), CrashChoice::TornLastAppend(0.05),
      CrashChoice::TornLastAppend(0.5), CrashChoice::TornLastAppend(0.99)};
  for (uint64_t seed = 0; seed < 12; seed++) choices.push_back(CrashChoice::RandomSubset(seed));
  return choices;
}

bool IsSubsequence(const std::vector<std::string>& part, const std::vector<std::string>& whole) {
  size_t next = 0;
  for (const std::string& record : part) {
    while (next < whole.size() && whole[next] != record) next++;
    if (next++ == whole.size()) return false;
  }
  return true;
}

void CheckState(const Workload& workload, size_t num_operations, const CrashChoice& choice,
                WritableFileOptions::Mode file_mode) {
  SCOPED_TRACE("after " + std::to_string(num_operations) + " operations, " + choice.ToString());
  const Moment moment = workload.At(num_operations);
  const std::unique_ptr<RecordingFileSystem> disk =
      workload.memory->StateAfterCrash(num_operations, choice);
  const LogContents found = ReadLog(*disk, kPath, kCrashedLogNumber, LogRecoveryMode::kPointInTime);
  if (absl::IsNotFound(found.status)) {
    ASSERT_FALSE(moment.entry_durable);
    return;
  }
  ASSERT_TRUE(found.status.ok()) << found.status;
  // An append that the crash interrupted may be there too.
  ASSERT_LE(found.records.size(), std::min(moment.appended + 1, workload.payloads.size()));
  ASSERT_EQ(found.records, Prefix(workload.payloads, found.records.size()));
  ASSERT_GE(found.records.size(), moment.synced);
  if (choice.kind == CrashChoice::Kind::kKeepAll && file_mode == WritableFileOptions::Mode::kLog) {
    ASSERT_GE(found.records.size(), moment.appended);
  }
  const LogContents strict = ReadLog(*disk, kPath, kCrashedLogNumber, LogRecoveryMode::kStrict);
  if (choice.kind != CrashChoice::Kind::kRandomSubset) {
    ASSERT_TRUE(strict.status.ok()) << strict.status;
    ASSERT_EQ(strict.records, found.records);
  }
  const LogContents salvaged = ReadLog(*disk, kPath, kCrashedLogNumber, LogRecoveryMode::kSalvage);
  ASSERT_TRUE(salvaged.status.ok()) << salvaged.status;
  ASSERT_GE(salvaged.records.size(), found.records.size());
  ASSERT_TRUE(IsSubsequence(salvaged.records, workload.payloads));
}

TEST(LogCrash, EveryStateHoldsAPrefixWithAllSyncedRecords) {
  for (const auto mode : {WritableFileOptions::Mode::kLog, WritableFileOptions::Mode::kBuffered}) {
    const Workload workload = RunWorkload(mode);
    size_t states = 0;
    for (size_t n = 0; n <= workload.memory->num_operations(); n++) {
      for (const CrashChoice& choice : Choices()) {
        CheckState(workload, n, choice, mode);
        if (HasFatalFailure()) return;
        states++;
      }
    }
    EXPECT_GT(states, 800u);
  }
}

TEST(LogCrash, TornAndLostRecordsDoOccur) {
  const Workload workload = RunWorkload(WritableFileOptions::Mode::kLog);
  size_t torn = 0, damaged = 0, unclosed = 0, missing = 0;
  for (size_t n = 0; n <= workload.memory->num_operations(); n++) {
    for (const CrashChoice& choice : Choices()) {
      const LogContents found = ReadLog(*workload.memory->StateAfterCrash(n, choice), kPath,
                                        kCrashedLogNumber, LogRecoveryMode::kPointInTime);
      if (!found.status.ok()) {
        missing++;
      } else {
        torn += found.end.kind == LogEnd::Kind::kTornTail;
        damaged += found.end.kind == LogEnd::Kind::kDamaged;
        unclosed += found.end.kind == LogEnd::Kind::kUnclosed;
      }
    }
  }
  EXPECT_GT(torn, 10u);
  EXPECT_GT(damaged, 10u);
  EXPECT_GT(unclosed, 10u);
  EXPECT_GT(missing, 3u);
}

TEST(LogCrash, ACleanCloseSurvivesEveryCrashAfterIt) {
  const Workload workload = RunWorkload(WritableFileOptions::Mode::kLog);
  for (const CrashChoice& choice : Choices()) {
    const LogContents found =
        ReadLog(*workload.memory->StateAfterCrash(workload.memory->num_operations(), choice), kPath,
                kCrashedLogNumber, LogRecoveryMode::kStrict);
    ASSERT_TRUE(found.status.ok()) << found.status;
    EXPECT_EQ(found.records, workload.payloads);
    EXPECT_EQ(found.end.kind, LogEnd::Kind::kCleanClose) << choice.ToString();
  }
}

}  // namespace
}  // namespace winnow
