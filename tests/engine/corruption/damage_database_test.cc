// A database whose files are damaged gives right answers and clear errors, nothing else.
// WINNOW_LONG_TESTS=1 flips every bit instead of one bit of every byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "tests/support/damage_database.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

constexpr char kDirectory[] = "/db";

// An opening starts threads, and takes thirty times as long under ThreadSanitizer: it sees a share.
#ifdef __SANITIZE_THREAD__
constexpr size_t kBytesStep = 7;
#else
constexpr size_t kBytesStep = 1;
#endif

struct Opened {
  std::unique_ptr<RecordingFileSystem> disk;
  std::unique_ptr<DB> db;
  absl::Status status;
  std::string recovery;  // the notes
};

Opened Open(const Files& files, RecoveryMode mode, bool read_only) {
  Opened opened;
  opened.disk = Restore(files);
  Options options = DamageOptions(opened.disk.get());
  options.recovery_mode = mode;
  options.read_only = read_only;
  auto db = DB::Open(options, kDirectory);
  opened.status = db.status();
  if (!db.ok()) return opened;
  opened.db = *std::move(db);
  opened.recovery = *opened.db->GetProperty("winnow.recovery");
  return opened;
}

// Calls `check` with a copy of the files in which one byte of `name` is wrong, for each byte.
void ForEachFlip(const Files& files, const std::string& name,
                 const std::function<void(const Files&)>& check) {
  Files damaged = files;
  std::string& bytes = damaged[name];
  for (size_t i = 0; i < bytes.size() && !testing::Test::HasFailure(); i += kBytesStep) {
    for (int bit = 0; bit < 8; bit++) {
      if (!LongTests() && bit != static_cast<int>(i * 5 % 8)) continue;
      SCOPED_TRACE(absl::StrCat(name, " of ", bytes.size(), " bytes: byte ", i, ", bit ", bit));
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      check(damaged);
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
    }
  }
}

void ForEachTruncation(const Files& files, const std::string& name,
                       const std::function<void(const Files&)>& check) {
  Files damaged = files;
  const std::string& whole = files.at(name);
  for (size_t length = 0; length < whole.size() && !testing::Test::HasFailure();
       length += LongTests() ? 1 : 7 * kBytesStep) {
    SCOPED_TRACE(absl::StrCat(name, " of ", whole.size(), " bytes: cut to ", length));
    damaged[name] = whole.substr(0, length);
    check(damaged);
  }
}

// Right answers or clear errors, and at least one error if `must_fail`.
void ExpectRightOrError(const DamageDatabase& database, const Files& files, bool read_only,
                        bool must_fail) {
  const Opened opened = Open(files, RecoveryMode::kPointInTime, read_only);
  if (!opened.status.ok()) {
    ASSERT_TRUE(IsClearError(opened.status)) << opened.status;
    return;
  }
  size_t num_errors = 0;
  const std::string why = WhyAnswersAreWrong(*opened.db, database, database.All(), &num_errors);
  ASSERT_EQ(why, "");
  if (must_fail) {
    ASSERT_GT(num_errors, 0u) << "damage was not noticed";
  }
}

TEST(Damage, TheUndamagedDatabaseIsRight) {
  for (const DatabaseEnd end : {DatabaseEnd::kKilled, DatabaseEnd::kClosed}) {
    const DamageDatabase database = BuildDamageDatabase(end);
    EXPECT_EQ(database.NamesWith(".sst").size(), 6u);
    for (const bool read_only : {false, true}) {
      const Opened opened = Open(database.files, RecoveryMode::kStrict, read_only);
      ASSERT_TRUE(opened.status.ok()) << opened.status;
      size_t num_errors = 0;
      EXPECT_EQ(WhyAnswersAreWrong(*opened.db, database, database.All(), &num_errors), "");
      EXPECT_EQ(num_errors, 0u);
      EXPECT_EQ(opened.recovery, "");
    }
  }
}

