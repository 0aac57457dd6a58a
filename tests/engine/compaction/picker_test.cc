// What is compacted next: by random trees of files that exist as metadata only.
#include "engine/compaction/picker.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "engine/compaction/small_files.h"
#include "engine/sstable/sstable_builder.h"
#include "engine/version/file_names.h"
#include "tests/support/db_fixture.h"
#include "tests/support/sstable_metadata.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

constexpr uint64_t kFileBytes = 64 << 10;

std::string KeyOf(uint64_t i) { return absl::StrFormat("%04d", i); }

class Tree {
 public:
  // A file that can be opened, with one entry or two.
  void AddTable(int level, uint64_t first, uint64_t last, uint64_t value_bytes,
                uint64_t num_deletions = 0) {
    const uint64_t number = next_number_++;
    const std::string path = SstableFileName("/db", number);
    ASSERT_TRUE(file_system_->CreateDirectories("/db").ok());
    SstableBuilder builder({}, *file_system_->Create(path, {}), path);
    ASSERT_TRUE(builder.Add(MakeInternalKey(KeyOf(first), 5, EntryType::kPut), "").ok());
    if (last > first) {
      const std::string value(value_bytes, 'v');
      ASSERT_TRUE(builder.Add(MakeInternalKey(KeyOf(last), 5, EntryType::kPut), value).ok());
    }
    const auto table = builder.Finish();
    ASSERT_TRUE(table.ok()) << table.status();
    FileMetadata metadata = MetadataOf(number, *table);
    metadata.num_deletions = num_deletions;
    levels_[static_cast<size_t>(level)].push_back(SstableFile::Open(
        std::make_shared<const SstableStore>(SstableStore{file_system_.get(), "/db", nullptr}),
        metadata, comparator_));
    ASSERT_TRUE(levels_[static_cast<size_t>(level)].back()->open_status().ok());
  }
  void AddFile(int level, uint64_t first, uint64_t last, uint64_t bytes = kFileBytes) {
    FileMetadata metadata;
    metadata.number = next_number_++;
    metadata.file_bytes = bytes;
    metadata.num_entries = 10;
    metadata.smallest = MakeInternalKey(KeyOf(first), 5, EntryType::kPut);
    metadata.largest = MakeInternalKey(KeyOf(last), 5, EntryType::kPut);
    const auto file = SstableFile::Open(
        std::make_shared<const SstableStore>(SstableStore{file_system_.get(), "/db", nullptr}),
        metadata, comparator_);
    levels_[static_cast<size_t>(level)].push_back(file);
  }
  std::shared_ptr<const Version> version() const {
    return std::make_shared<const Version>(comparator_, levels_);
  }

 private:
  InternalKeyComparator comparator_{BytewiseComparator()};
  std::unique_ptr<FileSystem> file_system_ = NewMemoryFileSystem();
  std::array<Version::Files, kNumLevels> levels_;
  uint64_t next_number_ = 1;
};

bool AnyInputBusy(const Compaction& compaction) {
  bool busy = false;
  for (const Version::Files& files : compaction.inputs) {
    for (const auto& file : files) busy = busy || file->being_compacted;
  }
  return busy;
}

ColumnFamilyOptions SmallLevels() {
  ColumnFamilyOptions options;
  options.level0_compaction_trigger = 4;
  options.level_base_bytes = 4 * kFileBytes;
  options.level_size_multiplier = 4;
  options.target_file_bytes = kFileBytes;
  return options;
}

// Levels below level 0 are sorted and do not overlap; level 0 is anything.
Tree RandomTree(std::mt19937_64& random) {
  Tree tree;
  for (uint64_t left = random() % 7; left > 0; left--) {
    const uint64_t first = random() % 1000;
    tree.AddFile(0, first, first + random() % 300);
  }
  const int top = static_cast<int>(1 + random() % (kNumLevels - 1));
  for (int level = top; level < kNumLevels; level++) {
    const uint64_t files = random() % (4u << (2 * (level - top)));
    uint64_t next = 0;
    for (uint64_t i = 0; i < files && next < 1200; i++) {
      const uint64_t first = next + random() % 20;
      const uint64_t last = first + random() % 40;
      tree.AddFile(level, first, last);
      next = last + 1;
    }
  }
  return tree;
}

