#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "engine/file_system/testing/recording_file_system.h"
#include "tests/engine/log/log_records.h"

namespace winnow {
namespace {

constexpr uint64_t kLogNumber = 7;

TEST(LogRoundTrip, EachPayloadComesBackAtItsOffset) {
  std::vector<std::string> payloads;
  for (size_t size = 0; size <= 300; size++) {
    payloads.push_back(std::string(size, static_cast<char>(size)));
  }
  for (const bool clean : {false, true}) {
    const LogContents contents =
        ReadLogBytes(LogBytes(payloads, kLogNumber, clean), kLogNumber, LogRecoveryMode::kStrict);
    ASSERT_TRUE(contents.status.ok()) << contents.status;
    EXPECT_EQ(contents.records, payloads);
    uint64_t offset = kLogFileHeaderBytes;
    for (size_t i = 0; i < payloads.size(); i++) {
      ASSERT_EQ(contents.offsets[i], offset);
      offset += kLogRecordHeaderBytes + payloads[i].size();
    }
    EXPECT_EQ(contents.end.kind, clean ? LogEnd::Kind::kCleanClose : LogEnd::Kind::kUnclosed);
    EXPECT_EQ(contents.end.offset, offset + (clean ? kLogRecordHeaderBytes : 0));
    EXPECT_EQ(contents.end.bytes_dropped, 0u);
    EXPECT_EQ(contents.end.reason, "");
  }
}

TEST(LogRoundTrip, RecordsMayCrossAndExceedTheReadBuffer) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<std::string> payloads;
  for (const size_t around : {4u << 10, 64u << 10, 256u << 10, 1u << 20}) {
    for (int difference = -20; difference <= 20; difference++) {
      std::string payload(around + static_cast<size_t>(difference + 20) - 20, '\0');
      for (size_t i = 0; i < payload.size(); i += 1 + random() % 64) {
        payload[i] = static_cast<char>(random());
      }
      payloads.push_back(std::move(payload));
      payloads.push_back(std::string(random() % 2000, 'x'));
    }
  }
  payloads.push_back(std::string(5 << 20, 'y'));
  const LogContents contents =
      ReadLogBytes(LogBytes(payloads, kLogNumber, true), kLogNumber, LogRecoveryMode::kStrict);
  ASSERT_TRUE(contents.status.ok()) << contents.status;
  EXPECT_TRUE(contents.records == payloads);
  EXPECT_EQ(contents.end.kind, LogEnd::Kind::kCleanClose);
}

TEST(LogRoundTrip, BothFileModesOfThePosixFileSystemWriteTheSameBytes) {
  FileSystem& posix = *PosixFileSystem();
  const std::string directory = testing::TempDir() + "/log_round_trip";
  ASSERT_TRUE(posix.CreateDirectories(directory).ok());
  std::mt19937_64 random(1);
  std::vector<std::string> payloads;
  for (int i = 0; i < 3000; i++) payloads.push_back(std::string(random() % 5000, 'a'));
  payloads.push_back(std::string(6 << 20, 'b'));
  const std::string expected = LogBytes(payloads, kLogNumber, true);
  for (const auto mode : {WritableFileOptions::Mode::kLog, WritableFileOptions::Mode::kBuffered}) {
    const std::string path = directory + "/log";
    auto writer = LogWriter::Create(posix, path, kLogNumber, mode);
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (const std::string& payload : payloads) ASSERT_TRUE((*writer)->Append(payload).ok());
    ASSERT_TRUE((*writer)->CloseCleanly().ok());
    EXPECT_TRUE(ReadFile(posix, path, uint64_t{1} << 30).value() == expected);
    ASSERT_TRUE(posix.Remove(path).ok());
  }
}

TEST(LogRoundTrip, AnOpenLogOfThePosixFileSystemReadsAsUnclosed) {
  FileSystem& posix = *PosixFileSystem();
  const std::string path = testing::TempDir() + "/open_log";
  auto writer = LogWriter::Create(posix, path, kLogNumber, WritableFileOptions::Mode::kLog);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Append("appended, not synced").ok());
  const LogContents contents = ReadLog(posix, path, kLogNumber, LogRecoveryMode::kStrict);
  ASSERT_TRUE(contents.status.ok()) << contents.status;
  EXPECT_EQ(contents.records, std::vector<std::string>{"appended, not synced"});
  EXPECT_EQ(contents.end.kind, LogEnd::Kind::kUnclosed);
  EXPECT_EQ(contents.end.offset, (*writer)->size());
  ASSERT_TRUE((*writer)->Close().ok());
  ASSERT_TRUE(posix.Remove(path).ok());
}