TEST(Damage, AFlippedBitOfAnSstableIsAnErrorOrHarmless) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
  size_t flips = 0;
  for (const std::string& name : database.NamesWith(".sst")) {
    ForEachFlip(database.files, name, [&](const Files& files) {
      ExpectRightOrError(database, files, /*read_only=*/true, /*must_fail=*/false);
      flips++;
    });
  }
  std::printf("%zu flips\n", flips);
}

TEST(Damage, VerifyNamesEveryFlippedBitOfAnSstable) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
  for (const std::string& name : database.NamesWith(".sst")) {
    ForEachFlip(database.files, name, [&](const Files& files) {
      const Opened opened = Open(files, RecoveryMode::kStrict, /*read_only=*/true);
      ASSERT_TRUE(opened.status.ok()) << opened.status;
      const std::vector<std::string> problems = VerifyMessages(*opened.db);
      ASSERT_FALSE(problems.empty());
      ASSERT_TRUE(absl::StrContains(problems.front(), name)) << problems.front();
    });
  }
}

TEST(Damage, ATruncatedSstableIsAnError) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
  for (const std::string& name : database.NamesWith(".sst")) {
    ForEachTruncation(database.files, name, [&](const Files& files) {
      ExpectRightOrError(database, files, /*read_only=*/true, /*must_fail=*/true);
    });
  }
}

TEST(Damage, ADamagedManifestOrCurrentIsAnErrorOrHarmless) {
  for (const DatabaseEnd end : {DatabaseEnd::kKilled, DatabaseEnd::kClosed}) {
    const DamageDatabase database = BuildDamageDatabase(end);
    for (const std::string& name :
         {database.NamesWith("MANIFEST-").front(), std::string("CURRENT")}) {
      const auto check = [&](const Files& files) {
        ExpectRightOrError(database, files, /*read_only=*/false, /*must_fail=*/false);
      };
      ForEachFlip(database.files, name, check);
      ForEachTruncation(database.files, name, check);
    }
  }
}

// What a damaged log may leave, by recovery mode.
void CheckDamagedLog(const DamageDatabase& database, DatabaseEnd end, const Files& files,
                     RecoveryMode mode) {
  const Opened opened = Open(files, mode, /*read_only=*/false);
  if (!opened.status.ok()) {
    ASSERT_TRUE(IsClearError(opened.status)) << opened.status;
    const bool newer_version = absl::IsFailedPrecondition(opened.status);
    // Damage of a log that was closed is no trace of a crash.
    const bool may_refuse = mode == RecoveryMode::kStrict ||
                            (mode == RecoveryMode::kPointInTime && end == DatabaseEnd::kClosed);
    ASSERT_TRUE(may_refuse || newer_version) << opened.status;
    ASSERT_TRUE(newer_version || absl::StrContains(opened.status.message(), "winnow repair"))
        << opened.status;
    return;
  }
  std::string problem;
  const Contents found = ReadEverything(*opened.db, database.keys, &problem);
  ASSERT_EQ(problem, "");
  if (FirstDifference(found, database.All()).empty()) return;
  const size_t count = database.logged.size();
  // Damage at the very end of a log that was not closed cannot be told from a torn write.
  bool is_expected =
      end == DatabaseEnd::kKilled && FirstDifference(found, database.WithFirst(count - 1)).empty();
  if (!is_expected) {
    ASSERT_NE(mode, RecoveryMode::kStrict) << "opened in spite of lost writes";
    ASSERT_TRUE(absl::StrContains(opened.recovery, ".log: ")) << "lost writes are not reported";
    const std::string log = database.NamesWith(".log").back();
    const std::string kept = mode == RecoveryMode::kSalvage
                                 ? absl::StrCat(kDirectory, "/lost/", log)
                                 : absl::StrCat(kDirectory, "/", log, ".damaged");
    ASSERT_TRUE(absl::StrContains(opened.recovery, kept)) << opened.recovery;
    ASSERT_EQ(*ReadFile(*opened.disk, kept, 1 << 20), files.at(log));
  }
  for (size_t i = 0; i < count && !is_expected; i++) {
    const Contents expected =
        mode == RecoveryMode::kSalvage ? database.Without(i) : database.WithFirst(i);
    is_expected = FirstDifference(found, expected).empty();
  }
  ASSERT_TRUE(is_expected) << FirstDifference(found, database.All());
}

