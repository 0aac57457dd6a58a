// The file STATISTICS: what is kept across openings, and what is lost without harm.
#include "engine/statistics/saved_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "absl/status/status.h"
#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/version/file_names.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/scratch_directory.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

CountedStatistics Counted(uint64_t gets, uint64_t rejected, std::string family = "default") {
  CountedStatistics counted;
  counted.tickers[static_cast<size_t>(Ticker::kGets)] = gets;
  FilterStatistics& row = counted.filters.emplace_back();
  row.column_family = std::move(family);
  row.level = 6;
  row.kind = "ribbon";
  row.call = FilterCall::kMultiGet;
  row.rejected = rejected;
  row.true_positive = 2;
  row.false_positive = 1;
  row.checked = rejected + 3;
  row.eligible = row.checked + 4;
  row.promised_fpr = 0.01;
  return counted;
}

SavedStatistics Saved() {
  SavedStatistics saved;
  saved.saved_unix_seconds = 1767225700;
  saved.opened_unix_seconds = 1767225600;
  saved.is_closed = true;
  saved.since_opening = Counted(5, 100);
  static_cast<CountedStatistics&>(saved.in_all) = Counted(12, 300);
  saved.in_all.openings = 3;
  saved.in_all.since_unix_seconds = 1700000000;
  saved.filter_budget_json = R"({"budget_bytes":65536})";
  saved.families_for_hits = {"default", "users"};
  return saved;
}

TEST(SavedStatistics, ComeBackAsTheyWere) {
  const absl::StatusOr<SavedStatistics> read = DecodeStatistics(EncodeStatistics(Saved()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->saved_unix_seconds, 1767225700u);
  EXPECT_EQ(read->opened_unix_seconds, 1767225600u);
  EXPECT_TRUE(read->is_closed);
  EXPECT_EQ(read->in_all.openings, 3u);
  EXPECT_EQ(read->in_all.since_unix_seconds, 1700000000u);
  EXPECT_EQ(read->since_opening.tickers, Saved().since_opening.tickers);
  EXPECT_EQ(read->in_all.Get(Ticker::kGets), 12u);
  ASSERT_EQ(read->in_all.filters.size(), 1u);
  const FilterStatistics& row = read->in_all.filters[0];
  EXPECT_EQ(row.column_family, "default");
  EXPECT_EQ(row.level, 6);
  EXPECT_EQ(row.kind, "ribbon");
  EXPECT_EQ(row.call, FilterCall::kMultiGet);
  EXPECT_EQ(row.rejected, 300u);
  EXPECT_EQ(row.checked, 303u);
  EXPECT_EQ(row.eligible, 307u);
  EXPECT_EQ(row.promised_fpr, 0.01);
  EXPECT_EQ(read->filter_budget_json, R"({"budget_bytes":65536})");
  EXPECT_EQ(read->families_for_hits, (std::vector<std::string>{"default", "users"}));
}

TEST(SavedStatistics, AnyByteThatIsChangedOrMissingIsDataLoss) {
  const std::string whole = EncodeStatistics(Saved());
  for (size_t i = 0; i < whole.size(); i++) {
    EXPECT_TRUE(absl::IsDataLoss(DecodeStatistics(whole.substr(0, i)).status())) << i;
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(DecodeStatistics(changed).status())) << i;
  }
  EXPECT_TRUE(absl::IsDataLoss(DecodeStatistics(whole + "x").status()));
}

TEST(SavedStatistics, ThoseOfAnotherFormatVersionAreRefused) {
  std::string bytes = EncodeStatistics(Saved());
  bytes[8]++;
  EncodeFixed64(bytes.data() + 12, Checksum(bytes.substr(20), static_cast<uint64_t>(bytes[8])));
  const absl::Status status = DecodeStatistics(bytes).status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_NE(status.message().find("format version 5, not 4"), absl::string_view::npos) << status;
}

