// What is found of tables that have lost their ends, their indexes or a sector, and what it costs.
#include "engine/sstable/sstable_salvage.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/coding.h"
#include "engine/sstable/sstable_frame.h"
#include "tests/engine/sstable/sstable_model.h"

namespace winnow::sstable_salvage {
namespace {

constexpr char kPath[] = "t.sst";

// A thousand entries in some hundred blocks.
SstableModel Numbers() {
  SstableModel model;
  for (int i = 1000; i < 2000; i++) {
    model[MakeInternalKey(absl::StrCat("key", i), 7, EntryType::kPut)] = std::string(300, 'v');
  }
  return model;
}

BuiltTable PlainTable() {
  SstableBuilderOptions options;
  options.compression = Compression::kNone;
  options.filter_spec = Spec("blocked_bloom:10");
  return BuildTable(Numbers(), options);
}

std::vector<SstableBlockInfo> BlocksOf(const BuiltTable& table, BlockKind kind) {
  std::vector<SstableBlockInfo> blocks;
  const auto reader = OpenSstable(table.bytes);
  EXPECT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE((*reader)
                  ->ForEachBlock([&](const SstableBlockInfo& block) {
                    if (block.kind == kind) blocks.push_back(block);
                  })
                  .ok());
  return blocks;
}

// The same table without its index: blocks have to be searched for.
std::string WithoutIndex(const BuiltTable& table) {
  std::string bytes = table.bytes;
  bytes[BlocksOf(table, BlockKind::kIndex).front().offset] ^= 1;
  return bytes;
}

struct Salvaged {
  absl::Status status;
  std::set<std::string> keys;
  std::vector<SstableProblem> problems;

