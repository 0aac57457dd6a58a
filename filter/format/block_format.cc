#include "filter/format/block_format.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "filter/format/field.h"
#include "winnow/filter/hash.h"

namespace winnow::filter::internal {
namespace {

//   | block header, 64 bytes | unit header, 64 bytes | payload | zeros to a multiple of 64 | unit
//   ...
//
//   checksum of the block header: the rest of that header
//   checksum of a unit:           the rest of its header, its payload, its padding
//
// Every byte is under a checksum, and none under two: units can be copied from block to block as
// they are. Order of checks when reading: magic and version before the checksum, so
// that a block of a newer version is reported as one and not as damaged; lengths before whatever
// they bound.

constexpr std::string_view kMagic("WNWFILTR", 8);

// Block header: offsets from the start of the block. Bytes not named are zero.
constexpr uint64_t kBlockMagicAt = 0;
constexpr uint64_t kBlockChecksumAt = 8;  // covers all later bytes of the header
constexpr uint64_t kBlockVersionAt = 16;
constexpr uint64_t kBlockReservedAt = 17;  // 3 bytes
constexpr uint64_t kBlockUnitCountAt = 20;
constexpr uint64_t kBlockBytesAt = 24;
constexpr uint64_t kBlockReserved2At = 32;  // to the end of the header

// Unit header: offsets from the start of the unit.
constexpr uint64_t kUnitChecksumAt = 0;  // covers all later bytes of the unit, padding included
constexpr uint64_t kUnitPayloadBytesAt = 8;
constexpr uint64_t kUnitKindAt = 16;
constexpr uint64_t kUnitKindVersionAt = 17;
constexpr uint64_t kUnitParameterAt = 18;
constexpr uint64_t kUnitReservedAt = 19;
constexpr uint64_t kUnitNumShardsAt = 20;
constexpr uint64_t kUnitNumKeysAt = 24;
constexpr uint64_t kUnitHashSeedAt = 32;
constexpr uint64_t kUnitSaltAt = 40;
constexpr uint64_t kUnitSlotsPerShardAt = 48;
constexpr uint64_t kUnitDetailAt = 56;

// XXH3-64 with seed 0, as of keys: it is fast on long input and there already.
uint64_t Checksum(std::string_view bytes) { return HashKey(bytes, 0); }

FilterState Failure(FilterStateCode code, std::string reason) {
  return FilterState{code, std::move(reason)};
}

// Nothing but the size of the block is known here. Every field is checked before it is used, and
// what a field promises (a length, a number of units) is compared with the block's true size.
FilterState CheckBlockHeader(std::string_view block) {
  if (block.size() < kBlockHeaderBytes) {
    return Failure(FilterStateCode::kDamaged,
                   absl::StrCat("filter block of ", block.size(), " bytes is shorter than its ",
                                kBlockHeaderBytes, "-byte header"));
  }
  if (block.substr(kBlockMagicAt, kMagic.size()) != kMagic) {
    return Failure(FilterStateCode::kDamaged, "filter block does not begin with its magic bytes");
  }
  const int version = LoadField<uint8_t>(block, kBlockVersionAt);
  if (version != kFormatVersion) {
    return Failure(FilterStateCode::kUnknownVersion,
                   absl::StrCat("filter block has format version ", version,
                                ", this program knows version ", int{kFormatVersion}));
  }
  const uint64_t stored = LoadField<uint64_t>(block, kBlockChecksumAt);
  const uint64_t computed =
      Checksum(block.substr(kBlockVersionAt, kBlockHeaderBytes - kBlockVersionAt));
  if (stored != computed) {
    return Failure(FilterStateCode::kDamaged,
                   absl::StrCat("filter block header: checksum 0x", absl::Hex(computed),
                                ", expected 0x", absl::Hex(stored)));
  }
  const uint64_t block_bytes = LoadField<uint64_t>(block, kBlockBytesAt);
  if (block_bytes != block.size()) {
    return Failure(FilterStateCode::kDamaged,
                   absl::StrCat("filter block of ", block.size(), " bytes should have ",
                                block_bytes, " bytes"));
  }
  const uint32_t num_units = UnitCount(block);
  if (num_units == 0 || num_units > kMaxUnits) {
    return Failure(FilterStateCode::kDamaged, absl::StrCat("filter block header: ", num_units,
                                                           " units, allowed are 1 to ", kMaxUnits));
  }
  if (!AreZeros(block.substr(kBlockReservedAt, kBlockUnitCountAt - kBlockReservedAt)) ||
      !AreZeros(block.substr(kBlockReserved2At, kBlockHeaderBytes - kBlockReserved2At))) {
    return Failure(FilterStateCode::kDamaged, "filter block header: reserved bytes in use");
  }
  return FilterState{};
}

// Can a whole unit be read at `offset`, and is its checksum right?
FilterState CheckUnitAt(std::string_view block, uint64_t offset, CheckedBytes checked) {
  // The caller keeps offset <= block.size().
  const uint64_t left = block.size() - offset;
  const std::string where = absl::StrCat("filter unit at byte ", offset, ": ");
  if (left < kUnitHeaderBytes) {
    return Failure(FilterStateCode::kDamaged, absl::StrCat(where, "its header is cut off"));
  }
  const uint64_t payload_bytes = LoadField<uint64_t>(block, offset + kUnitPayloadBytesAt);
  // The first comparison keeps the rounding of the second from wrapping.
  if (payload_bytes > left || PaddedPayloadBytes(payload_bytes) > left - kUnitHeaderBytes) {
    return Failure(FilterStateCode::kDamaged,
                   absl::StrCat(where, "payload of ", payload_bytes, " bytes does not fit in the ",
                                left - kUnitHeaderBytes, " that are left"));
  }
  const uint64_t unit_bytes = kUnitHeaderBytes + PaddedPayloadBytes(payload_bytes);
  if (checked == CheckedBytes::kAll) {
    const uint64_t stored = LoadField<uint64_t>(block, offset + kUnitChecksumAt);
    const uint64_t computed =
        Checksum(block.substr(offset + kUnitPayloadBytesAt, unit_bytes - kUnitPayloadBytesAt));
    if (stored != computed) {
      return Failure(FilterStateCode::kDamaged,
                     absl::StrCat(where, "checksum 0x", absl::Hex(computed), ", expected 0x",
                                  absl::Hex(stored)));
    }
  }
  if (LoadField<uint8_t>(block, offset + kUnitReservedAt) != 0) {
    return Failure(FilterStateCode::kDamaged, absl::StrCat(where, "reserved bytes in use"));
  }
  return FilterState{};
}

}  // namespace

// The checksum last, over what was written before it.
void WriteBlockHeader(uint32_t num_units, std::string* block) {
  block->replace(kBlockMagicAt, kMagic.size(), kMagic);
  StoreField<uint8_t>(kFormatVersion, kBlockVersionAt, block);
  StoreField<uint32_t>(num_units, kBlockUnitCountAt, block);
  StoreField<uint64_t>(block->size(), kBlockBytesAt, block);
  const std::string_view covered(block->data() + kBlockVersionAt,
                                 kBlockHeaderBytes - kBlockVersionAt);
  StoreField<uint64_t>(Checksum(covered), kBlockChecksumAt, block);
}

uint64_t PaddedPayloadBytes(uint64_t payload_bytes) {
  return (payload_bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::string MakeUnsealedBlock(uint64_t payload_bytes) {
  std::string block;
  ResizeUnsealedBlock(payload_bytes, &block);
  return block;
}

void ResizeUnsealedBlock(uint64_t payload_bytes, std::string* block) {
  block->resize(kBlockHeaderBytes + kUnitHeaderBytes + PaddedPayloadBytes(payload_bytes), '\0');
}

uint8_t* PayloadOf(std::string* block) {
  return reinterpret_cast<uint8_t*>(block->data()) + kBlockHeaderBytes + kUnitHeaderBytes;
}

void SealBlock(const UnitHeader& header, std::string* block) {
  // The header of the first and only unit. Bytes between the fields were zeros from the start.
  const uint64_t unit = kBlockHeaderBytes;
  StoreField(header.payload_bytes, unit + kUnitPayloadBytesAt, block);
  StoreField(header.kind, unit + kUnitKindAt, block);
  StoreField(header.kind_version, unit + kUnitKindVersionAt, block);
  StoreField(header.parameter, unit + kUnitParameterAt, block);
  StoreField(header.num_shards, unit + kUnitNumShardsAt, block);
  StoreField(header.num_keys, unit + kUnitNumKeysAt, block);
  StoreField(header.hash_seed, unit + kUnitHashSeedAt, block);
  StoreField(header.salt, unit + kUnitSaltAt, block);
  StoreField(header.slots_per_shard, unit + kUnitSlotsPerShardAt, block);
  StoreField(header.detail, unit + kUnitDetailAt, block);
  const std::string_view covered = std::string_view(*block).substr(unit + kUnitPayloadBytesAt);
  StoreField(Checksum(covered), unit + kUnitChecksumAt, block);
  WriteBlockHeader(1, block);
}

uint32_t UnitCount(std::string_view block) { return LoadField<uint32_t>(block, kBlockUnitCountAt); }

Unit NextUnit(std::string_view block, uint64_t* offset) {
  Unit unit;
  unit.header.payload_bytes = LoadField<uint64_t>(block, *offset + kUnitPayloadBytesAt);
  unit.header.kind = LoadField<uint8_t>(block, *offset + kUnitKindAt);
  unit.header.kind_version = LoadField<uint8_t>(block, *offset + kUnitKindVersionAt);
  unit.header.parameter = LoadField<uint8_t>(block, *offset + kUnitParameterAt);
  unit.header.num_shards = LoadField<uint32_t>(block, *offset + kUnitNumShardsAt);
  unit.header.num_keys = LoadField<uint64_t>(block, *offset + kUnitNumKeysAt);
  unit.header.hash_seed = LoadField<uint64_t>(block, *offset + kUnitHashSeedAt);
  unit.header.salt = LoadField<uint64_t>(block, *offset + kUnitSaltAt);
  unit.header.slots_per_shard = LoadField<uint64_t>(block, *offset + kUnitSlotsPerShardAt);
  unit.header.detail = LoadField<uint64_t>(block, *offset + kUnitDetailAt);
  unit.payload = block.substr(*offset + kUnitHeaderBytes, unit.header.payload_bytes);
  *offset += kUnitHeaderBytes + PaddedPayloadBytes(unit.header.payload_bytes);
  return unit;
}

FilterState ParseUnit(std::string_view bytes, Unit* unit) {
  *unit = Unit();
  FilterState state = CheckUnitAt(bytes, 0, CheckedBytes::kAll);
  if (state.code != FilterStateCode::kOk) return state;
  uint64_t offset = 0;
  *unit = NextUnit(bytes, &offset);
  if (offset == bytes.size()) return state;
  return Failure(FilterStateCode::kDamaged, absl::StrCat("filter unit of ", offset, " bytes where ",
                                                         bytes.size(), " are expected"));
}

uint64_t UnitChecksum(std::string_view unit_bytes) {
  return LoadField<uint64_t>(unit_bytes, kUnitChecksumAt);
}

// Units are under checksums of their own, and moved as they are.
std::string BlockOfAllUnits(const std::vector<std::string>& blocks) {
  std::string joined(kBlockHeaderBytes, '\0');
  for (const std::string& block : blocks) joined.append(block, kBlockHeaderBytes);
  WriteBlockHeader(static_cast<uint32_t>(blocks.size()), &joined);
  return joined;
}

FilterState ParseBlock(std::string_view block, std::vector<Unit>* units, CheckedBytes checked) {
  // `offset` walks from unit to unit and never passes the end: CheckUnitAt accepts a unit only if
  // all of it lies in the block, and kMaxUnits bounds the walk.
  units->clear();
  FilterState state = CheckBlockHeader(block);
  if (state.code != FilterStateCode::kOk) return state;
  const uint32_t num_units = UnitCount(block);
  uint64_t offset = kBlockHeaderBytes;
  for (uint32_t i = 0; i < num_units; ++i) {
    state = CheckUnitAt(block, offset, checked);
    if (state.code == FilterStateCode::kOk) {
      units->push_back(NextUnit(block, &offset));
      // One hash is made for all units of a block.
      if (units->back().header.hash_seed == units->front().header.hash_seed) continue;
      state = Failure(FilterStateCode::kDamaged, "filter units have different hash seeds");
    }
    units->clear();
    return state;
  }
  if (offset != block.size()) {
    units->clear();
    return Failure(
        FilterStateCode::kDamaged,
        absl::StrCat("filter block has ", block.size() - offset, " bytes after its last unit"));
  }
  return state;
}

}  // namespace winnow::filter::internal