TEST(SavedStatistics, SumsKeepRowsOfDifferentFamiliesApart) {
  CountedStatistics sum = Counted(5, 100);
  AddStatistics(Counted(7, 20), &sum);
  AddStatistics(Counted(1, 9, "other"), &sum);
  EXPECT_EQ(sum.Get(Ticker::kGets), 13u);
  ASSERT_EQ(sum.filters.size(), 2u);
  EXPECT_EQ(sum.filters[0].rejected, 120u);
  EXPECT_EQ(sum.filters[0].eligible, 134u);
  EXPECT_EQ(sum.filters[1].column_family, "other");
  EXPECT_EQ(sum.filters[1].rejected, 9u);
}

// As many Gets in the family "default", and in another.
CountedStatistics CountedInTwo(uint64_t gets, const std::string& other) {
  CountedStatistics counted = Counted(gets, gets);
  AddStatistics(Counted(gets, gets, other), &counted);
  return counted;
}

class StatisticsSaverTest : public testing::Test {
 protected:
  StatisticsSaverTest() : files_(NewMemoryFileSystem()) {
    EXPECT_TRUE(files_->CreateDirectories("/db").ok());
  }

  // An opening that counts as many Gets.
  absl::Status OpenAndCount(uint64_t gets) {
    StatisticsSaver saver;
    const absl::Status opened = saver.Open(files_.get(), "/db", /*read_only=*/false);
    const CountedStatistics counted = Counted(gets, gets);
    EXPECT_TRUE(saver.Save(counted, saver.InAll(counted), {}, true, SteadyNow()).ok());
    return opened;
  }

  void Overwrite(const std::string& path, std::string_view bytes) {
    auto file = files_->Create(path, WritableFileOptions());
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Append(bytes).ok());
    ASSERT_TRUE((*file)->Close().ok());
  }

  const std::unique_ptr<FileSystem> files_;
};

TEST_F(StatisticsSaverTest, EachOpeningAddsToTheOnesBefore) {
  EXPECT_TRUE(absl::IsNotFound(ReadSavedStatistics(*files_, "/db").status()));
  for (const uint64_t gets : {3, 4, 5}) ASSERT_TRUE(OpenAndCount(gets).ok());
  const auto saved = ReadSavedStatistics(*files_, "/db");
  ASSERT_TRUE(saved.ok());
  EXPECT_EQ(saved->since_opening.Get(Ticker::kGets), 5u);
  EXPECT_EQ(saved->in_all.Get(Ticker::kGets), 12u);
  EXPECT_EQ(saved->in_all.filters.at(0).rejected, 12u);
  EXPECT_EQ(saved->in_all.openings, 3u);
}

TEST_F(StatisticsSaverTest, TheFileBeforeStandsInForADamagedOne) {
  ASSERT_TRUE(OpenAndCount(3).ok());
  ASSERT_TRUE(OpenAndCount(4).ok());
  Overwrite(StatisticsFileName("/db"), "");
  EXPECT_EQ(ReadSavedStatistics(*files_, "/db")->in_all.Get(Ticker::kGets), 3u);
  Overwrite(OldStatisticsFileName("/db"), "no statistics");
  EXPECT_TRUE(absl::IsDataLoss(ReadSavedStatistics(*files_, "/db").status()));
  EXPECT_TRUE(absl::IsDataLoss(OpenAndCount(10))) << "said, and counted anew";
  EXPECT_EQ(ReadSavedStatistics(*files_, "/db")->in_all.Get(Ticker::kGets), 10u);
  EXPECT_EQ(ReadSavedStatistics(*files_, "/db")->in_all.openings, 1u);
}

