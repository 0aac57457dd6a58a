// filter/FORMAT.md is true: its example is built again and compared, byte for byte.

#include "filter/format/block_format.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "filter/kinds/kind.h"
#include "filter/registry/registry.h"
#include "tests/filter/filter_fixture.h"
#include "tests/filter/joined_blocks.h"
#include "winnow/filter/hash.h"

namespace winnow::filter {
namespace {

// Sixteen bytes a line: offset and hexadecimal bytes, as the document prints them.
std::string HexDump(std::string_view bytes) {
  std::string dump;
  char text[32];
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % 16 == 0) {
      std::snprintf(text, sizeof(text), "%04zx ", i);
      dump += text;
    }
    std::snprintf(text, sizeof(text), " %02x", static_cast<unsigned char>(bytes[i]));
    dump += text;
    if (i % 16 == 15) dump += '\n';
  }
  return dump;
}

// The document's dumps by spec, without what is said beside them. A dump may leave out what comes
// before the unit.
std::map<std::string, std::string> DumpsInDocument(const std::string& path) {
  constexpr std::string_view kFence = "```hexdump ";
  std::ifstream file(path);
  std::map<std::string, std::string> dumps;
  std::string* dump = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, kFence.size(), kFence) == 0) {
      dump = &dumps[line.substr(kFence.size())];
    } else if (line == "```") {
      dump = nullptr;
    } else if (dump != nullptr) {
      constexpr size_t kDumpColumns = 5 + 16 * 3;
      *dump += line.substr(0, kDumpColumns) + "\n";
    }
  }
  return dumps;
}

BuiltFilter DocumentedFilter(const std::string& spec) {
  auto builder = FilterBuilder::Create(*ParseFilterSpec(spec), 0x0123456789abcdef);
  for (const char* key : {"apple", "banana", "cherry"}) {
    (*builder)->Add(HashKey(key, 0x0123456789abcdef));
  }
  return (*builder)->Finish();
}

TEST(FormatTest, TheDocumentsExamplesAreWhatIsBuilt) {
  const std::map<std::string, std::string> dumps = DumpsInDocument(WINNOW_FILTER_FORMAT_DOCUMENT);
  std::set<const internal::KindOperations*> documented;
  for (const auto& [spec, dump] : dumps) {
    const BuiltFilter built = DocumentedFilter(spec);
    const FilterSpec parsed = *ParseFilterSpec(spec);
    documented.insert(internal::FindLayout(parsed.kind, parsed.words));
    const std::string expected = HexDump(built.block);
    ASSERT_LE(dump.size(), expected.size()) << spec;
    EXPECT_EQ(dump, expected.substr(expected.size() - dump.size()))
        << spec << ": the block, the document, or the hash has changed";
    EXPECT_GE(dump.size(), expected.size() - 4 * (5 + 16 * 3 + 1)) << "the unit must be whole";
  }
  EXPECT_EQ(documented.size(), internal::AllKinds().size()) << "a kind or layout has no example";
}

