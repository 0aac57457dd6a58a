// A database made of files, repaired and open.
#ifndef WINNOW_TESTS_ENGINE_RECOVERY_REPAIRED_DATABASE_H_
#define WINNOW_TESTS_ENGINE_RECOVERY_REPAIRED_DATABASE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "tests/support/damage_database.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"
#include "winnow/repair.h"

namespace winnow {

inline constexpr char kDirectory[] = "/db";

// Of the files whose names contain `part`.
inline std::vector<std::string> NamesOf(const Files& files, const std::string& part) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files) {
    if (absl::StrContains(name, part)) names.push_back(name);
  }
  return names;
}

struct Repaired {
  std::unique_ptr<RecordingFileSystem> disk;
  RepairReport report;
  std::unique_ptr<DB> db;
};

inline Repaired RepairAndOpen(const Files& files) {
  Repaired repaired;
  repaired.disk = Restore(files);
  const Options options = DamageOptions(repaired.disk.get());
  auto report = RepairDatabase(options, kDirectory);
  EXPECT_TRUE(report.ok()) << report.status();
  if (!report.ok()) return repaired;
  repaired.report = *std::move(report);
  repaired.db = OpenOrFail(options, kDirectory);
  if (repaired.db != nullptr) {
    EXPECT_TRUE(VerifyMessages(*repaired.db).empty());
    EXPECT_TRUE(repaired.db->Put(WriteOptions(), "new", "write").ok());
    EXPECT_TRUE(repaired.db->Delete(WriteOptions(), "new").ok());
  }
  return repaired;
}

inline std::string Notes(const RepairReport& report) { return absl::StrJoin(report.notes, "\n"); }

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_RECOVERY_REPAIRED_DATABASE_H_