TEST(Damage, AFlippedBitOfALogLosesWhatItsRecoveryModeSays) {
  for (const DatabaseEnd end : {DatabaseEnd::kKilled, DatabaseEnd::kClosed}) {
    const DamageDatabase database = BuildDamageDatabase(end);
    for (const RecoveryMode mode : kRecoveryModes) {
      size_t flips = 0;
      ForEachFlip(database.files, database.NamesWith(".log").back(), [&](const Files& files) {
        const bool is_thorough = LongTests() || mode == RecoveryMode::kPointInTime;
        if (is_thorough || flips++ % 3 == 0) CheckDamagedLog(database, end, files, mode);
      });
    }
  }
}

// Each time the default mode drops something, Verify says so until it has been dealt with: after an
// opening for reading of what it left out, after one for writing of the copy that it made.
TEST(Damage, VerifyNamesWhatAnOpeningDidNotReplay) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kKilled);
  const std::string log = database.NamesWith(".log").back();
  Files files = database.files;
  files[log][300] ^= 1;
  for (const bool read_only : {true, false}) {
    const Opened opened = Open(files, RecoveryMode::kPointInTime, read_only);
    ASSERT_TRUE(opened.status.ok()) << opened.status;
    const std::vector<std::string> problems = VerifyMessages(*opened.db);
    ASSERT_EQ(problems.size(), 1u);
    const std::string named = read_only ? log + ": at offset" : log + ".damaged: ";
    EXPECT_TRUE(absl::StrContains(problems[0], named)) << problems[0];
    EXPECT_EQ(absl::StrContains(problems[0], "winnow replay"), !read_only) << problems[0];
  }
}

TEST(Damage, VerifyNamesOrphans) {
  DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
  const std::string table = database.NamesWith(".sst").front();
  Files files = database.files;
  files["000777.sst.orphan"] = files.at(table);
  files["000778.log.unread"] = "";
  files["notes.orphan"] = "";
  const Opened opened = Open(files, RecoveryMode::kPointInTime, /*read_only=*/true);
  ASSERT_TRUE(opened.status.ok()) << opened.status;
  const std::vector<std::string> problems = VerifyMessages(*opened.db);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_TRUE(absl::StrContains(problems[0], "/db/000777.sst.orphan: ")) << problems[0];
  EXPECT_TRUE(absl::StrContains(problems[1], "winnow replay /db/000778.log.unread")) << problems[1];
}

// A log that was not closed may have ended anywhere; one that was closed may not.
TEST(Damage, ATruncatedLogOfAClosedDatabaseIsNoticed) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
  const std::string log = database.NamesWith(".log").back();
  for (const RecoveryMode mode : kRecoveryModes) {
    ForEachTruncation(database.files, log, [&](const Files& files) {
      const Opened opened = Open(files, mode, /*read_only=*/false);
      ASSERT_EQ(opened.status.ok(), mode == RecoveryMode::kSalvage) << opened.status;
      if (!opened.status.ok()) {
        ASSERT_TRUE(IsClearError(opened.status)) << opened.status;
        return;
      }
      ASSERT_TRUE(absl::StrContains(opened.recovery, ".log: ")) << opened.recovery;
      std::string problem;
      const Contents found = ReadEverything(*opened.db, database.keys, &problem);
      size_t prefix = 0;
      while (prefix < database.logged.size() &&
             !FirstDifference(found, database.WithFirst(prefix)).empty()) {
        prefix++;
      }
      ASSERT_EQ(FirstDifference(found, database.WithFirst(prefix)), "");
    });
  }
}

