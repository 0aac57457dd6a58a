// The memtable: newest visible version, a filter that hides nothing, iterators both ways.
#include "engine/memtable/memtable.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/db_fixture.h"
#include "tests/support/sorted_entries.h"
#include "winnow/filter/hash.h"

namespace winnow {
namespace {

constexpr uint64_t kSeed = 99;

void Add(Memtable* memtable, SequenceNumber sequence, EntryType type, std::string_view key,
         std::string_view value) {
  memtable->Add(sequence, type, key, value);
}

TEST(Memtable, FindsTheNewestVersionThatASnapshotSees) {
  Memtable memtable(InternalKeyComparator(BytewiseComparator()), {1 << 16, 1024});
  EXPECT_TRUE(memtable.empty());
  Add(&memtable, 3, EntryType::kPut, "key", "three");
  Add(&memtable, 5, EntryType::kDelete, "key", "");
  Add(&memtable, 9, EntryType::kPut, "key", "nine");
  EXPECT_EQ(memtable.Find("key", 2), nullptr);
  EXPECT_EQ(memtable.Find("key", 3)->value(), "three");
  EXPECT_EQ(memtable.Find("key", 4)->value(), "three");
  EXPECT_EQ(Type(memtable.Find("key", 5)->internal_key()), EntryType::kDelete);
  EXPECT_EQ(memtable.Find("key", 100)->value(), "nine");
  EXPECT_EQ(memtable.Find("ke", 100), nullptr);
  EXPECT_EQ(memtable.Find("key2", 100), nullptr);
  EXPECT_EQ(memtable.Find("", 100), nullptr);
  EXPECT_EQ(memtable.num_entries(), 3u);
  EXPECT_EQ(memtable.num_deletions(), 1u);
  EXPECT_EQ(memtable.log_number(), Memtable::kNoLog);
  memtable.NoteLog(7);
  memtable.NoteLog(8);
  EXPECT_EQ(memtable.log_number(), 7u) << "the oldest that it needs";
}

TEST(Memtable, ItsFilterHidesNoKeyAndRejectsMostOthers) {
  Memtable memtable(InternalKeyComparator(BytewiseComparator()), {1 << 20, 8192}, nullptr,
                    {{}, kSeed});
  EXPECT_FALSE(memtable.has_filter()) << "without entries it takes no memory";
  EXPECT_EQ(memtable.memory_bytes(), 0u);
  for (uint64_t i = 0; i < 4000; i++) {
    Add(&memtable, i + 1, EntryType::kPut, std::to_string(i), "v");
  }
  int maybe = 0;
  for (uint64_t i = 0; i < 4000; i++) {
    ASSERT_TRUE(memtable.MayContain(std::to_string(i), filter::HashKey(std::to_string(i), kSeed)));
    maybe += memtable.MayContain(std::to_string(i) + "x",
                                 filter::HashKey(std::to_string(i) + "x", kSeed))
                 ? 1
                 : 0;
  }
  EXPECT_LT(maybe, 400);
}

// What a scan below a prefix asks, beside look-ups of whole keys.
TEST(Memtable, ItsFilterKnowsThePartsOfKeys) {
  const auto extractor = filter::FilterKeyExtractor::Parse("component:1+component:2");
  ASSERT_TRUE(extractor.ok());
  Memtable memtable(InternalKeyComparator(BytewiseComparator()), {1 << 20, 16384}, nullptr,
                    {*extractor, kSeed});
  const auto component = [](const std::string& text) { return text + std::string("\0\1", 2); };
  const auto may_have = [&](const std::string& prefix) {
    filter::PrefixQuestion question(prefix);
    const std::string upper = prefix.substr(0, prefix.size() - 1) + '\2';
    EXPECT_EQ(memtable.MayContainRange(prefix, upper), memtable.MayContainPrefix(&question));
    return memtable.MayContainPrefix(&question);
  };
  EXPECT_FALSE(memtable.AskRange(component("1"), "2").has_value()) << "no entry, no filter";
  for (uint64_t i = 0; i < 2000; i++) {
    Add(&memtable, i + 1, EntryType::kPut,
        component(std::to_string(i / 2)) + component(std::to_string(i % 2)) + "end", "v");
  }
  int maybe = 0;
  for (uint64_t i = 0; i < 1000; i++) {
    const std::string row = component(std::to_string(i));
    ASSERT_TRUE(may_have(row));
    ASSERT_TRUE(may_have(row + component("0")));
    ASSERT_TRUE(may_have(row + component("1")));
    maybe += may_have(row + component("2")) ? 1 : 0;
    maybe += may_have(component(std::to_string(i) + "x")) ? 1 : 0;
    // Between two parts, and of no part.
    ASSERT_TRUE(memtable.MayContainRange(row, component(std::to_string(i + 1))));
    ASSERT_TRUE(memtable.MayContainRange(std::to_string(i), std::to_string(i) + '\xff'));
  }
  EXPECT_LT(maybe, 200);
  const auto may_have_key = [&](const std::string& key) {
    return memtable.MayContain(key, filter::HashKey(key, kSeed));
  };
  EXPECT_TRUE(may_have_key(component("7") + component("1") + "end"));
  // Look-ups of keys ask for the first part, since there is one: of rows that are there the filter
  // knows no more.
  EXPECT_TRUE(may_have_key(component("7") + component("2") + "end"));
  maybe = 0;
  for (uint64_t i = 0; i < 1000; i++) {
    maybe += may_have_key(component(std::to_string(i) + "x") + "end") ? 1 : 0;
  }
  EXPECT_LT(maybe, 100);
}

TEST(Memtable, WithoutAFilterEverythingMayBeThere) {
  Memtable memtable(InternalKeyComparator(BytewiseComparator()), {1 << 16, 0});
  EXPECT_FALSE(memtable.has_filter());
  EXPECT_TRUE(memtable.MayContain("absent", 1234));
}

TEST(Memtable, IteratesInBothDirections) {
  const InternalKeyComparator comparator(BytewiseComparator());
  for (const uint64_t seed : Seeds(5)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    Memtable memtable(comparator, {1 << 16, 0});
    std::vector<Entry> entries;
    for (SequenceNumber sequence = 1; sequence <= 200; sequence++) {
      const std::string key(random() % 9, static_cast<char>('a' + random() % 3));
      Add(&memtable, sequence, EntryType::kPut, key, std::to_string(sequence));
      entries.emplace_back(MakeInternalKey(key, sequence, EntryType::kPut),
                           std::to_string(sequence));
    }
    SortEntries(&entries, comparator);
    SortedEntries expected(entries, comparator);
    const auto iterator = memtable.NewIterator();
    for (int i = 0; i < 1000; i++) {
      const std::string& entry = entries[random() % entries.size()].first;
      const std::string target =
          MakeInternalKey(UserKey(entry), Sequence(entry) + random() % 2, EntryType::kPut);
      const uint64_t move = random() % 8;
      const auto apply = [&](InternalIterator* moved) {
        if (move == 0) return moved->SeekToFirst();
        if (move == 1) return moved->SeekToLast();
        if (move == 2) return moved->Seek(target);
        if (move == 3 || !moved->Valid()) return moved->SeekForPrev(target);
        return move < 6 ? moved->Next() : moved->Prev();
      };
      apply(iterator.get());
      apply(&expected);
      ASSERT_EQ(iterator->Valid(), expected.Valid());
      if (!expected.Valid()) continue;
      ASSERT_EQ(iterator->key(), expected.key());
      ASSERT_EQ(iterator->value(), expected.value());
    }
  }
}

TEST(Memtable, CountsItsMemory) {
  Memtable memtable(InternalKeyComparator(BytewiseComparator()), {64 << 10, 1024});
  const size_t before = memtable.memory_bytes();
  for (SequenceNumber i = 1; i <= 100; i++) {
    Add(&memtable, i, EntryType::kPut, std::to_string(i), std::string(1000, 'v'));
  }
  EXPECT_GE(memtable.memory_bytes(), before + 100000 - (16 << 10));
  EXPECT_LE(memtable.memory_bytes(), before + 200000);
}

// Lets something happen in the middle of a search.
class Interrupting final : public Comparator {
 public:
  std::string_view Name() const override { return "test.interrupting"; }
  int Compare(std::string_view a, std::string_view b) const override {
    if (on_compare != nullptr) on_compare();
    return BytewiseComparator()->Compare(a, b);
  }
  void FindShortestSeparator(std::string*, std::string_view) const override {}
  void FindShortSuccessor(std::string*) const override {}
  std::function<void()> on_compare;
};

TEST(Memtable, GoingBackNeverComesToWhatLiesBehindTheKeyThatWasSought) {
  Interrupting comparator;
  // At each comparison of a search a version of a larger key may come in.
  for (int interrupted = 0; interrupted < 12; interrupted++) {
    for (const std::string_view sought : {"a", "z"}) {
      Memtable memtable{InternalKeyComparator(&comparator), {1 << 16, 0}};
      Add(&memtable, 1, EntryType::kPut, "a", "1");
      if (sought == "a") Add(&memtable, 2, EntryType::kPut, "b", "1");
      const auto iterator = memtable.NewIterator();
      int compared = 0;
      comparator.on_compare = [&] {
        if (compared++ != interrupted) return;
        const auto nested = std::exchange(comparator.on_compare, nullptr);
        Add(&memtable, 3, EntryType::kPut, sought == "a" ? "b" : "zz", "2");
        comparator.on_compare = nested;
      };
      std::string target;
      AppendInternalKey(&target, sought, 0, EntryType::kDelete);
      iterator->SeekForPrev(target);
      comparator.on_compare = nullptr;
      ASSERT_TRUE(iterator->Valid());
      EXPECT_EQ(UserKey(iterator->key()), "a") << sought << ", interrupted at " << interrupted;
    }
  }
}

}  // namespace
}  // namespace winnow
