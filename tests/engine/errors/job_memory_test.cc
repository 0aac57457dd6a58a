// Memory that flushes and compactions need for as long as they run. What they leave behind in the
// heap stays long, and settles where their large buffers were: then the next job's find no place,
// and the heap of a database with many small tables grows to several times of what is in use.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/allocation_hook.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"

namespace winnow {
namespace {

// The list of hashes of a filter that is being built; it is kept for the next one.
constexpr size_t kLargestRequest = size_t{64} << 10;

TEST(JobMemory, NoLargeBufferComesFromTheHeap) {
  const ScratchDirectory directory("job-memory");
  const auto db = OpenOrFail(Options::ForMemory(size_t{16} << 20, 1), directory.path() + "/db");
  ResetLargestAllocation();
  for (int table = 0; table < 3; table++) {
    for (int i = 0; i < 8000; i++) {
      ASSERT_TRUE(db->Put(WriteOptions(), absl::StrCat(i * 3 + table), "value").ok());
    }
    ASSERT_TRUE(db->Flush().ok());
  }
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  EXPECT_LE(LargestAllocation(), kLargestRequest);
  // What it was about: tables with a filter that is not small, in the end.
  EXPECT_EQ(*db->GetProperty("winnow.estimate-num-keys"), "24000");
  EXPECT_GT(std::stoull(*db->GetProperty("winnow.filter-memory")), 50000U);
}

}  // namespace
}  // namespace winnow
