// Tables whose filter knows several parts of each key: what is in it, and what is found out when it
// lacks something.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/sstable/sstable_model.h"
#include "tests/support/claimed_filter_key.h"

namespace winnow {
namespace {

SstableModel ModelOf(const std::vector<std::string>& keys) {
  SstableModel model;
  for (const std::string& key : keys) {
    for (const SequenceNumber sequence : {20, 10}) {
      model[MakeInternalKey(key, sequence, EntryType::kPut)] = "v";
    }
  }
  return model;
}

SstableBuilderOptions With(std::string_view spec, std::string_view filter_key) {
  SstableBuilderOptions options;
  options.filter_spec = Spec(spec);
  options.filter_key = Extractor(filter_key);
  options.hash_seed = 7;
  return options;
}

TEST(SstableFilterKey, EveryPartIsCountedOnceForEachOfItsBytes) {
  const SstableModel model =
      ModelOf({"", "a", "ab", "abc1", "abc2", "abd1", "b/1", "b/2", "c/1/x"});
  const auto num_keys = [&](std::string_view filter_key) {
    return BuildTable(model, With("bloom:10", filter_key)).summary.properties.num_filter_keys;
  };
  EXPECT_EQ(num_keys("whole"), 9u);
  EXPECT_EQ(num_keys("prefix:3"), 8u);
  // abc, abd, b/1, b/2 and c/1 as prefixes; b/ and c/; c/1/.
  EXPECT_EQ(num_keys("whole+prefix:3"), 9u + 5u);
  EXPECT_EQ(num_keys("whole+prefix:3+delimiter:/"), 9u + 5u + 2u);
  EXPECT_EQ(num_keys("whole+prefix:3+delimiter:/+delimiter:/:2"), 9u + 5u + 2u + 1u);
  EXPECT_EQ(num_keys("prefix:3+delimiter:/"), 8u + 2u);
}

TEST(SstableFilterKey, TheFilterIsSizedForItsEntriesAndSoIsTheBuilder) {
  std::vector<std::string> keys;
  for (int i = 0; i < 20000; i++) keys.push_back(absl::StrCat("user", 10000 + i, "/row"));
  const SstableModel model = ModelOf(keys);
  const auto filter_bytes = [&](std::string_view filter_key) {
    return BuildTable(model, With("blocked_bloom:10", filter_key)).summary.properties.filter_bytes;
  };
  const uint64_t whole = filter_bytes("whole");
  EXPECT_NEAR(static_cast<double>(whole), 25000, 500);
  // A prefix for each key, and for ten keys.
  EXPECT_NEAR(static_cast<double>(filter_bytes("whole+delimiter:/")), 2.0 * 25000, 1000);
  EXPECT_NEAR(static_cast<double>(filter_bytes("whole+prefix:8")), 1.1 * 25000, 600);

  const auto memory_bytes = [&](std::string_view filter_key) {
    const std::unique_ptr<FileSystem> memory = NewMemoryFileSystem();
    SstableBuilder builder(With("blocked_bloom:10", filter_key),
                           *memory->Create("/t", WritableFileOptions{}), "/t");
    for (const auto& [key, value] : model) EXPECT_TRUE(builder.Add(key, value).ok());
    return std::pair(builder.memory_bytes(), builder.file_bytes_estimate());
  };
  const auto [one_memory, one_estimate] = memory_bytes("whole");
  const auto [two_memory, two_estimate] = memory_bytes("whole+delimiter:/");
  EXPECT_GE(two_memory, one_memory + 8 * 20000 / 2);
  EXPECT_NEAR(static_cast<double>(two_estimate - one_estimate), 25000, 1000);
}

// A filter that lacks what scans ask for hides keys from scans alone.
TEST(SstableFilterKey, VerifyAsksForEveryPartOfEveryKey) {
  const SstableModel model = ModelOf({"abcd1", "abce1", "xyz"});
  const std::string bytes = BuildTable(model, With("bloom:20", "whole+prefix:3")).bytes;
  auto sound = OpenSstable(bytes);
  ASSERT_TRUE(sound.ok()) << sound.status();
  EXPECT_TRUE((*sound)->Verify().empty());

  auto table = OpenSstable(WithClaimedFilterKey(bytes, "whole+prefix:3", "whole+prefix:4"));
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_TRUE((*table)->has_filter());
  const std::vector<SstableProblem> problems = (*table)->Verify();
  ASSERT_EQ(problems.size(), 4u) << "two versions of each key that has the part";
  for (const SstableProblem& problem : problems) {
    EXPECT_TRUE(absl::StrContains(problem.reason, "the filter denies its prefix:4"))
        << problem.reason;
  }
}

// A newer version of Winnow may know other parts.
TEST(SstableFilterKey, WithAnUnknownPartTheFilterIsNotAsked) {
  const std::string bytes =
      BuildTable(ModelOf({"abcd1", "xyz"}), With("bloom:20", "whole+prefix:3")).bytes;
  auto table = OpenSstable(WithClaimedFilterKey(bytes, "whole+prefix:3", "whole+suffix:3"));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_FALSE((*table)->has_filter());
  EXPECT_EQ((*table)->filter_state().code, filter::FilterStateCode::kUnknownVersion);
  EXPECT_TRUE(absl::StrContains((*table)->filter_state().reason, "filter key 'whole+suffix:3'"))
      << (*table)->filter_state().reason;
  EXPECT_EQ((*table)->AskFilter({}, 1, "absent"), FilterAnswer::kNotAsked);
  PointResult result;
  ASSERT_TRUE((*table)->Get({}, "xyz", kMaxSequenceNumber, &result).ok());
  EXPECT_TRUE(result.found);
}

// A filter may deny every key, and keys may be long.
TEST(SstableFilterKey, VerifyNamesTheFirstOfManyKeysAndTheirBeginnings) {
  std::vector<std::string> keys;
  for (int i = 1000; i < 1300; i++) keys.push_back(absl::StrCat(i, std::string(1000, 'k')));
  const std::string bytes = BuildTable(ModelOf(keys), With("bloom:20", "whole+prefix:3")).bytes;
  auto table = OpenSstable(WithClaimedFilterKey(bytes, "whole+prefix:3", "whole+prefix:4"));
  ASSERT_TRUE(table.ok()) << table.status();
  const std::vector<SstableProblem> problems = (*table)->Verify();
  ASSERT_EQ(problems.size(), 101u);
  for (const SstableProblem& problem : problems) {
    EXPECT_TRUE(absl::StrContains(problem.reason, "the filter denies its prefix:4"));
    EXPECT_LT(problem.reason.size(), 200u) << problem.reason;
  }
  EXPECT_TRUE(absl::StrContains(problems.back().reason, " more keys")) << problems.back().reason;
}

}  // namespace
}  // namespace winnow
