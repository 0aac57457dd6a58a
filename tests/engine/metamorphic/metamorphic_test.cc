// Random logs of operations, each replayed under several option sets, which must answer alike.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/metamorphic/replay.h"
#include "tests/engine/metamorphic/short_histories.h"
#include "tests/engine/metamorphic/shrink.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"

namespace winnow::metamorphic {
namespace {

class Metamorphic : public testing::Test {
 protected:
  std::string Directory() const { return scratch_.path(); }

 private:
  const ScratchDirectory scratch_{"metamorphic"};
};

std::vector<std::string> Texts(const std::vector<Operation>& log) {
  std::vector<std::string> texts;
  for (const Operation& operation : log) texts.push_back(operation.ToString());
  return texts;
}

TEST_F(Metamorphic, OptionSetsDoNotChangeAnswers) {
  for (const uint64_t seed : Seeds(12)) {
    const std::vector<Operation> log = GenerateLog(seed, 800);
    const std::vector<OptionSet> option_sets = {OptionSet(seed * 10), OptionSet(seed * 10 + 1),
                                                OptionSet(seed * 10 + 2)};
    const auto difference = FindDifference(log, option_sets, Directory());
    ASSERT_FALSE(difference.has_value())
        << "WINNOW_SEED=" << seed << "\n"
        << log[difference->index].ToString() << "\n"
        << option_sets[difference->option_sets[0]].ToString() << ": " << difference->answers[0]
        << "\n"
        << option_sets[difference->option_sets[1]].ToString() << ": " << difference->answers[1];
  }
}

TEST_F(Metamorphic, ALogHoldsEveryKindAndItsReplayFindsData) {
  const std::vector<Operation> log = GenerateLog(1, 3000);
  std::set<Operation::Kind> kinds;
  for (const Operation& operation : log) kinds.insert(operation.kind);
  EXPECT_EQ(kinds.size(), static_cast<size_t>(Operation::Kind::kCount));

  const std::vector<std::string> lines = Replay(log, OptionSet(2), Directory() + "/db");
  size_t found = 0;
  size_t absent = 0;
  size_t snapshots_read = 0;
  for (size_t i = 0; i < log.size(); i++) {
    if (log[i].kind != Operation::Kind::kGet) continue;
    found += lines[i].find(" bytes ") != std::string::npos ? 1 : 0;
    absent += lines[i] == "absent" ? 1 : 0;
    snapshots_read += log[i].snapshot != kNoSlot ? 1 : 0;
  }
  EXPECT_GT(found, 50u);
  EXPECT_GT(absent, 50u);
  EXPECT_GT(snapshots_read, 50u);
}

TEST_F(Metamorphic, TheSameSeedMakesTheSameLogAndTheSameAnswers) {
  EXPECT_EQ(Texts(GenerateLog(7, 300)), Texts(GenerateLog(7, 300)));
  EXPECT_NE(Texts(GenerateLog(7, 300)), Texts(GenerateLog(8, 300)));
  const std::vector<Operation> log = GenerateLog(7, 300);
  EXPECT_EQ(Replay(log, OptionSet(3), Directory() + "/first"),
            Replay(log, OptionSet(3), Directory() + "/second"));
}

TEST_F(Metamorphic, AWrongReplayIsFoundAndShrunkToWhatMatters) {
  const std::vector<Operation> log = GenerateLog(3, 1500);
  const std::vector<OptionSet> option_sets = {OptionSet(4), OptionSet(5)};
  const auto fails_at = [&](const std::vector<Operation>& candidate) -> std::optional<size_t> {
    const auto difference =
        FindDifference(candidate, option_sets, Directory(), PlantedMistake::kLosesSomeDeletes);
    return difference.has_value() ? std::optional(difference->index) : std::nullopt;
  };
  ASSERT_TRUE(fails_at(log).has_value());
  const std::vector<Operation> shrunk = Shrink(log, fails_at, 600);
  ASSERT_TRUE(fails_at(shrunk).has_value());
  // The write, its deletion, a read; and the creation of their column family.
  EXPECT_LE(shrunk.size(), 4u) << testing::PrintToString(Texts(shrunk));
  EXPECT_GE(shrunk.size(), 3u) << testing::PrintToString(Texts(shrunk));
}

Options Quiet() {
  Options options;
  options.disable_auto_compactions = true;
  options.background_threads = 1;
  options.write_buffer_bytes = 64 << 10;
  return options;
}

TEST(ShortHistories, AllOfUpToFiveOperationsOnOneKeyAgreeWithTheModel) {
  for (const bool releases_newest : {false, true}) {
    ShortHistoriesChoice choice;
    choice.length = kFewerBy > 1 ? 3 : 5;
    choice.releases_newest = releases_newest;
    const ShortHistoriesReport report = RunShortHistories(Quiet(), choice);
    EXPECT_EQ(report.problems, std::vector<std::string>());
    EXPECT_EQ(report.histories, kFewerBy > 1 ? 512u : 32768u);
    EXPECT_GT(report.reads, report.histories);
  }
}

TEST(ShortHistories, AllOfUpToFourOperationsWithMergesAgreeWithTheModel) {
  ShortHistoriesChoice choice;
  choice.length = kFewerBy > 1 ? 3 : 4;
  choice.merges = true;
  const ShortHistoriesReport report = RunShortHistories(Quiet(), choice);
  EXPECT_EQ(report.problems, std::vector<std::string>());
  EXPECT_EQ(report.histories, kFewerBy > 1 ? 729u : 6561u);
}

TEST(ShortHistories, AllOfUpToThreeOperationsOnTwoKeysAgreeWithTheModel) {
  ShortHistoriesChoice choice;
  choice.length = 3;
  choice.num_keys = 2;
  const ShortHistoriesReport report = RunShortHistories(Quiet(), choice);
  EXPECT_EQ(report.problems, std::vector<std::string>());
  EXPECT_EQ(report.histories, 1331u);
}

TEST(ShortHistories, AWrongModelIsNoticed) {
  ShortHistoriesChoice choice;
  choice.length = 3;
  choice.wrong_model = true;
  const ShortHistoriesReport report = RunShortHistories(Quiet(), choice);
  ASSERT_FALSE(report.problems.empty());
  EXPECT_NE(report.problems[0].find("flush, "), std::string::npos) << report.problems[0];
  EXPECT_NE(report.problems[0].find("delete: "), std::string::npos) << report.problems[0];
}

}  // namespace
}  // namespace winnow::metamorphic
