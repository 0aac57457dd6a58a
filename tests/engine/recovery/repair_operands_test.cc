// Operands count once, whatever tables a killed process left beside the manifest; and a repair that
// lacks the operator loses none of them.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tests/engine/recovery/repaired_database.h"
#include "winnow/merge_operator.h"

namespace winnow {
namespace {

// Counts its operands' bytes: one that no name makes again.
class CountBytes final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.CountBytes"; }
  absl::Status FullMerge(std::string_view, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    uint64_t sum = 0;
    if (existing.has_value() && !absl::SimpleAtoi(ToAbsl(*existing), &sum)) {
      return absl::InvalidArgumentError("no number");
    }
    for (const std::string_view operand : operands) sum += operand.size();
    absl::StrAppend(result, sum);
    return absl::OkStatus();
  }
};

class RepairOperands : public testing::Test {
 protected:
  static Options WithOperator() {
    Options options = MemoryDb::Quiet();
    options.merge_operator = std::make_shared<const CountBytes>();
    return options;
  }

  void Add(const std::string& key, int count) {
    for (int i = 0; i < count; i++) {
      ASSERT_TRUE(db_->Merge(WriteOptions(), key, "x").ok());
    }
  }
  Files CopyFiles() {
    Files files;
    const std::vector<std::string> names = *db_.file_system().List("/db");
    for (const std::string& name : names) {
      if (name == "LOCK" || name == "lost") continue;
      files[name] = *ReadFile(db_.file_system(), "/db/" + name, 1 << 20);
    }
    return files;
  }
  // What a process leaves that is killed before the manifest knows the tables that `make` makes.
  Files KilledBeforeTheManifestKnows(const std::function<void()>& make) {
    Files files = CopyFiles();
    make();
    for (const auto& [name, bytes] : CopyFiles()) {
      if (name.ends_with(".sst")) files.try_emplace(name, bytes);
    }
    return files;
  }

  struct Outcome {
    std::unique_ptr<RecordingFileSystem> disk;
    absl::StatusOr<RepairReport> report;
    std::unique_ptr<DB> db;

    std::string Get(const std::string& key) const {
      std::string value;
      const absl::Status status = db->Get(ReadOptions(), key, &value);
      return status.ok() ? value : std::string(status.message());
    }
  };
  static Outcome Repair(const Files& files, Options options = WithOperator()) {
    Outcome outcome{Restore(files), absl::UnknownError("not run"), nullptr};
    options.file_system = outcome.disk.get();
    outcome.report = RepairDatabase(options, kDirectory);
    if (!outcome.report.ok()) return outcome;
    options.merge_operator = std::make_shared<const CountBytes>();
    outcome.db = OpenOrFail(options, kDirectory);
    return outcome;
  }

