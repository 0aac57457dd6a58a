// A power failure, or a kill, at every step of a refiltering: no key is missed, and a second call
// goes on where the first one ended.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"

namespace winnow::refilter_crash {
namespace {

constexpr char kPath[] = "/data/db";
constexpr int kNumKeys = 400;
constexpr char kFilter[] = "ribbon:1%";

std::string KeyAt(int i) { return absl::StrCat("key", 1000 + i); }

Options QuietOptions(FileSystem* file_system) {
  Options options = MemoryDb::Quiet();
  options.file_system = file_system;
  return options;
}

// Even keys, in several tables; then the refiltering. Returns the operations before and after it.
std::pair<size_t, size_t> RunRefilter(RecordingFileSystem* memory) {
  const auto db = OpenOrFail(QuietOptions(memory), kPath);
  EXPECT_TRUE(memory->SyncDirectory("/data").ok());
  for (int i = 0; i < kNumKeys; i += 2) {
    EXPECT_TRUE(db->Put(WriteOptions(), KeyAt(i), std::string(100, 'v')).ok());
    // A table of each hundred.
    if (i % 100 == 98) {
      EXPECT_TRUE(db->Flush().ok());
    }
  }
  const size_t begin = memory->num_operations();
  const auto info = db->Refilter({.filter = kFilter});
  EXPECT_TRUE(info.ok()) << info.status();
  EXPECT_GE(info->files_refiltered, 2u);
  // And once more, so that filter files are replaced and removed.
  EXPECT_TRUE(db->Refilter({.filter = "cuckoo:12"}).ok());
  return {begin, memory->num_operations()};
}

void ExpectEvenKeys(DB& db) {
  std::string value;
  for (int i = 0; i < kNumKeys; i++) {
    ASSERT_EQ(db.Get(ReadOptions(), KeyAt(i), &value).ok(), i % 2 == 0) << KeyAt(i);
  }
}

void CheckState(RecordingFileSystem& state, uint64_t* files_done_before) {
  auto db = OpenOrFail(QuietOptions(&state), kPath);
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 0u)
      << "the manifest named a filter file before it was durable";
  ASSERT_NO_FATAL_FAILURE(ExpectEvenKeys(*db));
  EXPECT_EQ(DamageMessages(*db), std::vector<std::string>());
  const auto rest = db->Refilter({.filter = kFilter});
  ASSERT_TRUE(rest.ok()) << rest.status();
  *files_done_before += rest->files_current;
  ASSERT_NO_FATAL_FAILURE(ExpectEvenKeys(*db));
  EXPECT_EQ(DamageMessages(*db), std::vector<std::string>());
  ASSERT_TRUE(db->Close().ok());
  db.reset();
  // Nothing is left of the filter files that no table has.
  db = OpenOrFail(QuietOptions(&state), kPath);
  size_t tables = 0;
  size_t filters = 0;
  const std::vector<std::string> names = *state.List(kPath);
  for (const std::string& name : names) {
    tables += name.ends_with(".sst") ? 1 : 0;
    filters += name.ends_with(".flt") ? 1 : 0;
  }
  EXPECT_EQ(filters, tables);
}

TEST(RefilterCrash, HidesNoKeyWhereverItEndsAndGoesOnThere) {
  RecordingFileSystem memory;
  const auto [begin, end] = RunRefilter(&memory);
  size_t states = 0;
  uint64_t files_done_before = 0;
  for (size_t operations = begin; operations <= end; operations += kFewerBy) {
    std::vector<CrashChoice> choices = {CrashChoice::KeepNothingUnsynced(), CrashChoice::KeepAll(),
                                        CrashChoice::TornLastAppend(0.5)};
    for (uint64_t seed = 1; seed <= 2; seed++) choices.push_back(CrashChoice::RandomSubset(seed));
    for (const CrashChoice& choice : choices) {
      SCOPED_TRACE(absl::StrCat("after ", operations - begin,
                                " operations: ", memory.operation(operations - 1).ToString()));
      const auto state = memory.StateAfterCrash(operations, choice);
      ASSERT_NO_FATAL_FAILURE(CheckState(*state, &files_done_before));
      states++;
    }
  }
  EXPECT_GE(states * kFewerBy, 100u);
  EXPECT_GT(files_done_before, 0u);
}

}  // namespace
}  // namespace winnow::refilter_crash