TEST_F(StatisticsSaverTest, IsDueEveryMinuteAndWritesNothingWhereNothingMoreWasCounted) {
  StatisticsSaver saver;
  ASSERT_TRUE(saver.Open(files_.get(), "/db", false).ok());
  const SteadyTime start = SteadyNow();
  EXPECT_FALSE(saver.IsDue(start));
  const SteadyTime later = start + StatisticsSaver::kInterval;
  EXPECT_TRUE(saver.IsDue(later));
  const CountedStatistics some = Counted(1, 1);
  ASSERT_TRUE(saver.Save(some, saver.InAll(some), {"{}", {}}, false, later).ok());
  EXPECT_FALSE(saver.IsDue(later));
  EXPECT_FALSE(ReadSavedStatistics(*files_, "/db")->is_closed);
  EXPECT_EQ(ReadSavedStatistics(*files_, "/db")->filter_budget_json, "{}");
  ASSERT_TRUE(files_->Remove(StatisticsFileName("/db")).ok());
  ASSERT_TRUE(saver.Save(some, saver.InAll(some), {"{}", {}}, false, later).ok());
  EXPECT_TRUE(absl::IsNotFound(ReadSavedStatistics(*files_, "/db").status()));
  const CountedStatistics more = Counted(2, 2);
  ASSERT_TRUE(saver.Save(more, saver.InAll(more), {"{}", {}}, false, later).ok());
  EXPECT_EQ(ReadSavedStatistics(*files_, "/db")->in_all.Get(Ticker::kGets), 2u);
}

// The file once went on saying that the database was closed while it was open and idle.
TEST_F(StatisticsSaverTest, TheFirstSaveOfAnOpeningIsMadeThoughNothingWasCounted) {
  ASSERT_TRUE(OpenAndCount(3).ok());
  EXPECT_TRUE(ReadSavedStatistics(*files_, "/db")->is_closed);
  StatisticsSaver saver;
  ASSERT_TRUE(saver.Open(files_.get(), "/db", false).ok());
  const CountedStatistics nothing;
  ASSERT_TRUE(saver.Save(nothing, saver.InAll(nothing), {}, false, SteadyNow()).ok());
  const absl::StatusOr<SavedStatistics> saved = ReadSavedStatistics(*files_, "/db");
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_FALSE(saved->is_closed);
  EXPECT_EQ(saved->since_opening.Get(Ticker::kGets), 0u);
  EXPECT_EQ(saved->in_all.Get(Ticker::kGets), 3u);
  EXPECT_EQ(saved->in_all.openings, 2u);
}

TEST_F(StatisticsSaverTest, ADroppedFamilyIsForgottenThoughNothingIsCounted) {
  {
    StatisticsSaver saver;
    ASSERT_TRUE(saver.Open(files_.get(), "/db", false).ok());
    const CountedStatistics counted = CountedInTwo(5, "users");
    ASSERT_TRUE(saver.Save(counted, saver.InAll(counted), {}, true, SteadyNow()).ok());
  }
  StatisticsSaver saver;
  ASSERT_TRUE(saver.Open(files_.get(), "/db", false).ok());
  const CountedStatistics nothing;
  const LifetimeStatistics before = saver.InAll(nothing);
  EXPECT_EQ(before.filters.size(), 2u);
  saver.ForgetFamily("users");
  EXPECT_EQ(saver.InAll(nothing).filters.size(), 1u);
  EXPECT_EQ(saver.InAll(nothing).Get(Ticker::kGets), 10u);
  // The drop comes while statistics are being saved: they are saved once more.
  ASSERT_TRUE(saver.Save(nothing, before, {}, false, SteadyNow()).ok());
  EXPECT_EQ(ReadSavedStatistics(*files_, "/db")->in_all.filters.size(), 2u);
  ASSERT_TRUE(saver.Save(nothing, saver.InAll(nothing), {}, false, SteadyNow()).ok());
  EXPECT_EQ(ReadSavedStatistics(*files_, "/db")->in_all.filters.size(), 1u);
}