// The bytes of each kind, held fast by a hash: a change here is a new format version, unless
// readers before it answer the new bytes right and those after it the old ones.
TEST(FormatTest, TheBytesOfEachKindNeverChange) {
  const std::vector<uint64_t> hashes = MemberHashes(1, 2000);
  EXPECT_EQ(HashKey(BuildFrom("bloom:10", hashes).block, 0), 5030885799962387562u);
  EXPECT_EQ(HashKey(BuildFrom("blocked_bloom:10", hashes).block, 0), 2600897135251578217u);
  EXPECT_EQ(HashKey(BuildFrom("cuckoo:10", hashes).block, 0), 509125653794503747u);
  EXPECT_EQ(HashKey(BuildFrom("cuckoo:10:semi_sorted", hashes).block, 0), 6742466444472760262u);
  EXPECT_EQ(HashKey(BuildFrom("cuckoo:20:semi_sorted", hashes).block, 0), 474100699733925146u);
  EXPECT_EQ(HashKey(BuildFrom("binary_fuse:10", hashes).block, 0), 80277488753765178u);
  EXPECT_EQ(HashKey(BuildFrom("ribbon:10", hashes).block, 0), 1981347710149571752u);
  // With shards, further layers and a ternary column.
  EXPECT_EQ(HashKey(BuildFrom("ribbon:7.3", MemberHashes(1, 300'000)).block, 0),
            2708580298916541818u);
  EXPECT_EQ(HashKey(BuildFrom("ribbon:7.3", MemberHashes(1, 1'000'000)).block, 0),
            16070592260537511042u);
}

// Documented filters as earlier versions built them, which treated the keys in another order.
struct EarlierUnit {
  const char* spec;
  std::string_view hex;  // without the zeros at its end
};
constexpr EarlierUnit kEarlierUnits[] = {
    {"binary_fuse:10",
     "0aa3528a5829a6061a00000000000000040109000100000003000000000000"
     "00efcdab89674523010000000000000000100000000000000002000000000000"
     "00000000000000000000007a0000000006"
     "00c7"},
    {"cuckoo:10",
     "a09c1c63aea213931100000000000000030109000100000003000000000000"
     "00efcdab89674523010000000000000000020000000000000000000000000000"
     "00000000004056ae38"},
};

TEST(FormatTest, FiltersOfEarlierBuildersAreAnswered) {
  for (const EarlierUnit& earlier : kEarlierUnits) {
    const BuiltFilter built = DocumentedFilter(earlier.spec);
    std::string block = built.block.substr(0, internal::kBlockHeaderBytes);
    for (size_t i = 0; i < earlier.hex.size(); i += 2) {
      block += static_cast<char>(std::stoi(std::string(earlier.hex.substr(i, 2)), nullptr, 16));
    }
    block.resize(built.block.size(), '\0');
    ASSERT_NE(block, built.block);
    FilterState state;
    const FilterReader reader = FilterReader::Open(block, &state);
    ASSERT_EQ(state.code, FilterStateCode::kOk) << earlier.spec << ": " << state.reason;
    const auto may_contain = [&](const std::string& key) {
      return reader.MayContain(HashKey(key, reader.hash_seed()));
    };
    for (const char* key : {"apple", "banana", "cherry"}) EXPECT_TRUE(may_contain(key)) << key;
    int num_refuted = 0;
    for (int i = 0; i < 1000; ++i)
      num_refuted += may_contain("absent " + std::to_string(i)) ? 0 : 1;
    EXPECT_GT(num_refuted, 970) << earlier.spec;
  }
}

TEST(FormatTest, PayloadsBeginAtMultiplesOf64) {
  for (const char* spec : AllKindSpecs()) {
    const std::string block = BuildFrom(spec, MemberHashes(2, 77)).block;
    EXPECT_EQ(block.size() % 64, 0u);
    std::vector<internal::Unit> units;
    ASSERT_EQ(internal::ParseBlock(block, &units).code, FilterStateCode::kOk);
    EXPECT_EQ((units.at(0).payload.data() - block.data()) % 64, 0);
  }
}

TEST(FormatTest, JoinedBlocksGiveBackTheirUnits) {
  const std::string first = BuildFrom("bloom:10", MemberHashes(3, 100)).block;
  const std::string second = BuildFrom("cuckoo:12", MemberHashes(3, 100)).block;
  const std::string joined = internal::JoinBlocks({first, second, first});
  std::vector<internal::Unit> units;
  ASSERT_EQ(internal::ParseBlock(joined, &units).code, FilterStateCode::kOk);
  ASSERT_EQ(units.size(), 3u);
  std::vector<internal::Unit> alone;
  ASSERT_EQ(internal::ParseBlock(second, &alone).code, FilterStateCode::kOk);
  EXPECT_EQ(units[1].payload, alone[0].payload);
  EXPECT_EQ(units[1].header.kind, alone[0].header.kind);
  EXPECT_EQ(units[2].header.num_keys, 100u);
}

}  // namespace
}  // namespace winnow::filter
