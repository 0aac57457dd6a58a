// The search for the one file of a level that can hold a key, against a linear one.
#include "engine/version/level_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/db_fixture.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

using Files = std::vector<std::shared_ptr<SstableFile>>;

// Files that exist as metadata only: [boundaries[0], boundaries[1]], [boundaries[2], ...
class Level {
 public:
  Level(const std::vector<std::string>& boundaries, const Comparator* user)
      : comparator_(user), file_system_(NewMemoryFileSystem()) {
    for (size_t i = 0; i + 1 < boundaries.size(); i += 2) {
      FileMetadata metadata;
      metadata.number = i + 1;
      metadata.smallest = MakeInternalKey(boundaries[i], 9, EntryType::kPut);
      metadata.largest = MakeInternalKey(boundaries[i + 1], 3, EntryType::kPut);
      files_.push_back(SstableFile::Open(
          std::make_shared<const SstableStore>(SstableStore{file_system_.get(), "/db", nullptr}),
          metadata, comparator_));
    }
    index_ = LevelIndex(files_, comparator_);
  }

  void Check(const std::string& key) const {
    const SstableFile* expected = nullptr;
    size_t lower_bound = 0;
    size_t before = 0;
    for (const auto& file : files_) {
      const bool after_start = comparator_.CompareUserKeys(file->smallest_user_key(), key) <= 0;
      const bool before_end = comparator_.CompareUserKeys(key, file->largest_user_key()) <= 0;
      if (after_start && before_end) expected = file.get();
      lower_bound += before_end ? 0 : 1;
      before += comparator_.CompareUserKeys(file->smallest_user_key(), key) < 0 ? 1 : 0;
    }
    ASSERT_EQ(index_.Find(key), expected) << testing::PrintToString(key);
    ASSERT_EQ(index_.LowerBound(key), lower_bound) << testing::PrintToString(key);
    ASSERT_EQ(index_.NumBefore(key), before) << testing::PrintToString(key);
    if (comparator_.is_bytewise()) CheckPrefix(key);
  }

  // Keys with a beginning may be in files that end at or behind it, up to the first whose keys are
  // all greater than any that go on from it.
  void CheckPrefix(const std::string& prefix) const {
    size_t begin = 0;
    size_t end = 0;
    for (const auto& file : files_) {
      begin += file->largest_user_key() < prefix ? 1 : 0;
      const std::string_view smallest = file->smallest_user_key();
      end += smallest < prefix || smallest.starts_with(prefix) ? 1 : 0;
    }
    const LevelIndex::FileRange found = index_.FilesWithPrefix(prefix);
    ASSERT_EQ(found.begin, begin) << testing::PrintToString(prefix);
    ASSERT_EQ(found.end, std::max(begin, end)) << testing::PrintToString(prefix);
  }

 private:
  const InternalKeyComparator comparator_;
  const std::unique_ptr<FileSystem> file_system_;
  Files files_;
  LevelIndex index_;
};

TEST(LevelIndex, AnEmptyLevelHoldsNothing) {
  const Level level({}, BytewiseComparator());
  level.Check("");
  level.Check("key");
}

TEST(LevelIndex, OneFileOfOneKeyHoldsThatKeyOnly) {
  const Level level({"key", "key"}, BytewiseComparator());
  for (const char* key : {"", "ke", "key", "key\x01", "kez", "z"}) level.Check(key);
}

TEST(LevelIndex, TheEmptyKeyAndTheHighestBytesAreFound) {
  const Level level({"", std::string(1, '\0'), std::string(9, '\xff'), std::string(12, '\xff')},
                    BytewiseComparator());
  for (size_t length = 0; length < 14; length++) {
    level.Check(std::string(length, '\xff'));
    level.Check(std::string(length, '\0'));
  }
}

// Keys that agree in the eight bytes that the index compares: missing bytes count as zeros there.
TEST(LevelIndex, TiesInTheComparedBytesAreDecidedByWholeKeys) {
  const std::string zeros(8, '\0');
  const Level level({"a", "a" + zeros.substr(0, 1), "a" + zeros, "a" + zeros + "x",
                     "a" + zeros + "y", "a" + zeros + "yy", "b", "c"},
                    BytewiseComparator());
  for (size_t length = 0; length <= 8; length++) {
    for (const char* end : {"", "x", "xx", "y", "yy", "yyy", "z"}) {
      level.Check("a" + zeros.substr(0, length) + end);
    }
  }
  for (const char* key : {"", "b", "bb", "c", "cc"}) level.Check(key);
}

void CheckRandomLevels(const Comparator* user, uint64_t seed) {
  SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60 && !testing::Test::HasFailure(); round++) {
    const std::string shared(random() % 20, 's');
    const size_t letters = 2 + random() % 3;
    const auto key = [&] {
      std::string bytes =
          random() % 10 == 0 ? shared.substr(0, random() % (shared.size() + 1)) : shared;
      for (uint64_t left = random() % 14; left > 0; left--) {
        bytes +=
            "\xff"
            "as\x01"[random() % letters];
      }
      return bytes;
    };
    const auto less = [&](const std::string& a, const std::string& b) {
      return user->Compare(a, b) < 0;
    };
    std::set<std::string, decltype(less)> boundaries(less);
    for (uint64_t left = random() % 60; left > 0; left--) {
      boundaries.insert(key());
    }
    const Level level({boundaries.begin(), boundaries.end()}, user);
    for (const std::string& boundary : boundaries) {
      level.Check(boundary);
      level.Check(boundary + '\0');
      level.Check(boundary.substr(0, boundary.size() / 2));
    }
    for (int i = 0; i < 100; i++) level.Check(key());
  }
}

TEST(LevelIndex, AgreesWithALinearSearch) {
  for (const uint64_t seed : Seeds(10)) CheckRandomLevels(BytewiseComparator(), seed);
}

TEST(LevelIndex, AgreesWithALinearSearchUnderAnotherOrder) {
  static const ReverseComparator reverse;
  for (const uint64_t seed : Seeds(3)) CheckRandomLevels(&reverse, seed);
}

}  // namespace
}  // namespace winnow