bool Contains(const Version::Files& files, const SstableFile* wanted) {
  for (const auto& file : files) {
    if (file.get() == wanted) return true;
  }
  return false;
}

// The user keys that the inputs cover.
std::pair<std::string, std::string> RangeOf(const Compaction& compaction) {
  std::string low = "\xff";
  std::string high;
  for (const auto& inputs : compaction.inputs) {
    for (const auto& file : inputs) {
      low = std::min(low, std::string(file->smallest_user_key()));
      high = std::max(high, std::string(file->largest_user_key()));
    }
  }
  return {low, high};
}

bool Overlaps(const SstableFile& file, const std::pair<std::string, std::string>& range) {
  return file.smallest_user_key() <= range.second && file.largest_user_key() >= range.first;
}

// The outputs may lie anywhere in the inputs' range: no other file of their level, or of a level
// that they pass on the way down, may be there.
void ExpectOutputFits(const Compaction& compaction) {
  // What comes from above; the inputs of the output level may reach further.
  Compaction above = compaction;
  above.inputs[static_cast<size_t>(compaction.output_level)].clear();
  int first_level = 0;
  while (compaction.inputs[static_cast<size_t>(first_level)].empty()) first_level++;
  for (int level = first_level + 1; level <= compaction.output_level; level++) {
    const auto& inputs = compaction.inputs[static_cast<size_t>(level)];
    const auto range = RangeOf(level == compaction.output_level ? compaction : above);
    for (const auto& file : compaction.version->files(level)) {
      if (Contains(inputs, file.get())) continue;
      EXPECT_FALSE(Overlaps(*file, range))
          << compaction.DebugString() << " and file " << file->number() << " of level " << level;
    }
  }
}

TEST(LevelTargets, GrowByTheMultiplierAndStartNoDeeperThanTheFirstLevelWithFiles) {
  for (const uint64_t seed : Seeds(200)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto version = RandomTree(random).version();
    const LevelTargets targets = ComputeLevelTargets(*version, SmallLevels());
    ASSERT_GE(targets.base_level, 1);
    const int last = LastCompactedLevel(*version, SmallLevels());
    ASSERT_LE(targets.base_level, last);
    for (int level = 1; level < targets.base_level; level++) {
      ASSERT_EQ(version->num_files(level), 0u) << "level " << level << " would never be drained";
    }
    for (int level = targets.base_level; level < last; level++) {
      ASSERT_LE(targets.target_bytes[static_cast<size_t>(level)],
                targets.target_bytes[static_cast<size_t>(level) + 1]);
      ASSERT_GT(targets.target_bytes[static_cast<size_t>(level)], 0u);
    }
  }
}

TEST(LevelTargets, TheBaseLevelMayHoldTheBaseSizeHoweverSmallItsShareIs) {
  // One file more than the base size in the last level: a quarter of that is for the level above,
  // which is the base level from here on.
  Tree tree;
  for (uint64_t i = 0; i < 5; i++) tree.AddFile(6, 100 * i, 100 * i + 50);
  for (uint64_t i = 0; i < 4; i++) tree.AddFile(5, 100 * i, 100 * i + 50);
  const LevelTargets targets = ComputeLevelTargets(*tree.version(), SmallLevels());
  EXPECT_EQ(targets.base_level, 5);
  EXPECT_EQ(targets.target_bytes[5], 4 * kFileBytes);
  // The level is full with these four, and due with one more.
  EXPECT_EQ(ComputeScores(*tree.version(), SmallLevels()).score[5], 1);
  tree.AddFile(5, 450, 500);
  EXPECT_EQ(ComputeScores(*tree.version(), SmallLevels()).score[5], 1.25);
  EXPECT_EQ(ComputeScores(*tree.version(), SmallLevels()).most_urgent, 5);
}

TEST(LevelTargets, ALevelThatIsNoLongerWantedDrains) {
  Tree tree;
  tree.AddFile(4, 0, 50);
  tree.AddFile(6, 0, 50);
  const LevelTargets targets = ComputeLevelTargets(*tree.version(), SmallLevels());
  EXPECT_EQ(targets.base_level, 4);
  EXPECT_LT(targets.target_bytes[4], kFileBytes);
  EXPECT_EQ(ComputeScores(*tree.version(), SmallLevels()).most_urgent, 4);
}

