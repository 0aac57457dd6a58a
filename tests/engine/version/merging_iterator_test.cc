// Merging: the union in order, both ways, and no key shown past an error.
#include "engine/version/merging_iterator.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/db_fixture.h"
#include "tests/support/sorted_entries.h"

namespace winnow {
namespace {

Entry Put(std::string_view key, SequenceNumber sequence) {
  return {MakeInternalKey(key, sequence, EntryType::kPut), std::to_string(sequence)};
}

// Random entries spread over random children; the same entry may be in two of them.
struct Merge {
  Merge(std::mt19937_64& random, const Comparator* user) : comparator(user) {
    std::vector<std::vector<Entry>> parts(1 + random() % 6);
    const uint64_t num_entries = random() % 60;
    for (SequenceNumber sequence = 1; sequence <= num_entries; sequence++) {
      std::string key(random() % 11, 'k');
      if (!key.empty()) key.back() = static_cast<char>('a' + random() % 4);
      const Entry entry = Put(key, sequence);
      parts[random() % parts.size()].push_back(entry);
      entries.push_back(entry);
    }
    SortEntries(&entries, comparator);
    std::vector<std::unique_ptr<InternalIterator>> iterators;
    for (auto& part : parts) {
      SortEntries(&part, comparator);
      iterators.push_back(std::make_unique<SortedEntries>(part, comparator));
      children.push_back(static_cast<SortedEntries*>(iterators.back().get()));
      sizes.push_back(part.size());
    }
    merged = NewMergingIterator(comparator, std::move(iterators));
  }

  InternalKeyComparator comparator;
  std::vector<Entry> entries;
  std::vector<SortedEntries*> children;
  std::vector<size_t> sizes;
  std::unique_ptr<InternalIterator> merged;
};

// Positions merge and model alike; the model's place is an index, entries.size() for "nowhere".
size_t Position(std::mt19937_64& random, Merge* merge) {
  const auto& entries = merge->entries;
  const std::string target =
      entries.empty() || random() % 4 == 0
          ? MakeInternalKey(std::string(random() % 5, 'k'), random() % 60, EntryType::kPut)
          : entries[random() % entries.size()].first;
  const auto lower_bound = [&] {
    size_t at = 0;
    while (at < entries.size() && merge->comparator.Compare(entries[at].first, target) < 0) at++;
    return at;
  };
  switch (random() % 4) {
    case 0:
      merge->merged->SeekToFirst();
      return 0;
    case 1:
      merge->merged->SeekToLast();
      return entries.empty() ? 0 : entries.size() - 1;
    case 2:
      merge->merged->Seek(target);
      return lower_bound();
    default: {
      merge->merged->SeekForPrev(target);
      const size_t at = lower_bound();
      if (at < entries.size() && entries[at].first == target) return at;
      return at == 0 ? entries.size() : at - 1;
    }
  }
}

void WalkRandomly(const Comparator* user, uint64_t seed) {
  SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100; round++) {
    Merge merge(random, user);
    size_t at = Position(random, &merge);
    for (int step = 0; step < 60; step++) {
      ASSERT_EQ(merge.merged->Valid(), at < merge.entries.size());
      ASSERT_TRUE(merge.merged->status().ok());
      if (at >= merge.entries.size() || random() % 10 == 0) {
        at = Position(random, &merge);
        continue;
      }
      ASSERT_EQ(merge.merged->key(), merge.entries[at].first);
      ASSERT_EQ(merge.merged->value(), merge.entries[at].second);
      if (random() % 2 == 0) {
        merge.merged->Next();
        at++;
      } else {
        merge.merged->Prev();
        at = at == 0 ? merge.entries.size() : at - 1;
      }
    }
  }
}

TEST(MergingIterator, ShowsTheUnionInBothDirections) {
  for (const uint64_t seed : Seeds(10)) WalkRandomly(BytewiseComparator(), seed);
}

TEST(MergingIterator, ShowsTheUnionUnderAnotherOrder) {
  static const ReverseComparator reverse;
  for (const uint64_t seed : Seeds(3)) WalkRandomly(&reverse, seed);
}

TEST(MergingIterator, WithoutChildrenThereIsNothing) {
  const auto merged = NewMergingIterator(InternalKeyComparator(BytewiseComparator()), {});
  merged->SeekToFirst();
  EXPECT_FALSE(merged->Valid());
  EXPECT_TRUE(merged->status().ok());
}

TEST(MergingIterator, OfEqualEntriesTheEarlierChildsComesFirst) {
  const InternalKeyComparator comparator(BytewiseComparator());
  const std::string key = MakeInternalKey("key", 5, EntryType::kPut);
  std::vector<std::unique_ptr<InternalIterator>> children;
  for (const char* value : {"first", "second", "third"}) {
    children.push_back(
        std::make_unique<SortedEntries>(std::vector<Entry>{{key, value}}, comparator));
  }
  const auto merged = NewMergingIterator(comparator, std::move(children));
  merged->SeekToFirst();
  for (const char* value : {"first", "second", "third"}) {
    ASSERT_TRUE(merged->Valid());
    EXPECT_EQ(merged->value(), value);
    merged->Next();
  }
  EXPECT_FALSE(merged->Valid());
}

// Whichever child fails at whichever entry, in either direction: what is shown is what stands
// before that entry, then the walk ends with the error.
TEST(MergingIterator, AnErrorOfAnyChildEndsTheWalkBeforeAKeyIsSkipped) {
  for (const uint64_t seed : Seeds(3)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int round = 0; round < 200; round++) {
      Merge merge(random, BytewiseComparator());
      const size_t child = random() % merge.children.size();
      if (merge.sizes[child] == 0) continue;
      merge.children[child]->FailAt(random() % merge.sizes[child]);
      const bool forward = random() % 2 == 0;
      size_t shown = 0;
      forward ? merge.merged->SeekToFirst() : merge.merged->SeekToLast();
      while (merge.merged->Valid()) {
        const size_t at = forward ? shown : merge.entries.size() - 1 - shown;
        ASSERT_EQ(merge.merged->key(), merge.entries[at].first) << "a key was skipped";
        shown++;
        forward ? merge.merged->Next() : merge.merged->Prev();
      }
      ASSERT_LT(shown, merge.entries.size());
      ASSERT_TRUE(absl::IsUnavailable(merge.merged->status()));
      // A new seek forgets the error, once it is gone.
      merge.children[child]->FailAt(SIZE_MAX);
      merge.merged->SeekToFirst();
      ASSERT_TRUE(merge.merged->status().ok());
      ASSERT_EQ(merge.merged->key(), merge.entries[0].first);
    }
  }
}

}  // namespace
}  // namespace winnow
