// A process may change its working directory while it has a database open by a relative path.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/child_process.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

constexpr int kKeys = 200;

// What a program does that becomes a daemon after it has opened its database. The line in which it
// failed, or 0.
int WriteFromElsewhere(const std::string& directory) {
  if (::chdir(directory.c_str()) != 0) return __LINE__;
  auto db = DB::Open(MemoryDb::Quiet(), "db");
  if (!db.ok()) return __LINE__;
  if (::chdir("elsewhere") != 0) return __LINE__;
  WriteOptions synced;
  synced.sync = true;
  for (int i = 0; i < kKeys; i++) {
    if (!(*db)->Put(i % 50 == 0 ? synced : WriteOptions(), absl::StrCat(i), "value").ok()) {
      return __LINE__;
    }
    if (i % 70 == 0 && !(*db)->Flush().ok()) return __LINE__;
  }
  if (!(*db)->CompactRange(std::nullopt, std::nullopt).ok()) return __LINE__;
  if (!(*db)->Checkpoint("copy").ok()) return __LINE__;
  return (*db)->Close().ok() ? 0 : __LINE__;
}

// Writes were refused, since LOCK and log were not found where they had been.
TEST(WorkingDirectory, MayChangeWhileADatabaseIsOpen) {
  const ScratchDirectory scratch("working-directory");
  std::filesystem::create_directory(scratch.path() + "/elsewhere");
  ASSERT_EQ(InChild([&] { return WriteFromElsewhere(scratch.path()); }), 0);
  // The copy's path counts from where it was made.
  for (const char* const path : {"/db", "/elsewhere/copy"}) {
    const auto db = OpenOrFail(MemoryDb::Quiet(), scratch.path() + path);
    std::string value;
    for (int i = 0; i < kKeys; i++) {
      EXPECT_TRUE(db->Get(ReadOptions(), absl::StrCat(i), &value).ok()) << path << ": " << i;
    }
  }
}

// A program's own file system may have no working directory.
TEST(WorkingDirectory, MeansNothingInMemory) {
  const auto memory = NewMemoryFileSystem();
  Options options;
  options.file_system = memory.get();
  ASSERT_NE(OpenOrFail(options, "db"), nullptr);
  EXPECT_TRUE(*memory->Exists("db/CURRENT"));
}

TEST(WorkingDirectory, APathWithAZeroByteMakesNoDirectory) {
  const ScratchDirectory scratch("zero-byte");
  const std::string path = scratch.path() + std::string("/db\0x", 5);
  EXPECT_TRUE(absl::IsInvalidArgument(DB::Open(MemoryDb::Quiet(), path).status()));
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

}  // namespace
}  // namespace winnow