TEST(CompactionPicker, NothingIsDueInASmallTree) {
  Tree tree;
  for (int i = 0; i < 3; i++) tree.AddFile(0, 0, 10);
  tree.AddFile(6, 0, 10);
  CompactionPicker picker;
  EXPECT_EQ(picker.Pick(tree.version(), SmallLevels()), nullptr);
  EXPECT_EQ(ComputeScores(*tree.version(), SmallLevels()).most_urgent, -1);
}

TEST(CompactionPicker, AFullLevelZeroGoesDownWholeWithAllThatItOverlaps) {
  Tree tree;
  for (uint64_t i = 0; i < 4; i++) tree.AddFile(0, 100 * i, 100 * i + 50);
  tree.AddFile(6, 0, 20);
  tree.AddFile(6, 349, 400);
  tree.AddFile(6, 401, 500);
  const auto version = tree.version();
  CompactionPicker picker;
  const auto compaction = picker.Pick(version, SmallLevels());
  ASSERT_NE(compaction, nullptr);
  EXPECT_EQ(compaction->inputs[0].size(), 4u);
  EXPECT_EQ(compaction->output_level, 6);
  EXPECT_EQ(compaction->inputs[6].size(), 2u);
  EXPECT_EQ(compaction->input_bytes(), 6 * kFileBytes);
  EXPECT_EQ(compaction->input_entries(), 60u);
  compaction->MarkInputs(true);
  EXPECT_TRUE(AnyInputBusy(*compaction));
  EXPECT_EQ(picker.Pick(version, SmallLevels()), nullptr) << "its files are busy";
  compaction->MarkInputs(false);
  EXPECT_NE(picker.Pick(version, SmallLevels()), nullptr);
}

// Picks until nothing is left to pick.
std::vector<std::unique_ptr<Compaction>> RunTogether(const std::shared_ptr<const Version>& version,
                                                     const ColumnFamilyOptions& options) {
  CompactionPicker picker;
  std::vector<std::unique_ptr<Compaction>> running;
  while (auto picked = picker.Pick(version, options)) {
    EXPECT_FALSE(AnyInputBusy(*picked)) << picked->DebugString();
    ExpectOutputFits(*picked);
    for (const auto& other : running) {
      // Files of level 0 may overlap.
      if (other->output_level != picked->output_level || picked->output_level == 0) continue;
      const auto a = RangeOf(*other);
      const auto b = RangeOf(*picked);
      EXPECT_TRUE(a.second < b.first || b.second < a.first)
          << other->DebugString() << " and " << picked->DebugString();
    }
    picked->MarkInputs(true);
    running.push_back(std::move(picked));
    EXPECT_LT(running.size(), 1000u);
    if (testing::Test::HasFailure()) break;
  }
  return running;
}

TEST(CompactionPicker, CompactionsThatRunTogetherNeverShareFilesOrOutputRanges) {
  size_t most_together = 0;
  for (const uint64_t seed : Seeds(300)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto running = RunTogether(RandomTree(random).version(), SmallLevels());
    ASSERT_FALSE(testing::Test::HasFailure());
    most_together = std::max(most_together, running.size());
  }
  EXPECT_GT(most_together, 3u);
}

