// Which file of a level goes down next: by files that exist as metadata only.
#include "engine/compaction/level_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "engine/compaction/compaction.h"
#include "tests/support/counting_comparator.h"
#include "tests/support/db_fixture.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

constexpr int kLevel = 4;
constexpr uint64_t kFileBytes = 1000;

std::string KeyOf(uint64_t i) { return absl::StrFormat("%04d", i); }

// The bytewise order, not known as such, that counts how often it is asked.
class Levels {
 public:
  explicit Levels(const Comparator* comparator = BytewiseComparator()) : comparator_(comparator) {}

  struct File {
    uint64_t first;
    uint64_t last;
    uint64_t bytes = kFileBytes;
    uint64_t num_deletions = 0;
  };
  // Returns its number.
  uint64_t Add(int level, const File& given) {
    FileMetadata metadata;
    metadata.number = next_number_++;
    metadata.file_bytes = given.bytes;
    metadata.num_entries = 10;
    metadata.num_deletions = given.num_deletions;
    metadata.smallest = MakeInternalKey(KeyOf(given.first), 5, EntryType::kPut);
    metadata.largest = MakeInternalKey(KeyOf(given.last), 5, EntryType::kPut);
    Version::Files& files = levels_[static_cast<size_t>(level)];
    files.push_back(SstableFile::Open(
        std::make_shared<const SstableStore>(SstableStore{file_system_.get(), "/db", nullptr}),
        metadata, comparator_));
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
      return a->smallest_user_key() < b->smallest_user_key();
    });
    return metadata.number;
  }
  void Remove(int level, uint64_t number) {
    std::erase_if(levels_[static_cast<size_t>(level)],
                  [&](const auto& file) { return file->number() == number; });
  }
  std::shared_ptr<const Version> version() const {
    return std::make_shared<const Version>(comparator_, levels_);
  }

 private:
  const InternalKeyComparator comparator_;
  const std::unique_ptr<FileSystem> file_system_ = NewMemoryFileSystem();
  std::array<Version::Files, kNumLevels> levels_;
  uint64_t next_number_ = 1;
};

// The number of the file that goes, which is idle afterwards; 0: none.
uint64_t PickOne(LevelOrder* order, const std::shared_ptr<const Version>& version) {
  uint64_t number = 0;
  order->Offer(version, kLevel, [&](const std::shared_ptr<SstableFile>& file) {
    number = file->number();
    order->Picked({file});
    return true;
  });
  return number;
}

TEST(OverlapRatios, AreWhatComparingAllFilesGives) {
  for (const uint64_t seed : Seeds(200)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    Levels levels;
    for (const int level : {kLevel, kLevel + 1}) {
      const uint64_t most_wide = 1 + random() % 60;
      for (uint64_t next = random() % 30; next < 600; next += random() % 9) {
        const uint64_t last = next + random() % most_wide;
        levels.Add(level, {next, last, 1 + random() % 5000, random() % 10});
        next = last + 1;
      }
    }
    const auto version = levels.version();
    double bytes_below = 0;
    for (const auto& below : version->files(kLevel + 1)) {
      bytes_below += static_cast<double>(below->metadata().file_bytes);
    }
    const double entry = bytes_below / (10.0 * static_cast<double>(version->num_files(kLevel + 1)));
    const std::vector<double> ratios = OverlapRatios(*version, kLevel);
    ASSERT_EQ(ratios.size(), version->num_files(kLevel));
    for (size_t i = 0; i < ratios.size(); i++) {
      const SstableFile& file = *version->files(kLevel)[i];
      double overlapped = 0;
      for (const auto& below : version->files(kLevel + 1)) {
        if (below->smallest_user_key() > file.largest_user_key()) continue;
        if (below->largest_user_key() < file.smallest_user_key()) continue;
        overlapped += static_cast<double>(below->metadata().file_bytes);
      }
      const double relieved = static_cast<double>(file.metadata().file_bytes) +
                              static_cast<double>(file.metadata().num_deletions) * entry;
      ASSERT_DOUBLE_EQ(ratios[i], overlapped / relieved) << "file " << i;
    }
  }
}

TEST(LevelOrder, TheFileThatOverlapsLeastForItsSizeGoesFirst) {
  Levels levels;
  const uint64_t three_below = levels.Add(kLevel, {100, 199});
  const uint64_t one_below = levels.Add(kLevel, {200, 299});
  const uint64_t two_below_and_large = levels.Add(kLevel, {300, 399, 4 * kFileBytes});
  for (const uint64_t first : {100u, 120u, 140u, 200u, 300u, 350u}) {
    levels.Add(kLevel + 1, {first, first + 10});
  }
  const auto version = levels.version();
  LevelOrder order;
  EXPECT_EQ(PickOne(&order, version), two_below_and_large);
  EXPECT_EQ(PickOne(&order, version), one_below);
  EXPECT_EQ(PickOne(&order, version), three_below);
}