  // Of the problems with this text.
  std::vector<uint64_t> Offsets(std::string_view text) const {
    std::vector<uint64_t> offsets;
    for (const SstableProblem& problem : problems) {
      if (absl::StrContains(problem.reason, ToAbsl(text))) offsets.push_back(problem.offset);
    }
    return offsets;
  }
};

Salvaged Salvage(std::unique_ptr<StringFile> file) {
  Salvaged salvaged;
  auto frame = FindSstableFrame(*file, kPath, {});
  salvaged.status = frame.status();
  if (!frame.ok()) return salvaged;
  SstableSalvage salvage(std::move(file), kPath, *std::move(frame));
  salvaged.status = salvage.Run(InternalKeyComparator(BytewiseComparator()),
                                [&](std::string_view key, std::string_view) {
                                  salvaged.keys.emplace(key);
                                  return absl::OkStatus();
                                });
  salvaged.problems = salvage.problems();
  return salvaged;
}

TEST(SstableSalvage, FindsAllBlocksWithoutAnIndex) {
  const Salvaged salvaged = Salvage(std::make_unique<StringFile>(WithoutIndex(PlainTable())));
  ASSERT_TRUE(salvaged.status.ok()) << salvaged.status;
  EXPECT_EQ(salvaged.keys.size(), 1000u);
  EXPECT_TRUE(salvaged.Offsets("no data block").empty());
}

TEST(SstableSalvage, NamesAGapAtTheEndOfTheData) {
  const BuiltTable table = PlainTable();
  const SstableBlockInfo last = BlocksOf(table, BlockKind::kData).back();
  std::string bytes = WithoutIndex(table);
  bytes[last.offset + last.stored_bytes / 2] ^= 1;
  const Salvaged salvaged = Salvage(std::make_unique<StringFile>(bytes));
  ASSERT_TRUE(salvaged.status.ok()) << salvaged.status;
  EXPECT_LT(salvaged.keys.size(), 1000u);
  EXPECT_EQ(salvaged.Offsets(absl::StrCat("no data block for ", last.stored_bytes, " bytes")),
            std::vector<uint64_t>{last.offset});
}

// The search for blocks once ended there, and with it the repair of the whole database.
TEST(SstableSalvage, PassesOverASectorThatCannotBeRead) {
  const BuiltTable table = PlainTable();
  const std::vector<SstableBlockInfo> blocks = BlocksOf(table, BlockKind::kData);
  ASSERT_GT(blocks.size(), 20u);
  const SstableBlockInfo bad = blocks[blocks.size() / 2];
  auto file = std::make_unique<StringFile>(WithoutIndex(table));
  file->bad_begin = bad.offset + bad.stored_bytes / 2;
  file->bad_end = file->bad_begin + 1;
  const uint64_t piece = file->bad_begin / 4096 * 4096;
  const Salvaged salvaged = Salvage(std::move(file));
  ASSERT_TRUE(salvaged.status.ok()) << salvaged.status;
  // All but those of blocks that lie in the piece around it.
  EXPECT_EQ(salvaged.Offsets("injected read error").size(), 1u);
  EXPECT_FALSE(salvaged.Offsets("no data block").empty());
  const auto reader = OpenSstable(table.bytes);
  ASSERT_TRUE(reader.ok()) << reader.status();
  size_t expected = 0;
  for (const SstableBlockInfo& block : blocks) {
    const bool may_be_lost =
        block.offset < piece + 2 * 4096 && block.offset + block.stored_bytes + 4096 > piece;
    if (may_be_lost) continue;
    EXPECT_TRUE(salvaged.keys.contains(block.last_key));
    expected++;
  }
  EXPECT_GT(expected, blocks.size() - 8);
}

// Reading ahead is a guess: what it meets is no error of the block that was wanted.
TEST(SstableSalvage, ReadingAheadOverABadSectorCostsNoOtherBlock) {
  const BuiltTable table = PlainTable();
  const std::vector<SstableBlockInfo> blocks = BlocksOf(table, BlockKind::kData);
  const SstableBlockInfo bad = blocks[blocks.size() / 2];
  auto owned = std::make_unique<StringFile>(table.bytes);
  owned->bad_begin = bad.offset + bad.stored_bytes / 2;
  owned->bad_end = owned->bad_begin + 1;
  const auto reader = SstableReader::Open({}, std::move(owned), kPath);
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (const size_t readahead : {size_t{0}, size_t{64} << 10, size_t{1} << 20}) {
    SstableReadOptions options;
    options.readahead_bytes = readahead;
    SstableIterator forward(**reader, options);
    std::string last;
    for (forward.SeekToFirst(); forward.Valid(); forward.Next()) last = forward.key();
    EXPECT_TRUE(absl::IsUnavailable(forward.status())) << forward.status();
    EXPECT_EQ(last, blocks[blocks.size() / 2 - 1].last_key) << readahead;
    SstableIterator backward(**reader, options);
    size_t entries = 0;
    for (backward.SeekToLast(); backward.Valid(); backward.Prev()) entries++;
    EXPECT_TRUE(absl::IsUnavailable(backward.status())) << backward.status();
    EXPECT_GT(entries, 450u) << readahead;
  }
}

// Each says that it is longer than what is read of it at first.
TEST(SstableSalvage, ValuesThatLookLikePropertiesDoNotHoldTheSearchUp) {
  std::string bait("\x0bnum_entries\x08", 13);
  bait.append(8, '\1');
  PutVarint64(&bait, uint64_t{200} << 10);
  std::string bytes(size_t{8} << 20, 'x');
  for (size_t at = 0; at < bytes.size(); at += 4096) bytes.replace(at, bait.size(), bait);
  const StringFile file(std::move(bytes));
  const auto frame = FindSstableFrame(file, kPath, {});
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->file_id, 0u);
  EXPECT_FALSE(frame->properties.has_value());
  uint64_t read_bytes = 0;
  for (const auto& [from, to] : file.reads) read_bytes += to - from;
  EXPECT_LE(read_bytes, uint64_t{512} << 20);
}

// "key1000" is a group of its own, with one value.
bool ParseWholeKey(std::string_view key, std::string_view value, SignedEntry* parsed) {
  *parsed = {.group = key, .has_value = true, .field = "f", .value = value};
  return true;
}

// Signatures lie behind the data, and are neither taken for data nor missed as such.
TEST(SstableSalvage, SignaturesAreInNobodysWay) {
  SstableBuilderOptions options;
  options.signed_entry_parser = ParseWholeKey;
  options.signed_fields = {"f"};
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    options.compression = compression;
    const BuiltTable table = BuildTable(Numbers(), options);
    const SstableBlockInfo properties = BlocksOf(table, BlockKind::kProperties).front();
    ASSERT_GT(BlocksOf(table, BlockKind::kSignatures).size(), 1u);
    // Without the footer the properties have to say where they are.
    const Salvaged cut = Salvage(
        std::make_unique<StringFile>(table.bytes.substr(0, table.bytes.size() - kFooterBytes)));
    EXPECT_EQ(cut.keys.size(), 1'000u);
    EXPECT_EQ(cut.problems.size(), 1u) << "the footer";
    std::string bytes = table.bytes;
    bytes[properties.offset] ^= 1;
    const Salvaged without_properties = Salvage(std::make_unique<StringFile>(bytes));
    EXPECT_EQ(without_properties.keys.size(), 1'000u);
    EXPECT_EQ(without_properties.problems.size(), 1u) << "the properties";
    bytes[BlocksOf(table, BlockKind::kIndex).front().offset] ^= 1;
    EXPECT_EQ(Salvage(std::make_unique<StringFile>(bytes)).keys.size(), 1'000u);
  }
}

}  // namespace
}  // namespace winnow::sstable_salvage
