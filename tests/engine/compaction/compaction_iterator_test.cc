// Which entries a compaction keeps: every short history under every set of snapshots, against what
// each reader saw before.
#include "engine/compaction/compaction_iterator.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/support/sorted_entries.h"

namespace winnow {
namespace {

const InternalKeyComparator& Order() {
  static const InternalKeyComparator order(BytewiseComparator());
  return order;
}

// What a reader at `snapshot` sees of the key: the newest entry up to there, "below" standing for
// what a deeper level holds.
std::string Visible(const std::vector<Entry>& entries, SequenceNumber snapshot, bool value_below) {
  for (const auto& [key, value] : entries) {
    if (Sequence(key) > snapshot) continue;
    return Type(key) == EntryType::kPut ? value : "(absent)";
  }
  return value_below ? "below" : "(absent)";
}

std::vector<Entry> Survivors(const std::vector<Entry>& entries,
                             const std::vector<SequenceNumber>& snapshots,
                             std::function<bool(std::string_view)> is_last_level_for) {
  SortedEntries input(entries, Order());
  input.SeekToFirst();
  CompactionIterator surviving(&input, Order(), snapshots, std::move(is_last_level_for));
  std::vector<Entry> kept;
  for (surviving.Start(); surviving.Valid(); surviving.Next()) {
    kept.emplace_back(surviving.key(), surviving.value());
  }
  EXPECT_TRUE(surviving.status().ok());
  EXPECT_EQ(surviving.num_seen(), entries.size());
  EXPECT_EQ(surviving.num_dropped(), entries.size() - kept.size());
  return kept;
}

void CheckHistory(const std::vector<Entry>& entries, const std::vector<SequenceNumber>& snapshots,
                  std::optional<bool> last_level) {
  std::function<bool(std::string_view)> check;
  if (last_level.has_value()) check = [&](std::string_view) { return *last_level; };
  const std::vector<Entry> kept = Survivors(entries, snapshots, check);
  const bool value_below = !last_level.value_or(false);
  std::vector<SequenceNumber> readers = snapshots;
  readers.push_back(kMaxSequenceNumber);
  for (const SequenceNumber reader : readers) {
    ASSERT_EQ(Visible(kept, reader, value_below), Visible(entries, reader, value_below))
        << "reader at " << reader;
  }
  // No more than one entry for each stripe of readers, in order.
  ASSERT_LE(kept.size(), readers.size());
  for (size_t i = 1; i < kept.size(); i++) {
    ASSERT_LT(Order().Compare(kept[i - 1].first, kept[i].first), 0);
  }
  // A tombstone that hides nothing below and that no snapshot needs is not kept.
  if (snapshots.empty() && last_level.value_or(false)) {
    for (const auto& [key, value] : kept) ASSERT_EQ(Type(key), EntryType::kPut);
  }
}

// The tombstone may stay, for other keys, where nothing lies below this one.
TEST(CompactionIterator, KeepsTheNumberOfWhatIsNewerThanARangeTombstone) {
  const std::vector<RangeTombstone> tombstones = {{"a", "n", 5}, {"k", "p", 20}};
  const RangeTombstoneIndex index(Order(), tombstones);
  const std::vector<Entry> entries = {{MakeInternalKey("b", 9, EntryType::kPut), "kept"},
                                      {MakeInternalKey("c", 4, EntryType::kPut), "hidden"},
                                      {MakeInternalKey("m", 21, EntryType::kPut), "kept"},
                                      {MakeInternalKey("m", 9, EntryType::kPut), "seen at 10"},
                                      {MakeInternalKey("m", 4, EntryType::kPut), "hidden"},
                                      {MakeInternalKey("o", 15, EntryType::kPut), "hidden"},
                                      {MakeInternalKey("p", 15, EntryType::kPut), "kept"},
                                      {MakeInternalKey("q", 3, EntryType::kPut), "kept"}};
  SortedEntries input(entries, Order());
  input.SeekToFirst();
  CompactionIterator surviving(
      &input, Order(), {10}, [](std::string_view) { return true; }, nullptr, &index);
  std::vector<std::string> kept;
  for (surviving.Start(); surviving.Valid(); surviving.Next()) {
    kept.push_back(std::string(UserKey(surviving.key())) + "@" +
                   std::to_string(Sequence(surviving.key())));
  }
  EXPECT_EQ(kept, (std::vector<std::string>{"b@9", "m@21", "m@9", "p@15", "q@0"}));
  EXPECT_EQ(surviving.num_range_deleted(), 2u);  // m@4 has a newer version
}

TEST(CompactionIterator, EveryReaderSeesTheSameForEveryShortHistory) {
  for (int length = 0; length <= 5; length++) {
    for (int types = 0; types < (1 << length); types++) {
      std::vector<Entry> entries;
      for (int i = length; i > 0; i--) {  // newest first
        const bool put = ((types >> (i - 1)) & 1) != 0;
        entries.emplace_back(MakeInternalKey("key", static_cast<SequenceNumber>(2 * i),
                                             put ? EntryType::kPut : EntryType::kDelete),
                             "value " + std::to_string(i));
      }
      // Snapshots may stand at each entry's sequence number and between them.
      const int places = 2 * length + 2;
      for (int chosen = 0; chosen < (1 << places); chosen++) {
        std::vector<SequenceNumber> snapshots;
        for (int place = 0; place < places; place++) {
          if (((chosen >> place) & 1) != 0) snapshots.push_back(static_cast<uint64_t>(place));
        }
        for (const std::optional<bool> last : {std::optional<bool>(), {true}, {false}}) {
          CheckHistory(entries, snapshots, last);
          ASSERT_FALSE(HasFailure()) << "length " << length << ", types " << types << ", snapshots "
                                     << testing::PrintToString(snapshots);
        }
      }
    }
  }
}

TEST(CompactionIterator, SequenceNumberZeroOnlyOnTheLastLevelAndInTheOldestStripe) {
  const std::vector<Entry> entries = {{MakeInternalKey("a", 9, EntryType::kPut), "new"},
                                      {MakeInternalKey("a", 3, EntryType::kPut), "old"},
                                      {MakeInternalKey("b", 2, EntryType::kPut), "b"}};
  const auto kept = Survivors(entries, {5}, [](std::string_view key) { return key == "a"; });
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(Sequence(kept[0].first), 9u) << "snapshot 5 must not see it";
  EXPECT_EQ(Sequence(kept[1].first), 0u);
  EXPECT_EQ(Sequence(kept[2].first), 2u) << "a deeper level may hold the key";
}

TEST(CompactionIterator, NeighbouringKeysAreKeptApartTheEmptyOneIncluded) {
  const std::vector<Entry> entries = {{MakeInternalKey("", 4, EntryType::kPut), "1"},
                                      {MakeInternalKey("", 1, EntryType::kPut), "2"},
                                      {MakeInternalKey("a", 3, EntryType::kPut), "3"},
                                      {MakeInternalKey("ab", 2, EntryType::kDelete), ""}};
  SortedEntries input(entries, Order());
  input.SeekToFirst();
  CompactionIterator surviving(&input, Order(), {}, nullptr);
  std::vector<std::string> keys;
  for (surviving.Start(); surviving.Valid(); surviving.Next()) {
    EXPECT_TRUE(surviving.at_new_user_key());
    keys.emplace_back(UserKey(surviving.key()));
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"", "a", "ab"}));
}