TEST(LevelOrder, ADeletionCountsAsTheEntryThatItDrops) {
  Levels levels;
  const uint64_t with_deletions = levels.Add(kLevel, {100, 199, kFileBytes, 5});
  const uint64_t thin = levels.Add(kLevel, {200, 299});
  levels.Add(kLevel + 1, {100, 199});
  levels.Add(kLevel + 1, {200, 299, kFileBytes - 100});
  const auto version = levels.version();
  LevelOrder order;
  EXPECT_EQ(PickOne(&order, version), with_deletions);
  EXPECT_EQ(PickOne(&order, version), thin);
}

TEST(LevelOrder, BusyFilesAndThoseInQuarantineAreNotOffered) {
  Levels levels;
  for (uint64_t i = 0; i < 3; i++) levels.Add(kLevel, {100 * i, 100 * i + 50});
  const auto version = levels.version();
  version->files(kLevel)[0]->being_compacted = true;
  version->files(kLevel)[1]->quarantined = true;
  for (uint64_t i = 0; i < 2 * LevelOrder::kPicksPerTurn; i++) {
    LevelOrder order;
    EXPECT_EQ(PickOne(&order, version), version->files(kLevel)[2]->number());
  }
  version->files(kLevel)[2]->being_compacted = true;
  LevelOrder order;
  EXPECT_EQ(PickOne(&order, version), 0u);
}

// Wherever a file has gone down, another one comes that overlaps nothing; a few overlap much.
TEST(LevelOrder, NoFileWaitsForEverThoughOthersAlwaysOverlapLess) {
  Levels levels;
  std::map<uint64_t, uint64_t> thin;  // first key, by number
  std::vector<uint64_t> heavy;
  for (uint64_t i = 0; i < 20; i++) {
    const uint64_t first = 100 * i;
    if (i % 5 == 2) {
      heavy.push_back(levels.Add(kLevel, {first, first + 50}));
      levels.Add(kLevel + 1, {first, first + 50, 100 * kFileBytes});
    } else {
      thin[levels.Add(kLevel, {first, first + 50})] = first;
    }
  }
  LevelOrder order;
  uint64_t picks = 0;
  while (!heavy.empty()) {
    ASSERT_LT(picks++, 20 * LevelOrder::kPicksPerTurn);
    const uint64_t number = PickOne(&order, levels.version());
    levels.Remove(kLevel, number);
    const auto gone = thin.find(number);
    if (gone == thin.end()) {
      ASSERT_EQ(std::erase(heavy, number), 1u);
    } else {
      const uint64_t first = gone->second;
      thin[levels.Add(kLevel, {first, first + 50})] = first;
    }
  }
}

// Three failures of compactions in a row end all writes: it must not be one file that fails thrice.
TEST(LevelOrder, AFileThatComesBackLetsAllOthersGoFirst) {
  Levels levels;
  for (uint64_t i = 0; i < 5; i++) {
    levels.Add(kLevel, {100 * i, 100 * i + 50});
    levels.Add(kLevel + 1, {100 * i, 100 * i + 50, kFileBytes * (5 - i)});
  }
  LevelOrder order;
  EXPECT_EQ(PickOne(&order, levels.version()), 9u);
  const uint64_t other = PickOne(&order, levels.version());
  EXPECT_EQ(other, 7u);
  levels.Remove(kLevel, other);  // that one succeeds, and makes another version
  EXPECT_EQ(PickOne(&order, levels.version()), 5u);
  EXPECT_EQ(PickOne(&order, levels.version()), 3u);
  EXPECT_EQ(PickOne(&order, levels.version()), 1u);
  EXPECT_EQ(PickOne(&order, levels.version()), 9u) << "all have failed: the best again";
}

TEST(LevelOrder, IsMadeOnceForAVersion) {
  CountingComparator comparator;
  Levels levels(&comparator);
  for (const int level : {kLevel, kLevel + 1}) {
    for (uint64_t i = 0; i < 1000; i++) levels.Add(level, {2 * i, 2 * i + 1});
  }
  auto version = levels.version();
  LevelOrder order;
  const auto ask = [&] {
    comparator.TakeCount();
    order.Offer(version, kLevel, [](const std::shared_ptr<SstableFile>&) { return true; });
    return comparator.TakeCount();
  };
  const uint64_t first = ask();
  EXPECT_GT(first, 1000u);
  EXPECT_LT(first, 10'000u) << "one pass over the files of both levels";
  EXPECT_EQ(ask(), 0u);
  levels.Remove(kLevel, 1);
  version = levels.version();
  EXPECT_GT(ask(), 1000u);
}

// Levels that are tiers pick, too, and nobody asks in which order their files go.
TEST(LevelOrder, ForgetsTheOldestOfMorePicksThanItRemembers) {
  Levels levels;
  const uint64_t best = levels.Add(kLevel, {0, 50});  // overlaps nothing
  levels.Add(kLevel, {100, 150});
  levels.Add(kLevel + 1, {100, 150});
  for (uint64_t i = 0; i < LevelOrder::kMostPicked; i++) {
    levels.Add(kLevel + 2, {2 * i, 2 * i + 1});
  }
  const auto version = levels.version();
  LevelOrder order;
  EXPECT_EQ(PickOne(&order, version), best);
  for (const auto& file : version->files(kLevel + 2)) order.Picked({file});
  EXPECT_EQ(PickOne(&order, version), best) << "that it was picked is forgotten";
}

}  // namespace
}  // namespace winnow
