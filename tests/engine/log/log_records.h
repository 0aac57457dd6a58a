// Writes and reads whole logs for the log tests.
#ifndef WINNOW_TESTS_ENGINE_LOG_LOG_RECORDS_H_
#define WINNOW_TESTS_ENGINE_LOG_LOG_RECORDS_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/log/log_reader.h"
#include "engine/log/log_writer.h"
#include "winnow/memory_file_system.h"

namespace winnow {

inline constexpr LogRecoveryMode kAllRecoveryModes[] = {
    LogRecoveryMode::kStrict, LogRecoveryMode::kPointInTime, LogRecoveryMode::kSalvage};

// Replaces the file's content.
inline void StoreFile(FileSystem& file_system, const std::string& path, std::string_view bytes) {
  auto file = file_system.Create(path, WritableFileOptions{});
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Append(bytes).ok());
  ASSERT_TRUE((*file)->Close().ok());
}

// What a log file holds after these payloads were appended.
inline std::string LogBytes(const std::vector<std::string>& payloads, const LogIdentity& log,
                            bool close_cleanly) {
  const std::unique_ptr<FileSystem> memory = NewMemoryFileSystem();
  auto writer = LogWriter::Create(*memory, "/log", log, WritableFileOptions::Mode::kBuffered);
  EXPECT_TRUE(writer.ok()) << writer.status();
  for (const std::string& payload : payloads) EXPECT_TRUE((*writer)->Append(payload).ok());
  EXPECT_TRUE((close_cleanly ? (*writer)->CloseCleanly() : (*writer)->Close()).ok());
  return ReadFile(*memory, "/log", uint64_t{1} << 32).value();
}

struct LogContents {
  std::vector<std::string> records;
  std::vector<uint64_t> offsets;
  absl::Status status;  // of Open or of the last Read
  LogEnd end;           // if status is ok
};

inline LogContents ReadLog(FileSystem& file_system, const std::string& path, const LogIdentity& log,
                           LogRecoveryMode mode) {
  LogContents contents;
  auto reader = LogReader::Open(file_system, path, log, mode);
  contents.status = reader.status();
  if (!reader.ok()) return contents;
  std::string_view payload;
  uint64_t offset = 0;
  for (;;) {
    const absl::StatusOr<bool> more = (*reader)->Read(&payload, &offset);
    contents.status = more.status();
    if (!more.ok() || !*more) break;
    contents.records.emplace_back(payload);
    contents.offsets.push_back(offset);
  }
  contents.end = (*reader)->end();
  return contents;
}

inline LogContents ReadLogBytes(std::string_view bytes, uint64_t log_number, LogRecoveryMode mode) {
  const std::unique_ptr<FileSystem> memory = NewMemoryFileSystem();
  StoreFile(*memory, "/log", bytes);
  return ReadLog(*memory, "/log", log_number, mode);
}

// The first `count` of `all`.
inline std::vector<std::string> Prefix(const std::vector<std::string>& all, size_t count) {
  return std::vector<std::string>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_LOG_LOG_RECORDS_H_
