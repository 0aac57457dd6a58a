// Which entries a compaction keeps: every short history under every set of snapshots, against what
// each reader saw before.
#include "engine/compaction/compaction_iterator.h"

#include <gtest/gtest.h>

#include <cmath>
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

// Joins by '+', as far as it can.
class Joining final : public MergeOperator {
 public:
  Joining(bool merges, bool combines) : merges_(merges), combines_(combines) {}
  std::string_view Name() const override { return "test.joining"; }
  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    if (!merges_) return absl::UnknownError("refused");
    if (existing.has_value()) result->append(*existing);
    for (const std::string_view operand : operands) {
      if (!result->empty()) result->append("+");
      result->append(operand);
    }
    return absl::OkStatus();
  }
  bool PartialMerge(std::string_view key, std::span<const std::string_view> operands,
                    std::string* result) const override {
    return combines_ && FullMerge(key, std::nullopt, operands, result).ok();
  }

 private:
  const bool merges_;
  const bool combines_;
};

const MergeOperator* const kOperators[] = {new Joining(true, true), new Joining(true, false),
                                           new Joining(false, false)};
const MergeOperator* Operator() { return kOperators[0]; }

// What a reader at `snapshot` sees of the key: the newest entry up to there, and of operands what
// they make with the next older ones, "below" standing for what a deeper level holds.
std::string Visible(const std::vector<Entry>& entries, SequenceNumber snapshot, bool value_below) {
  std::string operands;
  for (const auto& [key, value] : entries) {
    if (Sequence(key) > snapshot) continue;
    if (Type(key) == EntryType::kPut) return value + operands;
    if (Type(key) == EntryType::kDelete) return "(absent)" + operands;
    operands.insert(0, "+" + value);
  }
  return (value_below ? "below" : "(absent)") + operands;
}

std::vector<Entry> Survivors(const std::vector<Entry>& entries,
                             const std::vector<SequenceNumber>& snapshots,
                             std::function<bool(std::string_view)> is_last_level_for,
                             const MergeOperator* merge_operator = Operator()) {
  SortedEntries input(entries, Order());
  input.SeekToFirst();
  CompactionIterator surviving(&input, Order(), merge_operator, snapshots,
                               std::move(is_last_level_for));
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
                  std::optional<bool> last_level, const MergeOperator* merge_operator) {
  std::function<bool(std::string_view)> check;
  if (last_level.has_value()) check = [&](std::string_view) { return *last_level; };
  const std::vector<Entry> kept = Survivors(entries, snapshots, check, merge_operator);
  const bool value_below = !last_level.value_or(false);
  std::vector<SequenceNumber> readers = snapshots;
  readers.push_back(kMaxSequenceNumber);
  for (const SequenceNumber reader : readers) {
    // Merged with nothing, operands are a value.
    const auto without_absence = [](std::string seen) {
      return seen.starts_with("(absent)+") ? seen.substr(std::string("(absent)+").size()) : seen;
    };
    ASSERT_EQ(without_absence(Visible(kept, reader, value_below)),
              without_absence(Visible(entries, reader, value_below)))
        << "reader at " << reader;
  }
  // No more than one entry for each stripe of readers, in order.
  if (merge_operator == Operator()) {
    ASSERT_LE(kept.size(), readers.size());
  }
  for (size_t i = 1; i < kept.size(); i++) {
    ASSERT_LT(Order().Compare(kept[i - 1].first, kept[i].first), 0);
  }
  // A tombstone that hides nothing below and that no snapshot needs is not kept.
  if (snapshots.empty() && last_level.value_or(false) && merge_operator != kOperators[2]) {
    for (const auto& [key, value] : kept) ASSERT_EQ(Type(key), EntryType::kPut);
  }
}