// What could not be read for a moment was once replaced, as if it were damaged.
TEST_F(StatisticsSaverTest, WhatCannotBeReadNowIsNotReplaced) {
  for (const absl::Status& error : {InjectedDescriptorLimit(), InjectedIoError()}) {
    const CountedStatistics before = CountedInTwo(5, "users");
    {
      StatisticsSaver saver;
      ASSERT_TRUE(saver.Open(files_.get(), "/db", false).ok());
      ASSERT_TRUE(saver.Save(before, saver.InAll(before), {}, true, SteadyNow()).ok());
    }
    const LifetimeStatistics left = ReadSavedStatistics(*files_, "/db")->in_all;
    FaultFileSystem faults(files_.get(), /*seed=*/1);
    faults.Add(FaultRule::Error(error).On({FileOperation::Kind::kOpenForReading}, "*STATISTICS*"));
    StatisticsSaver saver;
    EXPECT_EQ(saver.Open(&faults, "/db", false).code(), error.code());
    const CountedStatistics counted = Counted(2, 2);
    EXPECT_EQ(saver.InAll(counted).Get(Ticker::kGets), 2u);
    saver.ForgetFamily("users");
    for (const bool is_closed : {false, true}) {
      saver.ReadAgain();
      const absl::Status saved =
          saver.Save(counted, saver.InAll(counted), {}, is_closed, SteadyNow());
      EXPECT_EQ(saved.code(), error.code()) << saved;
      EXPECT_EQ(ReadSavedStatistics(*files_, "/db")->in_all.tickers, left.tickers);
    }
    faults.Clear();
    saver.ReadAgain();
    const LifetimeStatistics in_all = saver.InAll(counted);
    EXPECT_EQ(in_all.Get(Ticker::kGets), left.Get(Ticker::kGets) + 2);
    EXPECT_EQ(in_all.openings, left.openings + 1);
    EXPECT_EQ(in_all.since_unix_seconds, left.since_unix_seconds);
    ASSERT_EQ(in_all.filters.size(), 1u) << "what was dropped meanwhile is not counted";
    EXPECT_EQ(in_all.filters[0].column_family, "default");
    ASSERT_TRUE(saver.Save(counted, in_all, {}, true, SteadyNow()).ok());
    EXPECT_EQ(ReadSavedStatistics(*files_, "/db")->in_all.tickers, in_all.tickers);
    saver.ReadAgain();
    EXPECT_EQ(saver.InAll(counted).tickers, in_all.tickers) << "once is enough";
  }
}

// Which of the two files it is: neither may be counted as damaged while one may be sound.
TEST_F(StatisticsSaverTest, AFileThatMayBeSoundIsToldBeforeADamagedOne) {
  ASSERT_TRUE(OpenAndCount(3).ok());
  ASSERT_TRUE(OpenAndCount(4).ok());
  for (const bool newest_is_damaged : {false, true}) {
    const std::string damaged =
        newest_is_damaged ? StatisticsFileName("/db") : OldStatisticsFileName("/db");
    const std::string unreadable =
        newest_is_damaged ? OldStatisticsFileName("/db") : StatisticsFileName("/db");
    Overwrite(StatisticsFileName("/db"), EncodeStatistics(Saved()));
    Overwrite(OldStatisticsFileName("/db"), EncodeStatistics(Saved()));
    Overwrite(damaged, "no statistics");
    FaultFileSystem faults(files_.get(), /*seed=*/1);
    faults.Add(FaultRule::Error(InjectedIoError()).On({FileOperation::Kind::kRead}, unreadable));
    EXPECT_TRUE(absl::IsUnavailable(ReadSavedStatistics(faults, "/db").status()));
    EXPECT_TRUE(ReadSavedStatistics(*files_, "/db").ok());
  }
}

TEST(SavedStatistics, AFileThatIsFarTooLargeIsDamaged) {
  const ScratchDirectory directory("statistics");
  const std::string path = StatisticsFileName(directory.path());
  ASSERT_TRUE(std::ofstream(path).good());
  std::filesystem::resize_file(path, (uint64_t{256} << 20) + 1);
  EXPECT_TRUE(absl::IsDataLoss(ReadSavedStatistics(*PosixFileSystem(), directory.path()).status()));
}

}  // namespace
}  // namespace winnow
