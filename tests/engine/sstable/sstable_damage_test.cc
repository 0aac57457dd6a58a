// Damaged, misplaced and hostile tables: an error that names file and offset, or the right answer;
// never a wrong one, never undefined behaviour.
#include <gtest/gtest.h>

#include <set>

#include "engine/base/coding.h"
#include "engine/sstable/format.h"
#include "tests/engine/sstable/sstable_model.h"

namespace winnow {
namespace {

SstableModel SmallModel() {
  SstableModel model;
  for (int i = 0; i < 12; i++) {
    const std::string key = "key" + std::to_string(i * 7 % 12);
    model[MakeInternalKey(key, 10 + i, EntryType::kPut)] = "value" + std::to_string(i);
    if (i % 3 == 0) model[MakeInternalKey(key, 40 + i, EntryType::kDelete)] = "";
  }
  return model;
}

SstableBuilderOptions SmallTableOptions() {
  SstableBuilderOptions options;
  options.block_bytes = 80;
  options.restart_interval = 2;
  options.filter_spec = Spec("blocked_bloom:10");
  options.hash_seed = 99;
  options.file_id = 0x1122334455667788;
  return options;
}

SstableBuilderOptions PartitionedTableOptions() {
  SstableBuilderOptions options = SmallTableOptions();
  options.index_partition_threshold = 1;
  options.index_partition_bytes = 60;
  return options;
}

// What a table of unknown health did. Every answer that it gives must be the model's.
struct Outcome {
  bool opened = false;
  bool any_error = false;
  bool filter_usable = false;
};

void ExpectNamesPlace(const absl::Status& status) {
  EXPECT_NE(status.message().find("t.sst"), absl::string_view::npos) << status;
}

Outcome ReadEverything(const std::string& bytes, const SstableModel& model) {
  Outcome outcome;
  auto table = OpenSstable(bytes);
  if (!table.ok()) {
    ExpectNamesPlace(table.status());
    outcome.any_error = true;
    return outcome;
  }
  outcome.opened = true;
  outcome.filter_usable = (*table)->filter_state().code == filter::FilterStateCode::kOk;
  const auto note = [&outcome](const absl::Status& status) {
    if (status.ok()) return;
    ExpectNamesPlace(status);
    EXPECT_NE(status.message().find("at offset"), absl::string_view::npos) << status;
    outcome.any_error = true;
  };
  for (const auto& [key, value] : model) {
    EXPECT_TRUE(
        (*table)->filter().MayContain(filter::HashKey(UserKey(key), (*table)->hash_seed())));
    PointResult result;
    const absl::Status status = (*table)->Get({}, UserKey(key), Sequence(key), &result);
    note(status);
    if (!status.ok()) continue;
    EXPECT_TRUE(result.found);
    EXPECT_EQ(result.value, value);
  }
  const std::unique_ptr<SstableIterator> iterator = (*table)->NewIterator({});
  auto expected = model.begin();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++expected) {
    if (expected == model.end()) {
      ADD_FAILURE() << "more entries than were written";
      return outcome;
    }
    EXPECT_EQ(iterator->key(), expected->first);
    EXPECT_EQ(iterator->value(), expected->second);
  }
  note(iterator->status());
  if (iterator->status().ok()) {
    EXPECT_EQ(expected, model.end());
  }
  return outcome;
}

class DamagedTable : public ::testing::TestWithParam<bool> {
 protected:
  DamagedTable()
      : model_(SmallModel()),
        built_(BuildTable(model_, GetParam() ? PartitionedTableOptions() : SmallTableOptions())) {
    auto table = OpenSstable(built_.bytes);
    EXPECT_TRUE(
        (*table)
            ->ForEachBlock([this](const SstableBlockInfo& block) { blocks_.push_back(block); })
            .ok());
    EXPECT_TRUE((*table)->Verify().empty());
  }

  const SstableBlockInfo& BlockOf(BlockKind kind) const {
    return *std::find_if(blocks_.begin(), blocks_.end(),
                         [kind](const SstableBlockInfo& block) { return block.kind == kind; });
  }

  // The checksum of the block's trailer as its contents and type now demand.
  static void FixChecksum(const SstableBlockInfo& block, std::string* bytes) {
    const size_t size = block.stored_bytes - kBlockTrailerBytes;
    char* const trailer = bytes->data() + block.offset + size;
    EncodeFixed64(trailer + 1, BlockChecksum(std::string_view(*bytes).substr(block.offset, size),
                                             static_cast<uint8_t>(trailer[0]),
                                             SmallTableOptions().file_id, block.offset));
  }