TEST(CompactionPicker, TiersThatRunTogetherNeverShareFilesOrOutputRanges) {
  size_t picked = 0;
  for (const uint64_t seed : Seeds(300)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    ColumnFamilyOptions options = SmallLevels();
    options.compaction.kind =
        seed % 2 == 0 ? CompactionStyle::Kind::kLazyLeveled : CompactionStyle::Kind::kTiered;
    picked += RunTogether(RandomTree(random).version(), options).size();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  EXPECT_GT(picked, 100u);
}

constexpr int kLastTier = kNumLevels - 1;

TEST(CompactionPicker, LevelZeroBecomesARunOverThoseThereAre) {
  ColumnFamilyOptions options = SmallLevels();
  options.compaction.kind = CompactionStyle::Kind::kLazyLeveled;
  Tree tree;
  for (uint64_t i = 0; i < 4; i++) tree.AddFile(0, 0, 900);
  tree.AddFile(kLastTier - 1, 0, 900, 4 * kFileBytes);
  for (uint64_t i = 0; i < 100; i++) tree.AddFile(kLastTier, 10 * i, 10 * i + 5);
  CompactionPicker picker;
  const auto compaction = picker.Pick(tree.version(), options);
  ASSERT_NE(compaction, nullptr);
  EXPECT_EQ(compaction->output_level, kLastTier - 2);
  EXPECT_EQ(compaction->num_input_files(), 4u) << "nothing below level 0 is written again";
}

TEST(CompactionPicker, OnceTooMuchLiesAboveTheLastLevelTheWholeRunDrains) {
  ColumnFamilyOptions options = SmallLevels();
  options.compaction.kind = CompactionStyle::Kind::kLazyLeveled;
  const auto tree_with = [](uint64_t num_files) {
    Tree tree;
    for (uint64_t i = 0; i < num_files; i++) tree.AddFile(kLastTier - 1, 15 * i, 15 * i + 12);
    for (uint64_t i = 0; i < 100; i++) tree.AddFile(kLastTier, 10 * i, 10 * i + 5);
    return tree;
  };
  CompactionPicker picker;
  EXPECT_EQ(picker.Pick(tree_with(45).version(), options), nullptr) << "a half is allowed";
  ASSERT_NE(picker.Pick(tree_with(52).version(), options), nullptr);
  const auto next = picker.Pick(tree_with(1).version(), options);
  ASSERT_NE(next, nullptr) << "as long as there is any of the run";
  EXPECT_EQ(next->output_level, kLastTier);
  EXPECT_EQ(picker.Pick(tree_with(0).version(), options), nullptr);
  EXPECT_EQ(picker.Pick(tree_with(45).version(), options), nullptr) << "the next run may grow";
}

// Three runs over the last level; each file of the newest ends where four of the next do, and those
// where two of the deepest do.
Tree TreeOfThreeRuns() {
  Tree tree;
  for (uint64_t i = 0; i < 4; i++) tree.AddFile(kLastTier - 4, 240 * i, 240 * i + 239);
  for (uint64_t i = 0; i < 16; i++) tree.AddFile(kLastTier - 2, 60 * i, 60 * i + 59);
  for (uint64_t i = 0; i < 32; i++) tree.AddFile(kLastTier - 1, 30 * i, 30 * i + 29);
  for (uint64_t i = 0; i < 64; i++) tree.AddFile(kLastTier, 15 * i, 15 * i + 14);
  return tree;
}

ColumnFamilyOptions LazyLevels() {
  ColumnFamilyOptions options = SmallLevels();
  options.compaction.kind = CompactionStyle::Kind::kLazyLeveled;
  return options;
}

size_t NumInputs(const Compaction& compaction, int level) {
  return compaction.inputs[static_cast<size_t>(level)].size();
}

TEST(CompactionPicker, RunsDrainTogetherKeyRangeByKeyRange) {
  ColumnFamilyOptions options = LazyLevels();
  // Of the newest run one file is too much with all that lies below it: 1 + 4 + 8 + 16.
  Tree tree = TreeOfThreeRuns();
  CompactionPicker small;
  const auto without_newest = small.Pick(tree.version(), options);
  ASSERT_NE(without_newest, nullptr);
  ExpectOutputFits(*without_newest);
  EXPECT_EQ(NumInputs(*without_newest, kLastTier - 4), 0u);
  EXPECT_EQ(NumInputs(*without_newest, kLastTier - 2), 3u) << "with its neighbours";
  EXPECT_EQ(NumInputs(*without_newest, kLastTier - 1), 6u);
  EXPECT_EQ(NumInputs(*without_newest, kLastTier), 12u);
  EXPECT_LE(without_newest->input_bytes(), 25 * options.target_file_bytes);

  options.target_file_bytes = 2 * kFileBytes;
  CompactionPicker large;
  const auto all = large.Pick(tree.version(), options);
  ASSERT_NE(all, nullptr);
  ExpectOutputFits(*all);
  EXPECT_EQ(NumInputs(*all, kLastTier - 4), 1u);
  EXPECT_EQ(NumInputs(*all, kLastTier - 2), 4u);
  EXPECT_EQ(NumInputs(*all, kLastTier - 1), 8u);
  EXPECT_EQ(NumInputs(*all, kLastTier), 16u);

  // As far up as runs are idle: what is newer may stay.
  const auto version = tree.version();
  version->files(kLastTier - 2)[0]->being_compacted = true;
  CompactionPicker around;
  const auto below = around.Pick(version, options);
  ASSERT_NE(below, nullptr);
  ExpectOutputFits(*below);
  EXPECT_EQ(NumInputs(*below, kLastTier - 4), 0u);
}

TEST(CompactionPicker, LevelZeroFindsAMomentBetweenRangesThatDrain) {
  Tree tree = TreeOfThreeRuns();
  for (uint64_t i = 0; i < 4; i++) tree.AddFile(0, 0, 900);
  const auto version = tree.version();
  const ColumnFamilyOptions options = LazyLevels();
  CompactionPicker picker;
  version->files(kLastTier - 1)[0]->being_compacted = true;
  version->files(kLastTier - 4)[0]->being_compacted = true;
  const auto compaction = picker.Pick(version, options);
  ASSERT_NE(compaction, nullptr);
  EXPECT_FALSE(compaction->inputs[0].empty()) << "no second range: " << compaction->DebugString();
}

TEST(CompactionPicker, FifoDropsTheOldestAndNeverTheNewest) {
  ColumnFamilyOptions options = SmallLevels();
  options.compaction = CompactionStyle::Fifo(3 * kFileBytes);
  Tree tree;
  for (int i = 0; i < 3; i++) tree.AddFile(0, 0, 10);
  CompactionPicker picker;
  EXPECT_EQ(picker.Pick(tree.version(), options), nullptr) << "exactly at the limit";
  tree.AddFile(5, 0, 10);
  tree.AddFile(6, 0, 10);
  auto compaction = picker.Pick(tree.version(), options);
  ASSERT_NE(compaction, nullptr);
  EXPECT_TRUE(compaction->drops_inputs);
  EXPECT_EQ(compaction->num_input_files(), 2u);
  EXPECT_TRUE(compaction->inputs[0].empty()) << "what lies deeper is older";
  Tree large;
  large.AddFile(0, 0, 10, 100 * kFileBytes);
  EXPECT_EQ(picker.Pick(large.version(), options), nullptr);
  EXPECT_EQ(CompactionPicker::PickRange(large.version(), options, std::nullopt, std::nullopt),
            nullptr);
}

// Levels 4 to 6 of tables that lie close together, small and large.
TEST(CompactionPicker, SmallNeighboursJoinAndGetInNobodysWay) {
  ColumnFamilyOptions options = SmallLevels();
  options.level_base_bytes = options.target_file_bytes = 32 << 10;
  size_t joined = 0;
  for (const uint64_t seed : Seeds(60)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    Tree tree;
    const uint64_t middle = random() % 60;
    for (uint64_t left = 4 + random() % 3; left > 0; left--) {
      const uint64_t first = middle + random() % 10;
      tree.AddTable(0, first, first + random() % 5, 10);
    }
    for (int level = 4; level <= 6; level++) {
      uint64_t next = random() % 10;
      for (uint64_t left = 10u << (level - 4); left > 0; left--) {
        const uint64_t last = next + random() % 6;
        tree.AddTable(level, next, last, random() % 2 == 0 ? 10 : 20 << 10);
        next = last + 1 + random() % 8;
      }
    }
    const auto version = tree.version();
    for (const auto& compaction : RunTogether(version, options)) {
      if (compaction->output_level == 0) continue;
      // Of the output level's inputs, those outside of what comes from above.
      const auto& inputs = compaction->inputs[static_cast<size_t>(compaction->output_level)];
      Compaction above = *compaction;
      above.inputs[static_cast<size_t>(compaction->output_level)].clear();
      for (const auto& file : inputs) {
        if (Overlaps(*file, RangeOf(above))) continue;
        EXPECT_TRUE(IsSmall(*file, options));
        joined++;
      }
    }
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  EXPECT_GT(joined, 0u);
}

TEST(CompactionPicker, LargeFilesOfASequentialLoadMoveAndSmallOnesAreMerged) {
  ColumnFamilyOptions options = SmallLevels();
  options.target_file_bytes = 512 << 10;
  const auto pick = [&](const Tree& tree) {
    return CompactionPicker().Pick(tree.version(), options)->DebugString();
  };
  Tree large;
  for (uint64_t i = 5; i > 0; i--) large.AddTable(0, 10 * i, 10 * i + 5, 90 << 10);
  EXPECT_EQ(pick(large), "level 0 is full: level 0 [5] -> level 6 (move)");
  Tree small;
  for (uint64_t i = 5; i > 0; i--) small.AddTable(0, 10 * i, 10 * i + 5, i == 4 ? 90 << 10 : 10);
  EXPECT_EQ(pick(small), "level 0 is full: level 0 [3 4 5] -> level 6");
  // Of the files before theirs in the last level, as many as are no larger than three times all
  // that have joined before.
  small.AddTable(6, 1, 2, 10);
  small.AddTable(6, 3, 4, 40 << 10);
  small.AddTable(6, 5, 6, 10);
  small.AddTable(6, 100, 101, 90 << 10);
  EXPECT_EQ(pick(small), "level 0 is full: level 0 [3 4 5] level 6 [8] -> level 6");
  small.AddTable(0, 7, 8, 20 << 10);
  EXPECT_EQ(pick(small), "level 0 is full: level 0 [3 4 5 10] level 6 [6 7 8] -> level 6");
}

TEST(CompactionPicker, DeletionsThatNothingBelowNeedsAreRewrittenAndNeverMoved) {
  const auto pick = [](const Tree& tree) {
    return CompactionPicker().Pick(tree.version(), SmallLevels())->DebugString();
  };
  Tree last;
  for (uint64_t i = 4; i > 0; i--) last.AddTable(0, 10 * i, 10 * i + 5, 50 << 10, 1);
  EXPECT_EQ(pick(last), "level 0 is full: level 0 [1 2 3 4] -> level 6");
  Tree above;  // what lies below may hold what is deleted
  for (uint64_t i = 4; i > 0; i--) above.AddTable(0, 10 * i, 10 * i + 5, 50 << 10, 1);
  above.AddFile(5, 500, 600);
  above.AddFile(6, 0, 100);
  EXPECT_EQ(pick(above), "level 0 is full: level 0 [4] -> level 5 (move)");
}

TEST(CompactionPicker, DeletionsMoveWhereWhatIsIngestedMayStillComeBelowThem) {
  ColumnFamilyOptions options = SmallLevels();
  options.allow_ingest_behind = true;
  Tree tree;
  for (uint64_t i = 4; i > 0; i--) tree.AddTable(0, 10 * i, 10 * i + 5, 50 << 10, 1);
  EXPECT_EQ(CompactionPicker().Pick(tree.version(), options)->DebugString(),
            "level 0 is full: level 0 [4] -> level 6 (move)");
}

TEST(CompactionPicker, ARangeTakesEveryFileThatHoldsAVersionOfItsKeys) {
  for (const uint64_t seed : Seeds(300)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto version = RandomTree(random).version();
    const std::string begin = KeyOf(random() % 1200);
    const std::string end = KeyOf(random() % 1200);
    std::optional<std::string_view> from;
    std::optional<std::string_view> to;
    if (random() % 3 != 0) from = begin;
    if (random() % 3 != 0) to = end;
    const auto picked = CompactionPicker::PickRange(version, SmallLevels(), from, to);
    const std::pair<std::string, std::string> asked = {from.has_value() ? begin : "",
                                                       to.has_value() ? end : "\xff"};
    bool any_overlaps = false;
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : version->files(level)) {
        any_overlaps = any_overlaps || Overlaps(*file, asked);
        if (picked == nullptr) continue;
        const bool is_input = Contains(picked->inputs[static_cast<size_t>(level)], file.get());
        const bool must_be = Overlaps(*file, asked) || Overlaps(*file, RangeOf(*picked));
        ASSERT_EQ(is_input, must_be) << "file " << file->number();
      }
    }
    if (asked.first <= asked.second) {
      ASSERT_EQ(picked != nullptr, any_overlaps);
    }
    if (picked != nullptr) {
      ASSERT_EQ(picked->output_level, version->deepest_level() >= 1 ? version->deepest_level() : 6);
    }
  }
}