TEST(LogRoundTrip, APayloadAboveTheLimitIsRefusedAndLeavesTheLogUsable) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  auto writer = LogWriter::Create(*memory, "/log", kLogNumber, WritableFileOptions::Mode::kLog);
  const std::string_view too_long(reinterpret_cast<const char*>(&writer),
                                  kMaxLogPayloadBytes + 1);  // refused before it is looked at
  EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Append(too_long)));
  EXPECT_EQ((*writer)->size(), kLogFileHeaderBytes);
  EXPECT_TRUE((*writer)->Append("small").ok());
  EXPECT_EQ(ReadLog(*memory, "/log", kLogNumber, LogRecoveryMode::kStrict).records,
            std::vector<std::string>{"small"});
}

TEST(LogRoundTrip, OneAppendToTheFileCarriesOneRecord) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  auto writer = LogWriter::Create(*memory, "/log", kLogNumber, WritableFileOptions::Mode::kLog);
  const size_t before = memory->num_operations();
  ASSERT_TRUE((*writer)->Append("payload").ok());
  ASSERT_EQ(memory->num_operations(), before + 1);
  EXPECT_EQ(memory->operation(before).data.size(), kLogRecordHeaderBytes + 7);
}

TEST(LogRoundTrip, NothingIsAppendedAfterAFailedAppend) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  auto writer = LogWriter::Create(*memory, "/log", kLogNumber, WritableFileOptions::Mode::kLog);
  ASSERT_TRUE((*writer)->Append("first").ok());
  memory->set_error_hook([](const FileOperation& operation) {
    return operation.kind == FileOperation::Kind::kAppend
               ? absl::ResourceExhaustedError(operation.path + ": disk is full")
               : absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsResourceExhausted((*writer)->Append("second")));
  memory->set_error_hook(nullptr);
  EXPECT_TRUE(absl::IsResourceExhausted((*writer)->Append("third")));
  EXPECT_TRUE((*writer)->Sync().ok()) << "of what was appended before";
  EXPECT_TRUE(absl::IsResourceExhausted((*writer)->CloseCleanly()));
  EXPECT_EQ(ReadLog(*memory, "/log", kLogNumber, LogRecoveryMode::kStrict).records,
            std::vector<std::string>{"first"});
}

TEST(LogRoundTrip, AFailedSyncIsFinal) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  auto writer = LogWriter::Create(*memory, "/log", kLogNumber, WritableFileOptions::Mode::kLog);
  memory->set_error_hook([](const FileOperation& operation) {
    return operation.kind == FileOperation::Kind::kSync ? absl::UnavailableError("sync failed")
                                                        : absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsUnavailable((*writer)->Sync()));
  memory->set_error_hook(nullptr);
  EXPECT_TRUE(absl::IsUnavailable((*writer)->Sync()));
  EXPECT_TRUE(absl::IsUnavailable((*writer)->Append("late")));
}

// LevelDB dropped it (its issue 1081).
TEST(LogRoundTrip, AnErrorOfClosingIsTold) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  auto writer = LogWriter::Create(*memory, "/log", kLogNumber, WritableFileOptions::Mode::kLog);
  memory->set_error_hook([](const FileOperation& operation) {
    return operation.kind == FileOperation::Kind::kClose ? absl::UnavailableError("close failed")
                                                         : absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsUnavailable((*writer)->CloseCleanly()));
}

TEST(LogRoundTrip, AMissingLogIsNotFound) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  EXPECT_TRUE(
      absl::IsNotFound(ReadLog(*memory, "/log", kLogNumber, LogRecoveryMode::kSalvage).status));
}

}  // namespace
}  // namespace winnow