  const SstableModel model_;
  const BuiltTable built_;
  std::vector<SstableBlockInfo> blocks_;
};

INSTANTIATE_TEST_SUITE_P(OneAndTwoIndexLevels, DamagedTable, ::testing::Bool());

TEST_P(DamagedTable, EveryBitFlipIsSeenAndNeverAnswersWrong) {
  const SstableBlockInfo filter_block = BlockOf(BlockKind::kFilter);
  const uint64_t header_bytes = BlockOf(BlockKind::kHeader).stored_bytes;
  for (size_t at = 0; at < built_.bytes.size(); at++) {
    for (int bit = 0; bit < 8; bit++) {
      SCOPED_TRACE(testing::Message() << "byte " << at << " bit " << bit);
      std::string bytes = built_.bytes;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      const Outcome outcome = ReadEverything(bytes, model_);
      const bool in_filter =
          at >= filter_block.offset && at < filter_block.offset + filter_block.stored_bytes;
      if (in_filter) {
        EXPECT_TRUE(outcome.opened && !outcome.any_error && !outcome.filter_usable);
      } else if (at < header_bytes) {
        EXPECT_TRUE(outcome.opened && !outcome.any_error && outcome.filter_usable);
      } else {
        EXPECT_TRUE(outcome.any_error);
      }
      if (outcome.opened) {
        EXPECT_FALSE((*OpenSstable(bytes))->Verify().empty());
      }
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_P(DamagedTable, EveryTruncationAndExtensionIsRefused) {
  for (size_t length = 0; length < built_.bytes.size(); length++) {
    const auto table = OpenSstable(built_.bytes.substr(0, length));
    ASSERT_FALSE(table.ok()) << length;
    ExpectNamesPlace(table.status());
  }
  for (const size_t surplus : {1, 128, 4096}) {
    EXPECT_FALSE(OpenSstable(built_.bytes + std::string(surplus, '\0')).ok());
    EXPECT_FALSE(OpenSstable(built_.bytes + built_.bytes.substr(0, surplus)).ok());
  }
}

TEST_P(DamagedTable, SwappedBlocksAreSeen) {
  size_t swaps = 0;
  for (const SstableBlockInfo& a : blocks_) {
    for (const SstableBlockInfo& b : blocks_) {
      if (a.offset >= b.offset || a.stored_bytes != b.stored_bytes) continue;
      std::string bytes = built_.bytes;
      bytes.replace(a.offset, a.stored_bytes, built_.bytes, b.offset, b.stored_bytes);
      bytes.replace(b.offset, b.stored_bytes, built_.bytes, a.offset, a.stored_bytes);
      EXPECT_TRUE(ReadEverything(bytes, model_).any_error);
      swaps++;
    }
  }
  EXPECT_GT(swaps, 0u);
}

TEST_P(DamagedTable, BlocksOfAnotherFileAreSeen) {
  SstableBuilderOptions options = GetParam() ? PartitionedTableOptions() : SmallTableOptions();
  options.file_id++;
  const BuiltTable other = BuildTable(model_, options);
  ASSERT_EQ(other.bytes.size(), built_.bytes.size());
  for (const SstableBlockInfo& block : blocks_) {
    std::string bytes = built_.bytes;
    bytes.replace(block.offset, block.stored_bytes, other.bytes, block.offset, block.stored_bytes);
    const Outcome outcome = ReadEverything(bytes, model_);
    if (block.kind == BlockKind::kFilter) {
      EXPECT_FALSE(outcome.filter_usable);
    } else if (block.kind == BlockKind::kHeader) {
      EXPECT_FALSE((*OpenSstable(bytes))->Verify().empty());
    } else {
      EXPECT_TRUE(outcome.any_error) << BlockKindName(block.kind);
    }
  }
}

TEST_P(DamagedTable, AnotherFileThanExpectedIsRefused) {
  SstableReaderOptions options;
  options.expected_file_id = built_.summary.file_id + 1;
  const absl::Status status = OpenSstable(built_.bytes, options).status();
  EXPECT_TRUE(IsCorruption(status)) << status;
  options.expected_file_id = built_.summary.file_id;
  EXPECT_TRUE(OpenSstable(built_.bytes, options).ok());
}

// Contents changed and the checksum made right again: nobody can know that the answers are wrong,
// but reading stays inside the bytes (a sanitizer build says so).
TEST_P(DamagedTable, HostileBlocksDoNoHarm) {
  const uint64_t seed = 31;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (const SstableBlockInfo& block : blocks_) {
    if (block.kind == BlockKind::kFooter) continue;
    const size_t size = block.stored_bytes - kBlockTrailerBytes;
    for (size_t at = 0; at < size + 1; at++) {  // the compression type as well
      for (const uint64_t replacement : {uint64_t{0}, uint64_t{1}, uint64_t{0x7f}, uint64_t{0x80},
                                         uint64_t{0xff}, random() % 256, random() % 256}) {
        std::string bytes = built_.bytes;
        bytes[block.offset + at] = static_cast<char>(replacement);
        FixChecksum(block, &bytes);
        auto table = OpenSstable(bytes);
        if (!table.ok()) continue;
        (void)(*table)->Verify();
        SstableIterator iterator(**table, {});
        size_t entries = 0;
        for (iterator.SeekToFirst(); iterator.Valid() && entries < 1000; iterator.Next()) entries++;
        EXPECT_LT(entries, 1000u);
        for (iterator.SeekToLast(); iterator.Valid() && entries < 2000; iterator.Prev()) entries++;
        EXPECT_LT(entries, 2000u);
        for (const auto& [key, value] : model_) {
          PointResult result;
          (void)(*table)->Get({}, UserKey(key), Sequence(key), &result);
          iterator.SeekForPrev(key);
        }
      }
    }
  }
}

TEST_P(DamagedTable, HostileFootersDoNoHarm) {
  const uint64_t size = built_.bytes.size();
  auto footer =
      Footer::Decode(std::string_view(built_.bytes).substr(size - kFooterBytes), size, "t.sst");
  ASSERT_TRUE(footer.ok()) << footer.status();
  const auto open_with = [&](const Footer& hostile) {
    std::string bytes = built_.bytes.substr(0, size - kFooterBytes) + hostile.Encode();
    return OpenSstable(bytes);
  };
  ASSERT_TRUE(open_with(*footer).ok());
  const std::set<uint64_t> values = {0,
                                     1,
                                     size - 1,
                                     size,
                                     size + 1,
                                     uint64_t{1} << 32,
                                     ~uint64_t{0},
                                     ~uint64_t{0} - kBlockTrailerBytes};
  for (BlockHandle Footer::*member : {&Footer::properties, &Footer::filter, &Footer::index}) {
    for (const uint64_t value : values) {
      Footer hostile = *footer;
      (hostile.*member).offset = value;
      EXPECT_FALSE(open_with(hostile).ok()) << value;
      hostile = *footer;
      (hostile.*member).size = value;
      EXPECT_FALSE(open_with(hostile).ok()) << value;
      for (const uint64_t second : values) {
        (hostile.*member).offset = second;
        (void)open_with(hostile);
      }
    }
  }
  Footer hostile = *footer;
  hostile.index_levels = 3 - footer->index_levels;
  EXPECT_FALSE(open_with(hostile).ok());
  hostile.index_levels = 7;
  EXPECT_FALSE(open_with(hostile).ok());
}

TEST_P(DamagedTable, NewerMajorVersionIsRefusedWithClearText) {
  std::string bytes = built_.bytes;
  bytes[bytes.size() - 16] = static_cast<char>(kTableMajorVersion + 1);
  // With the checksum of this version it is not a newer one, but a flipped bit.
  absl::Status status = OpenSstable(bytes).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("version is damaged"), absl::string_view::npos) << status;
  bytes[bytes.size() - kFooterBytes] ^= 1;
  status = OpenSstable(bytes).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("format 2.0"), absl::string_view::npos) << status;
}

TEST_P(DamagedTable, FailingReadIsAnErrorNeverAnEnd) {
  const auto visit_all = [&](uint64_t fail_at, bool forever, size_t readahead, uint64_t* reads) {
    auto owned = std::make_unique<StringFile>(built_.bytes);
    StringFile* const file = owned.get();
    file->fail_at = fail_at;
    file->fail_forever = forever;
    auto table = SstableReader::Open({}, std::move(owned), "t.sst");
    if (!table.ok()) return table.status();
    SstableReadOptions options;
    options.readahead_bytes = readahead;
    SstableIterator iterator(**table, options);
    size_t entries = 0;
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) entries++;
    if (iterator.status().ok()) {
      EXPECT_EQ(entries, model_.size());
      for (iterator.SeekToLast(); iterator.Valid(); iterator.Prev()) entries++;
      if (iterator.status().ok()) {
        EXPECT_EQ(entries, 2 * model_.size());
      }
    }
    *reads = file->num_reads;
    const absl::Status status = iterator.status();
    if (!status.ok() && !forever) {  // the next seek starts afresh
      iterator.SeekToFirst();
      EXPECT_TRUE(iterator.Valid()) << iterator.status();
    }
    return status;
  };
  for (const size_t readahead : {size_t{0}, size_t{1}, size_t{500}}) {
    uint64_t total_reads = 0;
    ASSERT_TRUE(visit_all(0, false, readahead, &total_reads).ok());
    ASSERT_GT(total_reads, 4u);
    size_t errors = 0;
    uint64_t ignored = 0;
    for (uint64_t n = 1; n <= total_reads; n++) {
      for (const bool forever : {false, true}) {
        const absl::Status status = visit_all(n, forever, readahead, &ignored);
        if (status.ok()) continue;
        EXPECT_TRUE(absl::IsUnavailable(status)) << status;
        errors++;
      }
    }
    // All but the one read of the filter, which is only made do without, and those of more than one
    // block: the block that is wanted is then read alone.
    if (readahead == 1) {
      EXPECT_EQ(errors, 2 * total_reads - 1);
    } else {
      EXPECT_GE(errors, total_reads);
      EXPECT_LT(errors, 2 * total_reads - 1);
    }
  }
}

TEST_P(DamagedTable, UnreadableFilterMeansMayContain) {
  std::string bytes = built_.bytes;
  bytes[BlockOf(BlockKind::kFilter).offset + 70] ^= 1;
  auto table = OpenSstable(bytes);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_FALSE((*table)->has_filter());
  EXPECT_EQ((*table)->filter_state().code, filter::FilterStateCode::kDamaged);
  EXPECT_NE((*table)->filter_state().reason.find("checksum"), std::string::npos);
  ExpectTableEqualsModel(**table, model_);
}

// What could not be looked at may be sound: a repair must not give it up.
TEST(DamagedTableFrame, LackOfDescriptorsIsNoDamage) {
  SstableBuilderOptions options = SmallTableOptions();
  options.filter_spec = Spec("blocked_bloom:10+range:16");
  const BuiltTable built = BuildTable(SmallModel(), options);
  const auto verify = [&](uint64_t fail_at, uint64_t* reads) {
    auto owned = std::make_unique<StringFile>(built.bytes);
    StringFile* const file = owned.get();
    file->fail_at = fail_at;
    file->read_error = absl::ResourceExhaustedError("too many open files");
    const auto table = SstableReader::Open({}, std::move(owned), "t.sst");
    if (!table.ok()) return std::vector<SstableProblem>();
    std::vector<SstableProblem> problems = (*table)->Verify();
    *reads = file->num_reads;
    return problems;
  };
  uint64_t total_reads = 0;
  ASSERT_TRUE(verify(0, &total_reads).empty());
  size_t num_problems = 0;
  for (uint64_t n = 1; n <= total_reads; n++) {
    uint64_t ignored = 0;
    for (const SstableProblem& problem : verify(n, &ignored)) {
      EXPECT_FALSE(problem.is_damage) << "read " << n << ": " << problem.reason;
      num_problems++;
    }
  }
  EXPECT_GT(num_problems, 5u);
}

TEST_P(DamagedTable, VerifyFindsAFilterOfOtherKeys) {
  SstableModel other;
  for (const auto& [key, value] : model_) {
    std::string changed = key;
    changed[0] = 'q';
    other[changed] = value;
  }
  const SstableBuilderOptions options =
      GetParam() ? PartitionedTableOptions() : SmallTableOptions();
  const BuiltTable donor = BuildTable(other, options);
  const SstableBlockInfo filter_block = BlockOf(BlockKind::kFilter);
  std::string bytes = built_.bytes;
  bytes.replace(filter_block.offset, filter_block.stored_bytes, donor.bytes, filter_block.offset,
                filter_block.stored_bytes);
  FixChecksum(filter_block, &bytes);
  auto table = OpenSstable(bytes);
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_TRUE((*table)->has_filter());
  const std::vector<SstableProblem> problems = (*table)->Verify();
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems[0].reason.find("filter denies"), std::string::npos) << problems[0].reason;
}

