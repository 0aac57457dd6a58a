// The logs of an open database beside each other, without a database around them.
#include "engine/write/log_set.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "engine/file_system/testing/recording_file_system.h"
#include "engine/version/file_names.h"
#include "engine/write/write_queue.h"
#include "tests/engine/log/log_records.h"

namespace winnow {
namespace {

// It once counted as a failed sync, after which a database takes no writes until it is reopened.
TEST(LogSetTest, AnOlderLogIsSyncedWhereThereIsNoRoomForItsMarker) {
  constexpr uint64_t kDatabase = 7;
  for (const bool older_is_needed : {true, false}) {
    const auto files = std::make_unique<RecordingFileSystem>();
    ASSERT_TRUE(files->CreateDirectories("/db").ok() && files->SyncDirectory("/").ok());
    std::atomic<bool> is_full = false;
    files->set_error_hook([&](const FileOperation& operation) {
      return is_full && operation.kind == FileOperation::Kind::kAppend
                 ? absl::ResourceExhaustedError("injected: no space left on device")
                 : absl::OkStatus();
    });
    WriteQueue queue;
    ExclusiveWrites writes(&queue);
    LogSet logs(files.get(), "/db");
    logs.set_database_id(kDatabase);
    ASSERT_TRUE(logs.StartNew(1).ok());
    logs.BeginRecord()->append("\1batch");
    ASSERT_TRUE(logs.AppendBegunRecord().ok());
    ASSERT_TRUE(logs.StartNew(2).ok());
    is_full = true;
    EXPECT_TRUE(logs.Sync().ok());
    is_full = false;
    bool all_have_markers = older_is_needed;
    EXPECT_TRUE(logs.Close(older_is_needed ? 1 : 2, &all_have_markers).ok());
    EXPECT_EQ(all_have_markers, !older_is_needed);

    const auto crashed =
        files->StateAfterCrash(files->num_operations(), CrashChoice::KeepNothingUnsynced());
    const LogContents older =
        ReadLog(*crashed, LogFileName("/db", 1), {1, kDatabase}, LogRecoveryMode::kStrict);
    EXPECT_TRUE(older.status.ok()) << older.status;
    EXPECT_EQ(older.records.size(), 2u) << "its start and the batch";
    EXPECT_EQ(older.end.kind, LogEnd::Kind::kUnclosed);
  }
}

}  // namespace
}  // namespace winnow
