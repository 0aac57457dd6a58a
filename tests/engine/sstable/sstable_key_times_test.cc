// The times of keys that a table says it has.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/sstable/sstable_model.h"

namespace winnow {
namespace {

// "e7": an entry of time 7; "m7", "f7": markers. Others have no time.
bool ParseLetterAndDigit(std::string_view key, TimedKey* parsed) {
  if (key.size() != 2 || !absl::StrContains("emf", std::string(1, key[0]))) return false;
  parsed->kind = key[0] == 'e'   ? TimedKeyKind::kEntry
                 : key[0] == 'm' ? TimedKeyKind::kMarker
                                 : TimedKeyKind::kFarMarker;
  parsed->time = static_cast<uint64_t>(key[1] - '0');
  return true;
}
bool ParseOneMore(std::string_view key, TimedKey* parsed) {
  const bool has_time = ParseLetterAndDigit(key, parsed);
  parsed->time++;
  return has_time;
}

std::string Build(const std::vector<std::string>& keys, KeyTimeParser parser) {
  SstableModel model;
  for (const std::string& key : keys) {
    model[MakeInternalKey(key, 5, key == "e9" ? EntryType::kDelete : EntryType::kPut)] = "v";
  }
  SstableBuilderOptions options;
  options.key_time_parser = parser;
  return BuildTable(model, options).bytes;
}

std::optional<KeyTimes> TimesIn(const std::string& bytes) {
  const auto table = OpenSstable(bytes);
  EXPECT_TRUE(table.ok()) << table.status();
  return (*table)->ReadProperties()->key_times;
}

TEST(SstableKeyTimes, AreThoseOfAllKeysDeletionsIncluded) {
  const auto times = TimesIn(Build({"e3", "e5", "e9", "f2", "m4"}, ParseLetterAndDigit));
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->DebugString(), "entries=3..9 markers=..4 far_markers=..2");
}

TEST(SstableKeyTimes, AreNotKnownWithoutAParserOrOfAKeyThatHasNone) {
  EXPECT_FALSE(TimesIn(Build({"e3"}, nullptr)).has_value());
  EXPECT_FALSE(TimesIn(Build({"e3", "other"}, ParseLetterAndDigit)).has_value());
}

TEST(SstableKeyTimes, VerifyComparesThemWithTheKeys) {
  const std::string bytes = Build({"e3", "e5", "m4"}, ParseLetterAndDigit);
  const auto table = OpenSstable(bytes);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_TRUE((*table)->Verify().empty());
  EXPECT_TRUE((*table)->Verify(ParseLetterAndDigit).empty());
  const std::vector<SstableProblem> problems = (*table)->Verify(ParseOneMore);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_TRUE(absl::StrContains(problems[0].reason,
                                "key_times is 'entries=3..5 markers=..4' but the file has "
                                "'entries=4..6 markers=..5'"))
      << problems[0].reason;
  const auto without = OpenSstable(Build({"e3"}, nullptr));
  EXPECT_TRUE((*without)->Verify(ParseLetterAndDigit).empty()) << "such a table is always read";
}

}  // namespace
}  // namespace winnow