TEST_P(DamagedTable, VerifyFindsCountsThatAreWrong) {
  const SstableBlockInfo block = BlockOf(BlockKind::kProperties);
  std::string bytes = built_.bytes;
  const size_t at = bytes.find("num_entries", block.offset);
  ASSERT_NE(at, std::string::npos);
  bytes[at + std::string_view("num_entries").size() + 1]++;
  FixChecksum(block, &bytes);
  auto table = OpenSstable(bytes);
  ASSERT_TRUE(table.ok()) << table.status();
  const std::vector<SstableProblem> problems = (*table)->Verify();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].reason.find("num_entries"), std::string::npos) << problems[0].reason;
}

TEST_P(DamagedTable, VerifyFindsKeysThatAreMisplaced) {
  const SstableBlockInfo block = blocks_[1];
  ASSERT_EQ(block.kind, BlockKind::kData);
  std::string bytes = built_.bytes;
  const size_t at = bytes.find("key", block.offset);
  ASSERT_LT(at, block.offset + block.stored_bytes);
  bytes[at] = 'a';
  FixChecksum(block, &bytes);
  auto table = OpenSstable(bytes);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_FALSE((*table)->Verify().empty());
}

TEST(DamagedCompressedTable, HostileCompressedBlocksDoNoHarm) {
  SstableModel model;
  for (int i = 0; i < 30; i++) {
    model[MakeInternalKey("key" + std::to_string(i), 1, EntryType::kPut)] = std::string(40, 'x');
  }
  for (const Compression compression :
       {Compression::kSnappy, Compression::kLz4, Compression::kZstd}) {
    SstableBuilderOptions options;
    options.compression = compression;
    options.file_id = 77;
    const BuiltTable built = BuildTable(model, options);
    auto whole = OpenSstable(built.bytes);
    ASSERT_TRUE(whole.ok()) << whole.status();
    SstableBlockInfo block;
    ASSERT_TRUE((*whole)
                    ->ForEachBlock([&block](const SstableBlockInfo& visited) {
                      if (visited.kind == BlockKind::kData && block.stored_bytes == 0) {
                        block = visited;
                      }
                    })
                    .ok());
    ASSERT_EQ(block.compression, compression);
    const size_t size = block.stored_bytes - kBlockTrailerBytes;
    const size_t end = block.offset + size;
    for (size_t at = block.offset; at < end + 1; at++) {
      for (const int replacement : {0, 1, 2, 3, 0x0f, 0x7f, 0x80, 0xf0, 0xff}) {
        std::string bytes = built.bytes;
        bytes[at] = static_cast<char>(replacement);
        EncodeFixed64(bytes.data() + end + 1,
                      BlockChecksum(std::string_view(bytes).substr(block.offset, size),
                                    static_cast<uint8_t>(bytes[end]), 77, block.offset));
        auto table = OpenSstable(bytes);
        ASSERT_TRUE(table.ok()) << table.status();
        SstableIterator iterator(**table, {});
        size_t entries = 0;
        for (iterator.SeekToFirst(); iterator.Valid() && entries < 1000; iterator.Next()) entries++;
        EXPECT_LT(entries, 1000u);
      }
    }
  }
}