// As a deletion would: what is above it is merged with nothing, what is below goes.
TEST(CompactionIterator, ARangeTombstoneEndsAChainOfOperands) {
  const std::vector<RangeTombstone> tombstones = {{"a", "n", 5}};
  const RangeTombstoneIndex index(Order(), tombstones);
  const std::vector<Entry> entries = {{MakeInternalKey("b", 9, EntryType::kMerge), "2"},
                                      {MakeInternalKey("b", 8, EntryType::kMerge), "1"},
                                      {MakeInternalKey("b", 4, EntryType::kMerge), "hidden"},
                                      {MakeInternalKey("b", 3, EntryType::kPut), "hidden"},
                                      {MakeInternalKey("c", 4, EntryType::kMerge), "hidden"},
                                      {MakeInternalKey("p", 4, EntryType::kMerge), "kept"}};
  SortedEntries input(entries, Order());
  input.SeekToFirst();
  CompactionIterator surviving(&input, Order(), Operator(), {}, nullptr, nullptr, &index);
  std::vector<std::pair<std::string, EntryType>> kept;
  for (surviving.Start(); surviving.Valid(); surviving.Next()) {
    kept.emplace_back(
        std::string(UserKey(surviving.key())) + "@" + std::to_string(Sequence(surviving.key())),
        Type(surviving.key()));
  }
  const std::vector<std::pair<std::string, EntryType>> expected = {{"b@9", EntryType::kPut},
                                                                   {"p@4", EntryType::kMerge}};
  EXPECT_EQ(kept, expected);
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
      &input, Order(), nullptr, {10}, [](std::string_view) { return true; }, nullptr, &index);
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
    const int num_types = length < 5 ? 3 : 2;  // deletions and puts, operands
    const int num_histories = static_cast<int>(std::pow(num_types, length));
    for (int history = 0; history < num_histories; history++) {
      std::vector<Entry> entries;
      int types = history;
      for (int i = length; i > 0; i--, types /= num_types) {  // newest first
        entries.emplace_back(MakeInternalKey("key", static_cast<SequenceNumber>(2 * i),
                                             static_cast<EntryType>(types % num_types)),
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
          for (const MergeOperator* merge_operator : kOperators) {
            CheckHistory(entries, snapshots, last, merge_operator);
            ASSERT_FALSE(HasFailure()) << "length " << length << ", history " << history
                                       << ", snapshots " << testing::PrintToString(snapshots);
            if (num_types == 2) break;
          }
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
  CompactionIterator surviving(&input, Order(), Operator(), {}, nullptr);
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
  CompactionIterator surviving(&input, Order(), Operator(), {5}, nullptr);
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
  CompactionIterator surviving(&input, Order(), Operator(), {}, nullptr, &end);
  surviving.Start();
  ASSERT_TRUE(surviving.Valid());
  surviving.Next();
  EXPECT_FALSE(surviving.Valid());
  EXPECT_TRUE(surviving.status().ok());
  EXPECT_EQ(surviving.num_seen(), 1u);
}

// Or nobody could cancel it where it drops gigabytes.
TEST(CompactionIterator, PausesWhereThereIsNothingToShow) {
  const auto pauses = [](uint64_t versions, size_t value_bytes) {
    std::vector<Entry> entries;
    for (uint64_t i = versions; i > 0; i--) {
      entries.emplace_back(MakeInternalKey("a", i, EntryType::kPut), std::string(value_bytes, 'v'));
    }
    entries.emplace_back(MakeInternalKey("b", 1, EntryType::kPut), "");
    SortedEntries input(entries, Order());
    input.SeekToFirst();
    CompactionIterator surviving(&input, Order(), nullptr, {}, nullptr);
    surviving.Start();
    EXPECT_EQ(UserKey(surviving.key()), "a");
    int count = 0;
    for (surviving.Next(); surviving.is_paused(); surviving.Resume()) {
      EXPECT_FALSE(surviving.Valid());
      count++;
    }
    EXPECT_TRUE(surviving.Valid());
    EXPECT_EQ(UserKey(surviving.key()), "b");
    EXPECT_TRUE(surviving.at_new_user_key());
    surviving.Next();
    EXPECT_FALSE(surviving.Valid() || surviving.is_paused());
    EXPECT_EQ(surviving.num_seen(), versions + 1);
    EXPECT_EQ(surviving.num_dropped(), versions - 1);
    return count;
  };
  EXPECT_EQ(pauses(1000, 10), 0);
  EXPECT_EQ(pauses(5000, 10), 4);
  EXPECT_EQ(pauses(20, size_t{1} << 20), 19);
}

// Decides by the first letter of the key.
class LetterCollector final : public EntryCollector {
 public:
  Decision Decide(std::string_view user_key, SequenceNumber sequence,
                  std::string_view value) override {
    asked_.append(user_key).append(std::to_string(sequence)).append(" ");
    switch (user_key.front()) {
      case 'd':
        return Decision::kDrop;
      case 'e':
        return Decision::kDelete;
      case 'n':
        return Decision::kKeepNumber;
      default:
        return Decision::kKeep;
    }
  }
  const std::string& asked() const { return asked_; }

 private:
  std::string asked_;
};

// "key@sequence=value", or "key@sequence" of a deletion; and behind them what the collector was
// asked.
std::string Collected(const std::vector<SequenceNumber>& snapshots,
                      std::optional<bool> last_level) {
  const std::vector<Entry> entries = {{MakeInternalKey("d", 7, EntryType::kPut), "v"},
                                      {MakeInternalKey("d", 4, EntryType::kPut), "v"},
                                      {MakeInternalKey("e", 5, EntryType::kPut), "v"},
                                      {MakeInternalKey("k", 3, EntryType::kPut), "v"},
                                      {MakeInternalKey("n", 2, EntryType::kPut), "v"}};
  SortedEntries input(entries, Order());
  input.SeekToFirst();
  std::function<bool(std::string_view)> check;
  if (last_level.has_value()) check = [&](std::string_view) { return *last_level; };
  LetterCollector collector;
  CompactionIterator surviving(&input, Order(), nullptr, snapshots, check, nullptr, nullptr,
                               &collector);
  std::string text;
  for (surviving.Start(); surviving.Valid(); surviving.Next()) {
    text.append(UserKey(surviving.key())).append("@");
    text.append(std::to_string(Sequence(surviving.key())));
    if (Type(surviving.key()) == EntryType::kPut) text.append("=").append(surviving.value());
    text.append(" ");
  }
  EXPECT_EQ(surviving.num_seen(), entries.size());
  return text + "| " + collector.asked();
}

TEST(CompactionIterator, WhatACollectorDropsHidesOlderVersionsAndWhatItDeletesLeavesADeletion) {
  EXPECT_EQ(Collected({}, std::nullopt), "e@5 k@3=v n@2=v | d7 e5 k3 n2 ");
  EXPECT_EQ(Collected({}, false), "e@5 k@3=v n@2=v | d7 e5 k3 n2 ");
  EXPECT_EQ(Collected({}, true), "k@0=v n@2=v | d7 e5 k3 n2 ");
}

TEST(CompactionIterator, ACollectorIsAskedOfWhatEverySnapshotSees) {
  EXPECT_EQ(Collected({4}, true), "d@7=v e@5=v k@0=v n@2=v | d4 k3 n2 ");
  EXPECT_EQ(Collected({2, 4}, true), "d@7=v d@4=v e@5=v k@3=v n@2=v | n2 ");
}

TEST(CompactionIterator, AnErrorOfTheInputOrAnUnknownTypeEndsTheWalkWithThatError) {
  const std::vector<Entry> entries = {{MakeInternalKey("a", 1, EntryType::kPut), ""},
                                      {MakeInternalKey("b", 2, EntryType{9}), ""}};
  SortedEntries failing(entries, Order());
  failing.FailAt(1);
  failing.SeekToFirst();
  CompactionIterator after_error(&failing, Order(), Operator(), {}, nullptr);
  after_error.Start();
  after_error.Next();
  EXPECT_FALSE(after_error.Valid());
  EXPECT_TRUE(absl::IsUnavailable(after_error.status()));

  SortedEntries unknown(entries, Order());
  unknown.SeekToFirst();
  CompactionIterator after_unknown(&unknown, Order(), Operator(), {}, nullptr);
  after_unknown.Start();
  after_unknown.Next();
  EXPECT_FALSE(after_unknown.Valid());
  EXPECT_TRUE(absl::IsDataLoss(after_unknown.status()));
}

}  // namespace
}  // namespace winnow
