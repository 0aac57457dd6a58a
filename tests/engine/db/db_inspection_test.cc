// What a database tells of itself: properties, explanations, its damage.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

TEST(DbProperties, EachNameAnswersAndTheJsonOnesParse) {
  MemoryDb db;
  for (int i = 0; i < 1000; i++) db.Put(absl::StrCat("key", i), "value \"quoted\"\n");
  db.CompactAll();
  db.Put("key", "in memory");
  for (int i = 0; i < 500; i++) db.Get(absl::StrCat("key", 2 * i));
  ColumnFamily* family = db->DefaultColumnFamily();
  for (const std::string_view name : DB::PropertyNames()) {
    std::string asked(name);
    if (asked.ends_with("<N>")) asked.replace(asked.size() - 3, 3, "6");
    const auto property = db->GetProperty(family, asked);
    ASSERT_TRUE(property.ok()) << asked << ": " << property.status().ToString();
    if (asked.ends_with("-json")) {
      EXPECT_TRUE(nlohmann::json::accept(*property)) << asked << ":\n" << *property;
    } else if (asked != "winnow.background-error" && asked != "winnow.recovery" &&
               asked != "winnow.merge-operator") {
      EXPECT_FALSE(property->empty()) << asked;
    }
  }
  for (const char* name :
       {"winnow.stats", "winnow.filter-stats", "winnow.levels", "winnow.sstables"}) {
    EXPECT_TRUE(db->GetProperty(family, absl::StrCat(name, "-json")).ok()) << name;
  }
  EXPECT_EQ(*db->GetProperty(family, "winnow.num-files-at-level6"), "1");
  EXPECT_EQ(*db->GetProperty(family, "winnow.estimate-num-keys"), "1001");
  for (const char* unknown : {"winnow.num-files-at-level16", "winnow.num-files-at-level-1",
                              "winnow.num-files-at-level", "winnow.nonsense", ""}) {
    EXPECT_TRUE(absl::IsNotFound(db->GetProperty(family, unknown).status())) << unknown;
  }
}

TEST(DbProperties, DeletionsAreCountedByLevelAndFile) {
  MemoryDb db;
  for (int i = 0; i < 10; i++) db.Put(absl::StrCat("key", i), "value");
  db.Flush();
  db.Delete("key1");
  db.Delete("key2");
  ASSERT_TRUE(db->DeleteRange(WriteOptions(), "key5", "key8").ok());
  db.Flush();
  const std::vector<LevelStatistics> levels = db->GetStatistics().levels;
  ASSERT_EQ(levels.size(), 1u);
  EXPECT_EQ(levels[0].num_deletions, 2u);
  EXPECT_EQ(levels[0].num_range_deletions, 1u);
  ColumnFamily* family = db->DefaultColumnFamily();
  const auto by_level = nlohmann::json::parse(*db->GetProperty(family, "winnow.levels-json"));
  EXPECT_EQ(by_level[0]["deletions"], 2);
  EXPECT_EQ(by_level[0]["range_deletions"], 1);
  uint64_t of_files = 0;
  for (const auto& file : nlohmann::json::parse(*db->GetProperty(family, "winnow.sstables-json"))) {
    of_files += file["range_deletions"].get<uint64_t>();
  }
  EXPECT_EQ(of_files, 1u);
}

TEST(DbExplain, TellsEachPlaceInTheOrderOfAGet) {
  MemoryDb db;
  db.Put("key", "oldest");
  db.CompactAll();
  db.Delete("key");
  db.Put("other", "v");
  db.Flush();
  db.Put("a third", "v");
  auto explained = db->Explain("key");
  ASSERT_TRUE(explained.ok());
  EXPECT_FALSE(explained->found);
  ASSERT_EQ(explained->steps.size(), 2u) << "memtable, level 0; not what the tombstone hides";
  EXPECT_EQ(explained->steps[0].source, ExplainStep::Source::kMemtable);
  EXPECT_EQ(explained->steps[1].level, 0);
  EXPECT_EQ(explained->steps[1].answer, ExplainStep::Answer::kDeleted);
  explained = db->Explain("other");
  EXPECT_TRUE(explained->found);
  EXPECT_EQ(explained->steps.back().filter_answer, ExplainStep::FilterAnswer::kMaybe);
  EXPECT_EQ(explained->filter_key, "other");
  EXPECT_TRUE(nlohmann::json::accept(explained->ToJson())) << explained->ToJson();
  EXPECT_TRUE(absl::StrContains(explained->steps.back().file_name,
                                absl::StrFormat("/%06d.sst", explained->steps.back().file_number)));
  EXPECT_TRUE(absl::StrContains(explained->ToString(), "blocked_bloom"));
  explained = db->Explain(std::string("\xff\x00\"\\\n", 5));
  EXPECT_TRUE(nlohmann::json::accept(explained->ToJson())) << explained->ToJson();
}

// Each problem names its file, where in it if that is known, and says that it is damage.
TEST(DbVerify, NamesFileAndOffsetOfDamage) {
  MemoryDb db;
  for (int i = 0; i < 1000; i++) db.Put(absl::StrCat("key", i), std::string(100, 'v'));
  db.Flush();
  EXPECT_TRUE(db->Verify()->empty());
  db.CloseDb();
  FileSystem& files = db.file_system();
  std::string path;
  const std::vector<std::string> names = *files.List(MemoryDb::kPath);
  for (const std::string& name : names) {
    if (name.ends_with(".sst")) path = absl::StrCat(MemoryDb::kPath, "/", name);
  }
  std::string bytes = *ReadFile(files, path, 1 << 20);
  bytes[bytes.size() / 2] ^= 4;
  const auto file = *files.Create(path, {});
  ASSERT_TRUE(file->Append(bytes).ok() && file->Close().ok());
  db.Reopen();
  const auto problems = db->Verify();
  ASSERT_EQ(problems->size(), 1u);
  EXPECT_EQ(problems->front().path, path);
  ASSERT_TRUE(problems->front().offset.has_value());
  EXPECT_LE(*problems->front().offset, bytes.size() / 2);
  EXPECT_TRUE(absl::IsDataLoss(problems->front().status));
  EXPECT_TRUE(
      absl::StartsWith(problems->front().status.message(),
                       absl::StrCat(path, ": at offset ", *problems->front().offset, ": ")));

  ASSERT_TRUE(db->Close().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(db->Verify().status()));
}

}  // namespace
}  // namespace winnow