// Whole and intact, in its place, but made with another seed: it would refute keys that are there.
TEST(DamagedTableFrame, AFilterOfAnotherHashSeedIsNotAsked) {
  const SstableModel model = SmallModel();
  const BuiltTable built = BuildTable(model, SmallTableOptions());
  SstableBuilderOptions other_seed = SmallTableOptions();
  other_seed.hash_seed = 100;
  const std::string other = BuildTable(model, other_seed).bytes;
  ASSERT_EQ(other.size(), built.bytes.size());
  SstableBlockInfo filter{};
  ASSERT_TRUE((*OpenSstable(built.bytes))
                  ->ForEachBlock([&](const SstableBlockInfo& visited) {
                    if (visited.kind == BlockKind::kFilter) filter = visited;
                  })
                  .ok());
  ASSERT_GT(filter.stored_bytes, 0u);
  std::string bytes = built.bytes;
  bytes.replace(filter.offset, filter.stored_bytes, other, filter.offset, filter.stored_bytes);
  const auto table = OpenSstable(bytes);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_FALSE((*table)->has_filter());
  EXPECT_EQ((*table)->filter_state().code, filter::FilterStateCode::kDamaged);
  for (const auto& [key, value] : model) {
    EXPECT_EQ((*table)->AskFilter({}, filter::HashKey(UserKey(key), 99), UserKey(key)),
              FilterAnswer::kNotAsked);
  }
}

TEST(DamagedTableFrame, WrongComparatorIsRefused) {
  class Other final : public Comparator {
   public:
    std::string_view Name() const override { return "test.other"; }
    int Compare(std::string_view a, std::string_view b) const override { return a.compare(b); }
  };
  static const Other other;
  const BuiltTable built = BuildTable(SmallModel(), SmallTableOptions());
  SstableReaderOptions options;
  options.comparator = InternalKeyComparator(&other);
  const absl::Status status = OpenSstable(built.bytes, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("test.other"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace winnow