// One damaged file once kept all of level 0 from being compacted for good.
TEST(CompactionPicker, WorksAroundFilesInQuarantine) {
  size_t picked_partly = 0;
  for (const uint64_t seed : Seeds(500)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto version = RandomTree(random).version();
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : version->files(level)) file->quarantined = random() % 6 == 0;
    }
    CompactionPicker picker;
    std::vector<std::unique_ptr<Compaction>> running;
    while (auto picked = picker.Pick(version, SmallLevels())) {
      for (const auto& inputs : picked->inputs) {
        for (const auto& file : inputs) {
          ASSERT_FALSE(file->quarantined) << picked->DebugString();
          ASSERT_FALSE(file->being_compacted) << picked->DebugString();
        }
      }
      ExpectOutputFits(*picked);
      const Version::Files& level0 = version->files(0);  // the newest first
      const Version::Files& inputs = picked->inputs[0];
      const bool goes_down = !inputs.empty() && picked->output_level > 0;
      picked_partly += goes_down && inputs.size() < level0.size() ? 1 : 0;
      for (size_t newer = 0; newer < level0.size() && picked->output_level > 0; newer++) {
        if (!Contains(inputs, level0[newer].get())) continue;
        for (size_t older = newer + 1; older < level0.size(); older++) {
          if (Contains(inputs, level0[older].get())) continue;
          ASSERT_FALSE(Overlaps(*level0[older], {std::string(level0[newer]->smallest_user_key()),
                                                 std::string(level0[newer]->largest_user_key())}))
              << picked->DebugString() << " leaves an older version above a newer one";
        }
      }
      picked->MarkInputs(true);
      running.push_back(std::move(picked));
      ASSERT_LT(running.size(), 1000u);
    }
  }
  EXPECT_GT(picked_partly, 0u);
}