TEST(Damage, ATruncatedLogOfAKilledProcessLosesASuffix) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kKilled);
  const std::string log = database.NamesWith(".log").back();
  size_t least = database.logged.size();
  ForEachTruncation(database.files, log, [&](const Files& files) {
    const Opened opened = Open(files, RecoveryMode::kStrict, /*read_only=*/false);
    ASSERT_TRUE(opened.status.ok()) << opened.status;
    std::string problem;
    const Contents found = ReadEverything(*opened.db, database.keys, &problem);
    size_t prefix = 0;
    while (prefix < database.logged.size() &&
           !FirstDifference(found, database.WithFirst(prefix)).empty()) {
      prefix++;
    }
    ASSERT_EQ(FirstDifference(found, database.WithFirst(prefix)), "");
    least = std::min(least, prefix);
  });
  EXPECT_EQ(least, 0u);
}

TEST(Damage, SwappedSstablesAreNoticed) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
  const std::vector<std::string> names = database.NamesWith(".sst");
  for (size_t i = 0; i < names.size(); i++) {
    for (size_t j = 0; j < names.size(); j++) {
      if (i == j) continue;
      SCOPED_TRACE(names[j] + " is a copy of " + names[i]);
      Files files = database.files;
      files[names[j]] = files[names[i]];
      ExpectRightOrError(database, files, /*read_only=*/false, /*must_fail=*/true);
      files[names[i]] = database.files.at(names[j]);
      ExpectRightOrError(database, files, /*read_only=*/false, /*must_fail=*/true);
    }
  }
}

// Opens and gives the error; fails if there is none.
std::string ErrorOf(const Files& files, RecoveryMode mode = RecoveryMode::kPointInTime) {
  const Opened opened = Open(files, mode, /*read_only=*/false);
  EXPECT_FALSE(opened.status.ok());
  EXPECT_TRUE(IsClearError(opened.status)) << opened.status;
  return std::string(opened.status.message());
}

TEST(Damage, AMissingFileIsNamed) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
  for (const auto& [name, bytes] : database.files) {
    if (name == "LOCK" || name == "STATISTICS") continue;  // hold no data
    SCOPED_TRACE(name);
    Files files = database.files;
    files.erase(name);
    EXPECT_TRUE(absl::StrContains(ErrorOf(files), name));
  }
}

TEST(Damage, WithoutAnyOtherFileALogIsNotBuiltOver) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kKilled);
  const std::string log = database.NamesWith(".log").back();
  EXPECT_TRUE(absl::StrContains(ErrorOf({{log, database.files.at(log)}}), log));
}

TEST(Damage, SalvageOpensWithoutALogAndSaysSo) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
  Files files = database.files;
  const std::string log = database.NamesWith(".log").back();
  files.erase(log);
  const Opened opened = Open(files, RecoveryMode::kSalvage, /*read_only=*/false);
  ASSERT_TRUE(opened.status.ok()) << opened.status;
  EXPECT_TRUE(absl::StrContains(opened.recovery, log)) << opened.recovery;
  size_t num_errors = 0;
  EXPECT_EQ(WhyAnswersAreWrong(*opened.db, database, database.flushed, &num_errors), "");
}

