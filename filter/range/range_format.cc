#include "filter/range/range_format.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "filter/format/field.h"

namespace winnow::filter::internal {
namespace {

//   | header, 80 bytes | directory | upper halves | low halves, 8 zeros | prefix |
//
// The checksum covers all that follows it. Order of checks when reading: magic and version before
// the checksum, so that a block of a newer version is reported as one and not as damaged; lengths
// before what they bound.

constexpr std::string_view kMagic("WNWRANGE", 8);
constexpr uint8_t kFormatVersion = 2;
constexpr uint64_t kMaxUniverse = uint64_t{1} << 63;

constexpr uint64_t kMagicAt = 0;
constexpr uint64_t kChecksumAt = 8;
constexpr uint64_t kVersionAt = 16;
constexpr uint64_t kLowBitsAt = 17;
constexpr uint64_t kExactAt = 18;
constexpr uint64_t kNumberBytesAt = 19;
constexpr uint64_t kPrefixBytesAt = 20;
constexpr uint64_t kNumCodesAt = 24;
constexpr uint64_t kUniverseAt = 32;
constexpr uint64_t kSmallestAt = 40;
constexpr uint64_t kLargestAt = 48;
constexpr uint64_t kHashSeedAt = 56;
constexpr uint64_t kBlockBytesAt = 64;
constexpr uint64_t kShortestBytesAt = 72;
constexpr uint64_t kPieceBitsAt = 73;
constexpr uint64_t kReservedAt = 74;  // to the end of the header
constexpr uint64_t kHeaderBytes = 80;

// So many zeros follow the low halves that the last can be loaded with eight bytes.
constexpr uint64_t kLowPadding = 8;

FilterState RangeDamage(std::string reason) {
  return FilterState{FilterStateCode::kDamaged, absl::StrCat("range filter: ", reason)};
}

uint64_t ChecksumOf(std::string_view block) { return HashKey(block.substr(kVersionAt), 0); }

bool FieldsMakeSense(const RangeHeader& header) {
  // One form for the filter without keys: whatever would describe codes is zero.
  if (header.num_codes == 0) {
    return header.universe == 0 && header.low_bits == 0 && !header.is_exact &&
           header.smallest == 0 && header.largest == 0 && header.prefix_bytes == 0 &&
           header.number_bytes == 0 && header.shortest_bytes == 0 && header.piece_bits == 0;
  }
  // Up to 2^63, so that adding two codes cannot overflow (CodeOfNumber).
  if (header.universe == 0 || header.universe > kMaxUniverse) return false;
  if (header.low_bits > kMaxLowBits || header.smallest > header.largest) return false;
  if (header.number_bytes > sizeof(uint64_t)) return false;
  if (header.shortest_bytes > header.number_bytes) return false;
  // Codes are distinct.
  if (header.num_codes > header.universe) return false;
  // Codes that are the numbers themselves end with the largest, and know no pieces.
  if (header.is_exact) {
    return header.largest - header.smallest == header.universe - 1 && header.piece_bits == 0;
  }
  return header.piece_bits < 64 && uint64_t{1} << header.piece_bits <= header.universe;
}

// Do the directory and the upper halves agree with each other and the header? All that readers
// find by them then lies inside the block.
FilterState CheckHighBits(std::string_view block, const RangeHeader& header,
                          const RangeLayout& layout) {
  uint64_t zeros = 0;
  uint64_t ones = 0;
  for (uint64_t bit = 0; bit < layout.num_high_bits; bit += 64) {
    if (bit % kDirectoryStride == 0) {
      const uint64_t entry_at = layout.directory_at + bit / kDirectoryStride * sizeof(uint64_t);
      if (LoadField<uint64_t>(block, entry_at) != zeros) {
        return RangeDamage(absl::StrCat("wrong directory entry at byte ", entry_at));
      }
    }
    const uint64_t word = LoadField<uint64_t>(block, layout.high_at + bit / 8);
    const auto ones_here = static_cast<uint64_t>(std::popcount(word));
    // Only the last word may have bits that are none of the upper halves'.
    const uint64_t bits_here = std::min<uint64_t>(64, layout.num_high_bits - bit);
    if (bits_here < 64 && word >> bits_here != 0) return RangeDamage("bits behind the last group");
    ones += ones_here;
    zeros += bits_here - ones_here;
  }
  if (ones != header.num_codes) {
    return RangeDamage(absl::StrCat(ones, " codes, the header says ", header.num_codes));
  }
  // As many zeros as groups; and the last bit ends the last group, so that every group has its end.
  const uint64_t last = layout.num_high_bits - 1;
  const uint64_t last_word = LoadField<uint64_t>(block, layout.high_at + last / 64 * 8);
  if ((last_word >> (last % 64) & 1) != 0) return RangeDamage("the last group has no end");
  return FilterState{};
}

}  // namespace

bool LayOut(const RangeHeader& header, RangeLayout* layout) {
  *layout = RangeLayout{};
  // The header's numbers may be anything up to 2^64. Once their products are known to be below 2^62
  // bits, no sum of offsets overflows.
  constexpr auto kMostBits = static_cast<unsigned __int128>(uint64_t{1} << 62);
  uint64_t end = kHeaderBytes;
  if (header.num_codes != 0) {
    // The group of the largest code, universe - 1, is the last.
    layout->num_groups = ((header.universe - 1) >> header.low_bits) + 1;
    const auto high_bits = static_cast<unsigned __int128>(header.num_codes) + layout->num_groups;
    const auto low_bits = static_cast<unsigned __int128>(header.num_codes) * header.low_bits;
    if (high_bits > kMostBits || low_bits > kMostBits) return false;
    layout->num_high_bits = static_cast<uint64_t>(high_bits);
    layout->directory_at = end;
    end += (layout->num_high_bits + kDirectoryStride - 1) / kDirectoryStride * sizeof(uint64_t);
    layout->high_at = end;
    end += (layout->num_high_bits + 63) / 64 * sizeof(uint64_t);
    layout->low_at = end;
    end += (static_cast<uint64_t>(low_bits) + 7) / 8 + kLowPadding;
  }
  layout->prefix_at = end;
  layout->block_bytes = end + header.prefix_bytes;
  return true;
}

std::string MakeUnsealedRangeBlock(const RangeHeader& header, const RangeLayout& layout) {
  std::string block(layout.block_bytes, '\0');
  block.replace(kMagicAt, kMagic.size(), kMagic);
  StoreField<uint8_t>(kFormatVersion, kVersionAt, &block);
  StoreField<uint8_t>(header.low_bits, kLowBitsAt, &block);
  StoreField<uint8_t>(header.is_exact ? 1 : 0, kExactAt, &block);
  StoreField<uint8_t>(header.number_bytes, kNumberBytesAt, &block);
  StoreField<uint32_t>(header.prefix_bytes, kPrefixBytesAt, &block);
  StoreField<uint64_t>(header.num_codes, kNumCodesAt, &block);
  StoreField<uint64_t>(header.universe, kUniverseAt, &block);
  StoreField<uint64_t>(header.smallest, kSmallestAt, &block);
  StoreField<uint64_t>(header.largest, kLargestAt, &block);
  StoreField<uint64_t>(header.hash_seed, kHashSeedAt, &block);
  StoreField<uint64_t>(layout.block_bytes, kBlockBytesAt, &block);
  StoreField<uint8_t>(header.shortest_bytes, kShortestBytesAt, &block);
  StoreField<uint8_t>(header.piece_bits, kPieceBitsAt, &block);
  return block;
}

void SealRangeBlock(std::string* block) {
  StoreField<uint64_t>(ChecksumOf(*block), kChecksumAt, block);
}

FilterState ParseRangeBlock(std::string_view block, RangeHeader* header, RangeLayout* layout) {
  if (block.size() < kHeaderBytes) {
    return RangeDamage(
        absl::StrCat("its ", block.size(), " bytes are fewer than its header's ", kHeaderBytes));
  }
  if (block.substr(kMagicAt, kMagic.size()) != kMagic) {
    return RangeDamage("does not begin with its magic bytes");
  }
  const int version = LoadField<uint8_t>(block, kVersionAt);
  // Not damage: a newer program wrote it, and this one does without.
  if (version != kFormatVersion) {
    return FilterState{FilterStateCode::kUnknownVersion,
                       absl::StrCat("range filter of format version ", version,
                                    ", this program knows version ", int{kFormatVersion})};
  }
  const uint64_t stored = LoadField<uint64_t>(block, kChecksumAt);
  const uint64_t computed = ChecksumOf(block);
  if (stored != computed) {
    return RangeDamage(
        absl::StrCat("checksum 0x", absl::Hex(computed), ", expected 0x", absl::Hex(stored)));
  }
  // A byte and no bool yet: all values but 0 and 1 are refused below.
  const auto exact = LoadField<uint8_t>(block, kExactAt);
  *header = RangeHeader{.low_bits = LoadField<uint8_t>(block, kLowBitsAt),
                        .is_exact = exact == 1,
                        .number_bytes = LoadField<uint8_t>(block, kNumberBytesAt),
                        .shortest_bytes = LoadField<uint8_t>(block, kShortestBytesAt),
                        .piece_bits = LoadField<uint8_t>(block, kPieceBitsAt),
                        .num_codes = LoadField<uint64_t>(block, kNumCodesAt),
                        .universe = LoadField<uint64_t>(block, kUniverseAt),
                        .smallest = LoadField<uint64_t>(block, kSmallestAt),
                        .largest = LoadField<uint64_t>(block, kLargestAt),
                        .hash_seed = LoadField<uint64_t>(block, kHashSeedAt),
                        .prefix_bytes = LoadField<uint32_t>(block, kPrefixBytesAt)};
  if (exact > 1 || !AreZeros(block.substr(kReservedAt, kHeaderBytes - kReservedAt)) ||
      !FieldsMakeSense(*header)) {
    return RangeDamage("fields of its header contradict each other");
  }
  // Sizes are compared before the header's numbers lead to any byte.
  if (!LayOut(*header, layout) || layout->block_bytes != block.size() ||
      LoadField<uint64_t>(block, kBlockBytesAt) != block.size()) {
    return RangeDamage(
        absl::StrCat("its header describes other than its ", block.size(), " bytes"));
  }
  if (header->num_codes == 0) return FilterState{};
  return CheckHighBits(block, *header, *layout);
}

}  // namespace winnow::filter::internal