TEST(CompactionPicker, WhatIsSoundGoesDownBesideAFileInQuarantine) {
  Tree tree;
  tree.AddFile(0, 500, 600);
  for (int i = 0; i < 4; i++) tree.AddFile(0, 0, 100);
  tree.AddFile(6, 0, 20);
  const auto version = tree.version();
  version->files(0)[0]->quarantined = true;
  CompactionPicker picker;
  const auto picked = picker.Pick(version, SmallLevels());
  ASSERT_NE(picked, nullptr);
  EXPECT_EQ(picked->output_level, 6);
  EXPECT_EQ(picked->inputs[0].size(), 4u);
}

TEST(CompactionPicker, MergesNeighboursOfLevelZeroThatCannotGoDown) {
  Tree tree;
  for (int i = 0; i < 9; i++) tree.AddFile(0, 0, 100, i < 8 ? kFileBytes : 100 * kFileBytes);
  tree.AddFile(6, 0, 20);
  const auto version = tree.version();
  version->files(6)[0]->being_compacted = true;
  CompactionPicker picker;
  auto picked = picker.Pick(version, SmallLevels());
  ASSERT_NE(picked, nullptr);
  EXPECT_EQ(picked->output_level, 0);
  EXPECT_EQ(picked->inputs[0].size(), 8u) << "the large one is not worth rewriting";
  version->files(0)[4]->quarantined = true;
  picked = picker.Pick(version, SmallLevels());
  ASSERT_NE(picked, nullptr);
  EXPECT_EQ(picked->inputs[0].size(), 4u) << "neighbours only: level 0 stays in order";
  EXPECT_EQ(picked->inputs[0][0].get(), version->files(0)[0].get());
  version->files(0)[2]->quarantined = true;
  EXPECT_EQ(picker.Pick(version, SmallLevels()), nullptr) << "two or three are not worth it yet";
}