// The log holds writes to a column family that is younger than what is left of the manifest.
TEST(Damage, SalvageNamesWritesToAColumnFamilyThatTheManifestHasLost) {
  const auto disk = std::make_unique<RecordingFileSystem>();
  const auto db = OpenOrFail(DamageOptions(disk.get()), kDirectory);
  ASSERT_TRUE(db->Put(WriteOptions(), "before", "1").ok());
  const Files before = FilesOn(*disk);
  const auto family = db->CreateColumnFamily(DamageOptions(disk.get()), "lost");
  ASSERT_TRUE(family.ok()) << family.status();
  ASSERT_TRUE(db->Put(WriteOptions(), *family, "key", "2").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), *family, "another", "3").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "after", "4").ok());
  Files files = FilesOn(*disk);
  std::string log;
  for (auto& [name, bytes] : files) {
    if (name.starts_with("MANIFEST-")) {
      ASSERT_GT(bytes.size(), before.at(name).size());
      bytes = before.at(name);
    }
    if (name.ends_with(".log")) log = name;
  }
  for (const RecoveryMode mode : {RecoveryMode::kStrict, RecoveryMode::kPointInTime}) {
    const Opened refused = Open(files, mode, /*read_only=*/false);
    EXPECT_TRUE(absl::IsDataLoss(refused.status)) << refused.status;
    EXPECT_TRUE(absl::StrContains(refused.status.message(), log)) << refused.status;
    EXPECT_TRUE(absl::StrContains(refused.status.message(), "column family 1")) << refused.status;
  }
  const Opened salvaged = Open(files, RecoveryMode::kSalvage, /*read_only=*/false);
  ASSERT_TRUE(salvaged.status.ok()) << salvaged.status;
  EXPECT_TRUE(absl::StrContains(
      salvaged.recovery, absl::StrCat(log, ": writes to column family 1, which the manifest")))
      << salvaged.recovery;
  std::string value;
  for (const char* key : {"before", "after"}) {
    EXPECT_TRUE(salvaged.db->Get(ReadOptions(), key, &value).ok()) << key;
  }
  EXPECT_EQ(*ReadFile(*salvaged.disk, absl::StrCat(kDirectory, "/lost/", log), 1 << 20),
            files.at(log))
      << "the writes that found no column family are not thrown away";
}

TEST(Damage, FilesOfAnotherDatabaseAreNoticed) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
  const DamageDatabase other = BuildDamageDatabase(DatabaseEnd::kClosed);
  ASSERT_EQ(database.NamesWith(".sst"), other.NamesWith(".sst"));
  for (const std::string& name : database.NamesWith(".sst")) {
    Files files = database.files;
    files[name] = other.files.at(name);
    ExpectRightOrError(database, files, /*read_only=*/true, /*must_fail=*/true);
  }
  const std::string manifest = database.NamesWith("MANIFEST-").front();
  Files files = database.files;
  files["MANIFEST-000099"] = files[manifest];
  const std::string name = "MANIFEST-000099";
  char text[64];
  std::snprintf(text, sizeof(text), "%s %016llx\n", name.c_str(),
                static_cast<unsigned long long>(Checksum(name, 0)));
  files["CURRENT"] = text;
  EXPECT_TRUE(absl::StrContains(ErrorOf(files), name));
}

// The version stands at byte 8 of logs and manifests, under a checksum; 16 bytes before the end of
// SSTables.
TEST(Damage, NewerFormatVersionsAreRefusedByName) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
  for (const std::string& name :
       {database.NamesWith(".log").back(), database.NamesWith("MANIFEST-").front()}) {
    Files files = database.files;
    std::string& bytes = files[name];
    bytes[8] = 2;
    const uint64_t number = DecodeFixed64(bytes.data() + 16);
    constexpr size_t kChecksumAt = 32;
    EncodeFixed64(
        bytes.data() + kChecksumAt,
        Checksum(std::string_view(bytes).substr(0, kChecksumAt), ChecksumSeed(number, 0)));
    for (const RecoveryMode mode : kRecoveryModes) {
      const Opened opened = Open(files, mode, /*read_only=*/false);
      EXPECT_TRUE(absl::IsFailedPrecondition(opened.status)) << opened.status;
      EXPECT_TRUE(absl::StrContains(opened.status.message(), name)) << opened.status;
    }
  }
  const std::string table = database.NamesWith(".sst").front();
  Files files = database.files;
  files[table][files[table].size() - 16] = 2;
  ExpectRightOrError(database, files, /*read_only=*/true, /*must_fail=*/true);
}

}  // namespace
}  // namespace winnow
