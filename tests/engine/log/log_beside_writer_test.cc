// Reading a log that another process is writing to, or closing: what it has not finished is no
// damage, and what it has finished is there.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/file_system/testing/recording_file_system.h"
#include "tests/engine/log/log_records.h"

namespace winnow {
namespace {

constexpr uint64_t kLiveLogNumber = 7;
constexpr size_t kReservedBytes = size_t{256} << 10;

// The log as its writer has it mapped: zeros behind the records.
std::string Reserved(std::string bytes) {
  bytes.resize(kReservedBytes, '\0');
  return bytes;
}

// Reads a log that holds `first`, and `then` from the second read on.
LogContents ReadWhileItChanges(const std::string& first, const std::string& then, int change_at,
                               LogRecoveryMode mode) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  memory->set_recording(false);
  StoreFile(*memory, "/log", first);
  int reads = 0;
  memory->set_error_hook([&](const FileOperation& operation) {
    if (operation.kind == FileOperation::Kind::kRead && reads++ == change_at) {
      StoreFile(*memory, "/log", then);
    }
    return absl::OkStatus();
  });
  return ReadLog(*memory, "/log", kLiveLogNumber, mode);
}

// What commands beside `winnow load` met in one run of nine: "file became shorter".
TEST(LogBesideWriter, ClosingALogThatIsBeingReadIsNoError) {
  const std::vector<std::string> payloads = {"one", "two", "three"};
  const std::string open = Reserved(LogBytes(payloads, kLiveLogNumber, false));
  const std::string closed = LogBytes(payloads, kLiveLogNumber, true);
  for (const LogRecoveryMode mode : kAllRecoveryModes) {
    for (int change_at = 0; change_at < 4; change_at++) {
      const LogContents contents = ReadWhileItChanges(open, closed, change_at, mode);
      ASSERT_TRUE(contents.status.ok()) << contents.status << ", change at read " << change_at;
      EXPECT_EQ(contents.records, payloads);
      EXPECT_NE(contents.end.kind, LogEnd::Kind::kDamaged);
      EXPECT_NE(contents.end.kind, LogEnd::Kind::kTornTail);
    }
  }
}

// The reader sees a part of the second record, and by the time it looks for more, all three.
TEST(LogBesideWriter, ARecordThatWasHalfWrittenIsReadOnceItIsWhole) {
  const std::vector<std::string> payloads = {"one", std::string(1000, 'x'), "three"};
  const std::string whole = LogBytes(payloads, kLiveLogNumber, false);
  const size_t second = LogBytes({"one"}, kLiveLogNumber, false).size();
  const size_t third = LogBytes({"one", payloads[1]}, kLiveLogNumber, false).size();
  for (const size_t written : {size_t{0}, size_t{20}, second + 5, second + 500, third - 1}) {
    for (const LogRecoveryMode mode : kAllRecoveryModes) {
      SCOPED_TRACE(written);
      const LogContents contents =
          ReadWhileItChanges(Reserved(whole.substr(0, written)), Reserved(whole), 1, mode);
      ASSERT_TRUE(contents.status.ok()) << contents.status;
      EXPECT_NE(contents.end.kind, LogEnd::Kind::kDamaged) << contents.end.reason;
      EXPECT_TRUE(contents.end.skipped.empty());
      // All of them, or what there was when the reader came.
      const size_t before = written < second ? 0 : 1;
      EXPECT_EQ(contents.records,
                Prefix(payloads, contents.records.size() > before ? payloads.size() : before));
    }
  }
}

}  // namespace
}  // namespace winnow
