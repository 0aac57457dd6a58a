// A filter that is damaged on disk: reads go on, right and slower, and the damage is counted.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/version/file_names.h"
#include "tests/support/claimed_filter_key.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"
#include "winnow/repair.h"

namespace winnow {
namespace {

constexpr int kNumKeys = 2000;
std::string KeyAt(int i) { return absl::StrCat("key", 100000 + i); }

std::string OnlyTable(RecordingFileSystem& file_system) {
  std::string table;
  const auto names = file_system.List(MemoryDb::kPath);
  for (const std::string& name : *names) {
    if (!name.ends_with(".sst")) continue;
    EXPECT_TRUE(table.empty()) << "more than one SSTable";
    table = absl::StrCat(MemoryDb::kPath, "/", name);
  }
  EXPECT_FALSE(table.empty());
  return table;
}

// Offset and stored length of the table's filter block.
std::pair<uint64_t, uint64_t> FilterBlock(RecordingFileSystem& file_system,
                                          const std::string& path) {
  auto reader = SstableReader::Open({}, *file_system.OpenRandomAccess(path), path);
  EXPECT_TRUE(reader.ok()) << reader.status().ToString();
  std::pair<uint64_t, uint64_t> place;
  const absl::Status visited = (*reader)->ForEachBlock([&](const SstableBlockInfo& block) {
    if (block.kind == BlockKind::kFilter) place = {block.offset, block.stored_bytes};
  });
  EXPECT_TRUE(visited.ok()) << visited.ToString();
  EXPECT_GT(place.second, 0u);
  return place;
}

void Rewrite(RecordingFileSystem& file_system, const std::string& path, const std::string& bytes) {
  auto file = file_system.Create(path, {});
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append(bytes).ok());
  ASSERT_TRUE((*file)->Sync().ok());
  ASSERT_TRUE((*file)->Close().ok());
}

class DamagedFilter : public testing::TestWithParam<const char*> {};

TEST_P(DamagedFilter, LosesNoKeyIsCountedAndIsFoundByVerify) {
  Options options = MemoryDb::Quiet();
  options.filter = GetParam();
  MemoryDb db(options);
  for (int i = 0; i < kNumKeys; i += 2) db.Put(KeyAt(i), "v");
  db.CompactAll();
  const std::string path = OnlyTable(db.file_system());
  const auto [offset, length] = FilterBlock(db.file_system(), path);
  const std::string sound = *ReadFile(db.file_system(), path, 1 << 26);
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 0u);

  // Header, first and last byte of the bits, checksum.
  for (const uint64_t at : {uint64_t{0}, uint64_t{5}, length / 2, length - 10, length - 1}) {
    SCOPED_TRACE(absl::StrCat("byte ", at, " of ", length));
    db.CloseDb();
    std::string damaged = sound;
    damaged[offset + at] = static_cast<char>(damaged[offset + at] ^ 0x40);
    Rewrite(db.file_system(), path, damaged);
    db.Reopen();
    EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 1u);
    for (int i = 0; i < kNumKeys; i++) ASSERT_EQ(db.Get(KeyAt(i)), i % 2 == 0 ? "v" : "(absent)");
    for (const FilterStatistics& row : db->GetStatistics().filters) EXPECT_EQ(row.checked, 0u);
    EXPECT_FALSE(VerifyMessages(*db).empty());
    const auto explained = db->Explain(KeyAt(0));
    ASSERT_TRUE(explained.ok());
    EXPECT_EQ(explained->steps.back().filter_answer, ExplainStep::FilterAnswer::kUnusable);
    EXPECT_FALSE(explained->steps.back().detail.empty());
  }

  // Compacting writes a sound filter again.
  db.CompactAll();
  EXPECT_TRUE(VerifyMessages(*db).empty());
  db.Reopen();
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 0u);
  for (int i = 0; i < kNumKeys; i++) ASSERT_EQ(db.Get(KeyAt(i)), i % 2 == 0 ? "v" : "(absent)");
  EXPECT_GT(db->GetStatistics().filters.at(0).rejected, 900u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, DamagedFilter,
                         testing::Values("blocked_bloom:10", "bloom:10", "cuckoo:1%",
                                         "cuckoo:1%:semi_sorted"));

// The table of a newer version, whose filter knows parts of keys that this one has no word for.
TEST(FilterOfANewerVersion, LosesNoKeyIsCountedAndIsReplacedByRepair) {
  Options options = MemoryDb::Quiet();
  options.filter_key = "whole+prefix:6";
  MemoryDb db(options);
  for (int i = 0; i < kNumKeys; i += 2) db.Put(KeyAt(i), "v");
  db.CompactAll();
  const std::string path = OnlyTable(db.file_system());
  const std::string written = *ReadFile(db.file_system(), path, 1 << 26);
  db.CloseDb();
  Rewrite(db.file_system(), path,
          WithClaimedFilterKey(written, "whole+prefix:6", "whole+suffix:6"));
  db.Reopen();
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 1u);
  for (int i = 0; i < kNumKeys; i++) ASSERT_EQ(db.Get(KeyAt(i)), i % 2 == 0 ? "v" : "(absent)");
  for (const FilterStatistics& row : db->GetStatistics().filters) EXPECT_EQ(row.checked, 0u);
  const auto explained = db->Explain(KeyAt(0));
  ASSERT_TRUE(explained.ok());
  EXPECT_EQ(explained->steps.back().filter_answer, ExplainStep::FilterAnswer::kUnusable);
  EXPECT_NE(explained->steps.back().detail.find("whole+suffix:6"), std::string::npos);
  db.CloseDb();

  // The table is all that repair has to go by, and it cannot know what the text meant.
  db.options().filter_key.clear();
  const auto names = db.file_system().List(MemoryDb::kPath);
  for (const std::string& name : *names) {
    if (!name.starts_with("MANIFEST")) continue;
    ASSERT_TRUE(db.file_system().Remove(absl::StrCat(MemoryDb::kPath, "/", name)).ok());
  }
  const auto report = RepairDatabase(db.options(), MemoryDb::kPath);
  ASSERT_TRUE(report.ok()) << report.status();
  db.Reopen();
  EXPECT_EQ(*db->GetProperty("winnow.filter-key"), "whole");
  for (int i = 0; i < kNumKeys; i++) ASSERT_EQ(db.Get(KeyAt(i)), i % 2 == 0 ? "v" : "(absent)");
  EXPECT_TRUE(VerifyMessages(*db).empty());
  EXPECT_GT(db->GetStatistics().filters.at(0).rejected, 900u);
}

}  // namespace
}  // namespace winnow