TEST(CompactionIterator, VersionsOfOneKeyAreMarkedAsSuch) {
  const std::vector<Entry> entries = {{MakeInternalKey("a", 9, EntryType::kPut), ""},
                                      {MakeInternalKey("a", 3, EntryType::kPut), ""},
                                      {MakeInternalKey("b", 2, EntryType::kPut), ""}};
  SortedEntries input(entries, Order());
  input.SeekToFirst();
  CompactionIterator surviving(&input, Order(), {5}, nullptr);
  std::vector<bool> is_new;
  for (surviving.Start(); surviving.Valid(); surviving.Next()) {
    is_new.push_back(surviving.at_new_user_key());
  }
  EXPECT_EQ(is_new, (std::vector<bool>{true, false, true}));
}

TEST(CompactionIterator, EndsBeforeItsEndKey) {
  const std::vector<Entry> entries = {{MakeInternalKey("a", 1, EntryType::kPut), ""},
                                      {MakeInternalKey("b", 2, EntryType::kPut), ""},
                                      {MakeInternalKey("c", 3, EntryType::kPut), ""}};
  SortedEntries input(entries, Order());
  input.SeekToFirst();
  const std::string end = "b";
  CompactionIterator surviving(&input, Order(), {}, nullptr, &end);
  surviving.Start();
  ASSERT_TRUE(surviving.Valid());
  surviving.Next();
  EXPECT_FALSE(surviving.Valid());
  EXPECT_TRUE(surviving.status().ok());
  EXPECT_EQ(surviving.num_seen(), 1u);
}

TEST(CompactionIterator, AnErrorOfTheInputOrAnUnknownTypeEndsTheWalkWithThatError) {
  const std::vector<Entry> entries = {{MakeInternalKey("a", 1, EntryType::kPut), ""},
                                      {MakeInternalKey("b", 2, EntryType::kMerge), ""}};
  SortedEntries failing(entries, Order());
  failing.FailAt(1);
  failing.SeekToFirst();
  CompactionIterator after_error(&failing, Order(), {}, nullptr);
  after_error.Start();
  after_error.Next();
  EXPECT_FALSE(after_error.Valid());
  EXPECT_TRUE(absl::IsUnavailable(after_error.status()));

  SortedEntries unknown(entries, Order());
  unknown.SeekToFirst();
  CompactionIterator after_unknown(&unknown, Order(), {}, nullptr);
  after_unknown.Start();
  after_unknown.Next();
  EXPECT_FALSE(after_unknown.Valid());
  EXPECT_TRUE(absl::IsDataLoss(after_unknown.status()));
}

}  // namespace
}  // namespace winnow
