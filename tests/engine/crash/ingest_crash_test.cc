// A power failure at every step of an ingestion: all of it or nothing, and no file lost to the
// user.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

constexpr char kIngestedInto[] = "/data/db";
constexpr size_t kIngestedFiles = 2;

Options IngestCrashOptions(FileSystem* file_system) {
  Options options = MemoryDb::Quiet();
  options.file_system = file_system;
  return options;
}

std::string IngestedPath(size_t file) { return absl::StrCat("/data/table", file, ".sst"); }
std::string IngestedKey(size_t file) { return absl::StrCat("key", file); }

// A database with writes in its memtables and one file for each of two families. With `overlap` the
// memtables have old values of the files' keys, and must be flushed; without, nothing but the log
// holds what was written. Returns how many operations there were before the ingestion, and
// after it.
std::pair<size_t, size_t> RunIngestion(RecordingFileSystem* memory, bool move, bool overlap) {
  const auto db = OpenOrFail(IngestCrashOptions(memory), kIngestedInto);
  EXPECT_TRUE(memory->SyncDirectory("/data").ok());
  ColumnFamily* other = *db->CreateColumnFamily(Options(), "other");
  ColumnFamily* const families[kIngestedFiles] = {db->DefaultColumnFamily(), other};
  std::vector<IngestFile> files;
  for (size_t i = 0; i < kIngestedFiles; i++) {
    auto writer = SstWriter::Create(Options(), IngestedPath(i), memory);
    EXPECT_TRUE((*writer)->Put(IngestedKey(i), "new").ok());
    EXPECT_TRUE((*writer)->Finish().ok());
    files.push_back({IngestedPath(i), families[i]});
    // Not synced: it must be durable before the ingestion is, which came after it.
    if (overlap) {
      EXPECT_TRUE(db->Put(WriteOptions(), families[i], IngestedKey(i), "old").ok());
    }
    EXPECT_TRUE(db->Put(WriteOptions(), families[i], absl::StrCat("z", i), "before").ok());
  }
  const size_t begin = memory->num_operations();
  const auto ingested = db->Ingest(files, {.move = move});
  EXPECT_TRUE(ingested.ok()) << ingested.status();
  const size_t end = memory->num_operations();
  EXPECT_TRUE(db->Put(WriteOptions(), "after", "1").ok());
  return {begin, end};
}

void CheckIngestState(RecordingFileSystem& state, bool must_be_there, size_t* present) {
  const auto db = OpenOrFail(IngestCrashOptions(&state), kIngestedInto);
  ASSERT_NE(db, nullptr);
  const auto other = db->FindColumnFamily("other");
  ASSERT_TRUE(other.ok()) << other.status();
  ColumnFamily* const families[kIngestedFiles] = {db->DefaultColumnFamily(), *other};
  size_t found = 0;
  for (size_t i = 0; i < kIngestedFiles; i++) {
    std::string value;
    db->Get(ReadOptions(), families[i], IngestedKey(i), &value).IgnoreError();
    if (value != "new") continue;
    found++;
    EXPECT_TRUE(*db->Exists(ReadOptions(), families[i], absl::StrCat("z", i)))
        << "a write from before the ingestion is gone";
  }
  ASSERT_TRUE(found == 0 || found == kIngestedFiles) << "half of it is there";
  ASSERT_TRUE(found == kIngestedFiles || !must_be_there) << "an acknowledged ingestion is gone";
  *present += found == kIngestedFiles ? 1 : 0;
  const auto problems = db->Verify();
  ASSERT_TRUE(problems.ok());
  for (const VerifyProblem& problem : *problems) {
    ASSERT_TRUE(absl::StrContains(problem.path, ".log")) << problem.status;  // a torn one's copy
  }
  if (found == kIngestedFiles) return;
  // The user's files are there, whole, and can be ingested again.
  std::vector<IngestFile> files;
  for (size_t i = 0; i < kIngestedFiles; i++) files.push_back({IngestedPath(i), families[i]});
  const auto again = db->Ingest(files, {.move = true});
  ASSERT_TRUE(again.ok()) << again.status();
  std::string value;
  ASSERT_TRUE(db->Get(ReadOptions(), families[1], IngestedKey(1), &value).ok());
  EXPECT_EQ(value, "new");
}

class IngestCrash : public ::testing::TestWithParam<std::tuple<bool, bool>> {};

TEST_P(IngestCrash, AllOfItOrNothingAndNoFileIsLost) {
  RecordingFileSystem memory;
  const auto [begin, end] = RunIngestion(&memory, std::get<0>(GetParam()), std::get<1>(GetParam()));
  size_t states = 0;
  size_t present = 0;
  for (size_t operations = begin; operations <= end; operations++) {
    std::vector<CrashChoice> choices = {CrashChoice::KeepNothingUnsynced(), CrashChoice::KeepAll(),
                                        CrashChoice::TornLastAppend(0.5)};
    for (uint64_t seed = 1; seed <= 3; seed++) choices.push_back(CrashChoice::RandomSubset(seed));
    for (const CrashChoice& choice : choices) {
      SCOPED_TRACE(absl::StrCat("after ", operations - begin, " operations of the ingestion: ",
                                memory.operation(operations - 1).ToString()));
      const auto state = memory.StateAfterCrash(operations, choice);
      ASSERT_NO_FATAL_FAILURE(CheckIngestState(*state, operations == end, &present));
      states++;
    }
  }
  EXPECT_GT(present, 0u);
  EXPECT_LT(present, states);
}

INSTANTIATE_TEST_SUITE_P(MoveAndOverlap, IngestCrash,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool()));

}  // namespace
}  // namespace winnow
