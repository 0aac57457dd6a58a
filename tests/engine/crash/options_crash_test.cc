// A power failure while options change: what is recorded afterwards is what was set last, or what
// was being set, whole.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

constexpr char kChangingDatabase[] = "/data/db";
constexpr int kChanges = 6;

// How many operations there were when each change began, and when it had been acknowledged.
struct RecordedChange {
  size_t begin = 0;
  size_t end = 0;
};

std::vector<RecordedChange> RunChanges(RecordingFileSystem* memory) {
  Options options = MemoryDb::Quiet();
  options.file_system = memory;
  const auto db = OpenOrFail(options, kChangingDatabase);
  EXPECT_TRUE(memory->SyncDirectory("/data").ok());
  std::vector<RecordedChange> changes;
  for (int i = 0; i < kChanges; i++) {
    RecordedChange& change = changes.emplace_back();
    change.begin = memory->num_operations();
    const std::string level = absl::StrCat(10 + i);
    const std::string threads = absl::StrCat(20 + i);
    const OptionSetting settings[] = {
        {"zstd_level", level}, {"background_threads", threads}, {"filter_key", "whole"}};
    EXPECT_TRUE(db->SetOptions(db->DefaultColumnFamily(), settings).ok());
    change.end = memory->num_operations();
    EXPECT_TRUE(db->Put(WriteOptions(), level, "value").ok());
  }
  return changes;
}

TEST(OptionsCrash, AChangeIsThereWholeOnceItWasAcknowledged) {
  RecordingFileSystem memory;
  const std::vector<RecordedChange> changes = RunChanges(&memory);
  size_t seen = 0;
  for (size_t point = changes.front().begin; point <= memory.num_operations(); point++) {
    for (const CrashChoice& choice :
         {CrashChoice::KeepNothingUnsynced(), CrashChoice::KeepAll(),
          CrashChoice::TornLastAppend(0.5), CrashChoice::RandomSubset(point)}) {
      SCOPED_TRACE(absl::StrCat("crash before operation ", point, ", ", choice.ToString()));
      const auto state = memory.StateAfterCrash(point, choice);
      Options loaded;
      loaded.file_system = state.get();
      ASSERT_TRUE(DB::LoadOptions(kChangingDatabase, &loaded).ok());
      int acknowledged = 0;
      int begun = 0;
      for (const RecordedChange& change : changes) {
        acknowledged += change.end <= point ? 1 : 0;
        begun += change.begin < point ? 1 : 0;
      }
      const int last = loaded.zstd_level < 10 ? 0 : loaded.zstd_level - 9;
      ASSERT_GE(last, acknowledged);
      ASSERT_LE(last, begun);
      ASSERT_EQ(loaded.background_threads, last == 0 ? 1 : 19 + last) << "all of it or nothing";
      loaded.recovery_mode = RecoveryMode::kStrict;
      ASSERT_NE(OpenOrFail(loaded, kChangingDatabase), nullptr);
      seen++;
    }
  }
  EXPECT_GT(seen, 4u * kChanges);
}

}  // namespace
}  // namespace winnow