  MemoryDb db_{WithOperator()};
};

TEST_F(RepairOperands, CountOnceIfAFlushWasKilled) {
  db_.Put("counter", "100");
  Add("counter", 3);
  db_.CompactAll();
  Add("counter", 4);
  const Files files = KilledBeforeTheManifestKnows([&] { ASSERT_TRUE(db_->Flush().ok()); });
  const Outcome repaired = Repair(files);
  ASSERT_NE(repaired.db, nullptr) << repaired.report.status();
  EXPECT_EQ(repaired.Get("counter"), "107") << Notes(*repaired.report);
  EXPECT_FALSE(absl::StrContains(Notes(*repaired.report), "more than once"));
}

TEST_F(RepairOperands, CountOnceIfACompactionWasKilled) {
  for (int i = 0; i < 3; i++) {
    Add("counter", 2);
    ASSERT_TRUE(db_->Flush().ok());
  }
  Add("counter", 1);
  const Files files = KilledBeforeTheManifestKnows([&] { db_.CompactAll(); });
  const Outcome repaired = Repair(files);
  ASSERT_NE(repaired.db, nullptr) << repaired.report.status();
  EXPECT_EQ(repaired.Get("counter"), "7") << Notes(*repaired.report);
  EXPECT_GT(repaired.report->tables_set_aside, 0u) << "in lost/, should it have held more";
}

// The log stays as another family needs it, and is replayed where no manifest says whose it is.
TEST_F(RepairOperands, CountOnceIfTheManifestIsGoneAndALogHoldsThemToo) {
  ASSERT_TRUE(db_->CreateColumnFamily(db_.options(), "small").ok());
  ASSERT_TRUE(db_->Put(WriteOptions(), *db_->FindColumnFamily("small"), "key", "small").ok());
  Add("counter", 5);
  ASSERT_TRUE(db_->Flush(db_->DefaultColumnFamily()).ok());
  Add("counter", 2);
  Files files = CopyFiles();
  std::erase_if(files, [](const auto& file) {
    return file.first.starts_with("MANIFEST") || file.first == "CURRENT";
  });
  const Outcome repaired = Repair(files);
  ASSERT_NE(repaired.db, nullptr) << repaired.report.status();
  EXPECT_EQ(repaired.Get("counter"), "7") << Notes(*repaired.report);
}

// An older manifest was put back; its logs and some of its tables are gone.
TEST_F(RepairOperands, AreTakenFromTablesThatAreYoungerThanTheManifest) {
  Add("counter", 5);
  ASSERT_TRUE(db_->Flush().ok());
  const Files before = CopyFiles();
  Add("counter", 3);
  db_.CompactAll();
  Add("other", 2);
  ASSERT_TRUE(db_->Flush().ok());
  db_.CloseDb();
  Files files = CopyFiles();
  std::erase_if(files, [](const auto& file) { return file.first.starts_with("MANIFEST"); });
  for (const auto& [name, bytes] : before) {
    if (name.starts_with("MANIFEST") || name == "CURRENT") files[name] = bytes;
  }
  const Outcome repaired = Repair(files);
  ASSERT_NE(repaired.db, nullptr) << repaired.report.status();
  EXPECT_EQ(repaired.Get("counter"), "8") << Notes(*repaired.report);
  EXPECT_EQ(repaired.Get("other"), "2");
  EXPECT_TRUE(absl::StrContains(Notes(*repaired.report), "count more than once"))
      << Notes(*repaired.report);
}

TEST_F(RepairOperands, AllStayIfTheOperatorIsNotGiven) {
  auto family_options = ColumnFamilyOptions(WithOperator());
  ASSERT_TRUE(db_->CreateColumnFamily(family_options, "family").ok());
  ColumnFamily* family = *db_->FindColumnFamily("family");
  Add("counter", 3);
  ASSERT_TRUE(db_->Merge(WriteOptions(), family, "counter", "xx").ok());
  ASSERT_TRUE(db_->Flush().ok());
  Add("counter", 4);
  ASSERT_TRUE(db_->Merge(WriteOptions(), family, "counter", "xxx").ok());
  Files files = CopyFiles();
  files.erase("CURRENT");
  const Outcome repaired = Repair(files, MemoryDb::Quiet());
  ASSERT_TRUE(repaired.report.ok()) << repaired.report.status();
  ASSERT_NE(repaired.db, nullptr);
  EXPECT_EQ(repaired.Get("counter"), "7") << Notes(*repaired.report);
}

TEST_F(RepairOperands, AnotherOperatorIsRefusedBeforeAnythingIsWritten) {
  Add("counter", 3);
  Files files = CopyFiles();
  files.erase("CURRENT");
  Options options = MemoryDb::Quiet();
  options.merge_operator = *ParseMergeOperator("max");
  const Outcome refused = Repair(files, options);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.report.status())) << refused.report.status();
  const std::vector<std::string> listed = *refused.disk->List(kDirectory);
  std::set<std::string> names(listed.begin(), listed.end());
  names.erase("LOCK");
  std::set<std::string> expected;
  for (const auto& [name, bytes] : files) expected.insert(name);
  EXPECT_EQ(names, expected);
}

}  // namespace
}  // namespace winnow