// A thousand column families in 16 MiB flush a few KiB at a time: each four of these files once
// rewrote the base level, compactions fell behind, and level 0 had twenty files of each family.
TEST(CompactionPicker, SmallFilesOfLevelZeroAreMergedBeforeALargeBaseLevelIsRewritten) {
  Tree tree;
  for (int i = 0; i < 4; i++) tree.AddFile(0, 0, 100, kFileBytes / 16);
  for (uint64_t i = 0; i < 3; i++) tree.AddFile(6, 30 * i, 30 * i + 20);
  CompactionPicker picker;
  const auto merged = picker.Pick(tree.version(), SmallLevels());
  ASSERT_NE(merged, nullptr);
  EXPECT_EQ(merged->output_level, 0);
  EXPECT_EQ(merged->inputs[0].size(), 4u);
  // Another file makes level 0 a multiplier's part of what it overlaps.
  tree.AddFile(0, 0, 100, kFileBytes / 2);
  const auto down = picker.Pick(tree.version(), SmallLevels());
  ASSERT_NE(down, nullptr);
  EXPECT_EQ(down->output_level, 6);
  EXPECT_EQ(down->num_input_files(), 8u);
}

// Two files of level 5, and below each one of its size.
class ReadsInVain : public testing::Test {
 protected:
  ReadsInVain() {
    tree_.AddTable(5, 10, 15, 20 << 10);
    tree_.AddTable(5, 30, 35, 20 << 10);
    tree_.AddTable(6, 10, 20, 20 << 10);
    tree_.AddTable(6, 30, 40, 20 << 10);
    version_ = tree_.version();
    for (int level : {5, 6}) {
      for (const auto& file : version_->files(level)) {
        total_bytes_ += static_cast<double>(file->metadata().file_bytes);
      }
    }
  }

