// When the next table may be refiltered, and what is said of the last one.
#include "engine/filter_memory/refilter_planner.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace winnow {
namespace {

PlannedRefilter Planned() {
  PlannedRefilter planned;
  planned.family = "default";
  planned.file_number = 123;
  planned.level = 3;
  planned.spec = *filter::ParseFilterSpec("ribbon");
  planned.bits_in_memory = 10.003;
  planned.bits_per_key = 14;
  planned.reads_saved = 320.4;
  planned.seconds_to_repay = 4.001;
  return planned;
}

TEST(RefilterPlanner, SaysWhatWasDoneAndWhy) {
  RefilterPlanner planner;
  EXPECT_EQ(planner.last(), "");
  PlannedRefilter planned = Planned();
  planner.Note(planned, absl::OkStatus(), /*is_done=*/true);
  EXPECT_EQ(planner.last(),
            "refiltered 000123.sst of family 'default', level 3, from 10 to 14 bits a key: 320 "
            "needless reads a second less, repaid in 4 s");
  planned.other_kind = "bloom";
  planned.reads_saved = 3204;
  planned.bits_in_memory = 3070;
  planner.Note(planned, absl::OkStatus(), /*is_done=*/true);
  EXPECT_EQ(
      planner.last(),
      "refiltered 000123.sst of family 'default', level 3, from bloom of 3070 to ribbon of 14 "
      "bits a key: 3204 needless reads a second less, repaid in 4 s");
  planner.Note(planned, absl::ResourceExhaustedError("no space"), /*is_done=*/false);
  EXPECT_EQ(planner.last(),
            "could not refilter 000123.sst of family 'default', level 3: RESOURCE_EXHAUSTED: no "
            "space; nothing is tried again for 1 s");
  planner.Note(planned, absl::DataLossError("block 3"), /*is_done=*/false);
  EXPECT_EQ(planner.last(),
            "could not refilter 000123.sst of family 'default', level 3, which is damaged: "
            "DATA_LOSS: block 3");
  const std::string before = planner.last();
  planner.Note(planned, absl::CancelledError("other work"), /*is_done=*/false);
  EXPECT_EQ(planner.last(), before) << "giving way is no news";
}

TEST(RefilterPlanner, PausesAfterAFailureAndLongerAfterEachFurtherOne) {
  RefilterPlanner planner;
  EXPECT_TRUE(planner.IsTime(1, 0.01));
  double expected = 1;
  for (int i = 0; i < 15; i++) {
    planner.Note(Planned(), absl::UnavailableError("an I/O error"), /*is_done=*/false);
    EXPECT_FALSE(planner.IsTime(1, expected * 0.5));
    EXPECT_FALSE(planner.IsTime(1, expected * 0.49));
    EXPECT_TRUE(planner.IsTime(1, expected * 0.02));
    expected = std::min(2 * expected, 600.0);
  }
  planner.Note(Planned(), absl::OkStatus(), /*is_done=*/true);
  EXPECT_TRUE(planner.IsTime(1, 0.01));
  planner.Note(Planned(), absl::OkStatus(), /*is_done=*/false);  // gone meanwhile
  EXPECT_FALSE(planner.IsTime(1, 0.9));
  EXPECT_TRUE(planner.IsTime(1, 0.2));
}

TEST(RefilterPlanner, IsAskedSeldomWhereThereAreManyFilters) {
  RefilterPlanner planner;
  int asked = 0;
  for (int second = 0; second < 1000; second++) asked += planner.IsTime(20'000, 1) ? 1 : 0;
  EXPECT_EQ(asked, 25);
  asked = 0;
  for (int second = 0; second < 1000; second++) asked += planner.IsTime(100, 1) ? 1 : 0;
  EXPECT_EQ(asked, 1000);
}

}  // namespace
}  // namespace winnow