  // So many reads of one file of level 5 that they come to `share` of what merging it costs: half
  // of all there is, read and written.
  void Read(size_t index, double share) {
    const SstableFile& file = *version_->files(5)[index];
    const SstableFigures& figures = file.reader()->figures();
    const double block =
        static_cast<double>(figures.data_bytes) / static_cast<double>(figures.num_data_blocks);
    file.NoteReadsInVain(share * total_bytes_ / block);
  }
  std::unique_ptr<Compaction> Pick() { return picker_.Pick(version_, options_); }

  Tree tree_;
  std::shared_ptr<const Version> version_;
  double total_bytes_ = 0;
  ColumnFamilyOptions options_;
  CompactionPicker picker_;
};

TEST_F(ReadsInVain, PayForACompactionOnceTheyHaveReadAsMuch) {
  EXPECT_EQ(Pick(), nullptr);
  Read(0, 0.4);
  Read(1, 0.99);
  EXPECT_EQ(Pick(), nullptr);
  Read(1, 0.02);
  const auto compaction = Pick();
  ASSERT_NE(compaction, nullptr);
  EXPECT_STREQ(compaction->reason, "look-ups read blocks in vain");
  EXPECT_EQ(compaction->output_level, 6);
  EXPECT_EQ(compaction->inputs[5], Version::Files{version_->files(5)[1]});
  EXPECT_EQ(compaction->inputs[6], Version::Files{version_->files(6)[1]});
}

TEST_F(ReadsInVain, PayForNothingWhereNothingLiesBelow) {
  for (const auto& file : version_->files(6)) file->NoteReadsInVain(1e6);
  EXPECT_EQ(Pick(), nullptr);
}

TEST_F(ReadsInVain, PayForNothingWhereLevelsAreTiers) {
  options_.compaction = *ParseCompactionStyle("lazy_leveled");
  Read(0, 100);
  const auto compaction = Pick();
  EXPECT_TRUE(compaction == nullptr ||
              std::string_view(compaction->reason) != "look-ups read blocks in vain");
}

TEST_F(ReadsInVain, OfLevelZeroAreSummedAndTakeItDownWhole) {
  tree_.AddTable(0, 12, 33, 20 << 10);
  tree_.AddTable(0, 14, 31, 20 << 10);
  version_ = tree_.version();
  const auto read = [&](double reads) {
    for (const auto& file : version_->files(0)) file->NoteReadsInVain(reads);
  };
  read(1);
  EXPECT_EQ(Pick(), nullptr);
  read(50);
  const auto compaction = Pick();
  ASSERT_NE(compaction, nullptr);
  EXPECT_STREQ(compaction->reason, "look-ups read blocks in vain");
  EXPECT_EQ(compaction->inputs[0].size(), 2u);
  EXPECT_EQ(compaction->inputs[5].size(), 2u);
}

TEST(BottommostLevelChecker, KnowsWhichKeysADeeperLevelCanHold) {
  for (const uint64_t seed : Seeds(100)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    Compaction compaction;
    compaction.version = RandomTree(random).version();
    compaction.output_level = static_cast<int>(1 + random() % (kNumLevels - 1));
    BottommostLevelChecker check(compaction);
    for (uint64_t i = 0; i < 1300; i += 1 + random() % 5) {
      bool deeper = false;
      for (int level = compaction.output_level + 1; level < kNumLevels; level++) {
        for (const auto& file : compaction.version->files(level)) {
          deeper = deeper || Overlaps(*file, {KeyOf(i), KeyOf(i)});
        }
      }
      ASSERT_EQ(check(KeyOf(i)), !deeper) << i;
    }
  }
}

}  // namespace
}  // namespace winnow
