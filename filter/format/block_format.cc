#include "filter/format/block_format.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "filter/planted_defect.h"
#include "winnow/filter/hash.h"

namespace winnow::filter::internal {
namespace {

static_assert(std::endian::native == std::endian::little,
              "fields and payloads are little-endian and read in place");

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

template <typename T>
T Load(std::string_view bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

template <typename T>
void Store(T value, uint64_t offset, std::string* bytes) {
  std::memcpy(bytes->data() + offset, &value, sizeof(value));
}

uint64_t Checksum(std::string_view bytes) { return HashKey(bytes, 0); }

FilterState Failure(FilterStateCode code, std::string reason) {
  return FilterState{code, std::move(reason)};
}

bool IsZero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

FilterState CheckBlockHeader(std::string_view block) {
  if (block.size() < kBlockHeaderBytes) {
    return Failure(FilterStateCode::kDamaged,
                   absl::StrCat("filter block of ", block.size(), " bytes is shorter than its ",
                                kBlockHeaderBytes, "-byte header"));
  }
  if (block.substr(kBlockMagicAt, kMagic.size()) != kMagic) {
    return Failure(FilterStateCode::kDamaged, "filter block does not begin with its magic bytes");
  }
  const int version = Load<uint8_t>(block, kBlockVersionAt);
  if (version != kFormatVersion) {
    return Failure(FilterStateCode::kUnknownVersion,
                   absl::StrCat("filter block has format version ", version,
                                ", this program knows version ", int{kFormatVersion}));
  }
  const uint64_t stored = Load<uint64_t>(block, kBlockChecksumAt);
  const uint64_t computed =
      Checksum(block.substr(kBlockVersionAt, kBlockHeaderBytes - kBlockVersionAt));
  if (stored != computed) {
    return Failure(FilterStateCode::kDamaged,
                   absl::StrCat("filter block header: checksum 0x", absl::Hex(computed),
                                ", expected 0x", absl::Hex(stored)));
  }
  const uint64_t block_bytes = Load<uint64_t>(block, kBlockBytesAt);
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
  if (!IsZero(block.substr(kBlockReservedAt, kBlockUnitCountAt - kBlockReservedAt)) ||
      !IsZero(block.substr(kBlockReserved2At, kBlockHeaderBytes - kBlockReserved2At))) {
    return Failure(FilterStateCode::kDamaged, "filter block header: reserved bytes in use");
  }
  return FilterState{};
}

// Can a whole unit be read at `offset`, and is its checksum right?
FilterState CheckUnitAt(std::string_view block, uint64_t offset) {
  const uint64_t left = block.size() - offset;
  const std::string where = absl::StrCat("filter unit at byte ", offset, ": ");
  if (left < kUnitHeaderBytes) {
    return Failure(FilterStateCode::kDamaged, absl::StrCat(where, "its header is cut off"));
  }
  const uint64_t payload_bytes = Load<uint64_t>(block, offset + kUnitPayloadBytesAt);
  // The first comparison keeps the rounding of the second from wrapping.
  if (payload_bytes > left || PaddedPayloadBytes(payload_bytes) > left - kUnitHeaderBytes) {
    return Failure(FilterStateCode::kDamaged,
                   absl::StrCat(where, "payload of ", payload_bytes, " bytes does not fit in the ",
                                left - kUnitHeaderBytes, " that are left"));
  }
  const uint64_t unit_bytes = kUnitHeaderBytes + PaddedPayloadBytes(payload_bytes);
  const uint64_t stored = Load<uint64_t>(block, offset + kUnitChecksumAt);
  const uint64_t computed =
      Checksum(block.substr(offset + kUnitPayloadBytesAt, unit_bytes - kUnitPayloadBytesAt));
  if (stored != computed && !WINNOW_DEFECT(filter_unit_checksum_not_checked)) {
    return Failure(FilterStateCode::kDamaged,
                   absl::StrCat(where, "checksum 0x", absl::Hex(computed), ", expected 0x",
                                absl::Hex(stored)));
  }
  if (Load<uint8_t>(block, offset + kUnitReservedAt) != 0) {
    return Failure(FilterStateCode::kDamaged, absl::StrCat(where, "reserved bytes in use"));
  }
  return FilterState{};
}

void WriteBlockHeader(uint32_t num_units, std::string* block) {
  block->replace(kBlockMagicAt, kMagic.size(), kMagic);
  Store<uint8_t>(kFormatVersion, kBlockVersionAt, block);
  Store<uint32_t>(num_units, kBlockUnitCountAt, block);
  Store<uint64_t>(block->size(), kBlockBytesAt, block);
  const std::string_view covered(block->data() + kBlockVersionAt,
                                 kBlockHeaderBytes - kBlockVersionAt);
  Store<uint64_t>(Checksum(covered), kBlockChecksumAt, block);
}

}  // namespace

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
  const uint64_t unit = kBlockHeaderBytes;
  Store(header.payload_bytes, unit + kUnitPayloadBytesAt, block);
  Store(header.kind, unit + kUnitKindAt, block);
  Store(header.kind_version, unit + kUnitKindVersionAt, block);
  Store(header.parameter, unit + kUnitParameterAt, block);
  Store(header.num_shards, unit + kUnitNumShardsAt, block);
  Store(header.num_keys, unit + kUnitNumKeysAt, block);
  Store(header.hash_seed, unit + kUnitHashSeedAt, block);
  Store(header.salt, unit + kUnitSaltAt, block);
  Store(header.slots_per_shard, unit + kUnitSlotsPerShardAt, block);
  Store(header.detail, unit + kUnitDetailAt, block);
  const std::string_view covered = std::string_view(*block).substr(unit + kUnitPayloadBytesAt);
  Store(Checksum(covered), unit + kUnitChecksumAt, block);
  WriteBlockHeader(1, block);
}

std::string JoinBlocks(const std::vector<std::string_view>& blocks) {
  std::string joined(kBlockHeaderBytes, '\0');
  uint32_t num_units = 0;
  for (const std::string_view block : blocks) {
    joined += block.substr(kBlockHeaderBytes);
    num_units += UnitCount(block);
  }
  WriteBlockHeader(num_units, &joined);
  return joined;
}

uint32_t UnitCount(std::string_view block) { return Load<uint32_t>(block, kBlockUnitCountAt); }

Unit NextUnit(std::string_view block, uint64_t* offset) {
  Unit unit;
  unit.header.payload_bytes = Load<uint64_t>(block, *offset + kUnitPayloadBytesAt);
  unit.header.kind = Load<uint8_t>(block, *offset + kUnitKindAt);
  unit.header.kind_version = Load<uint8_t>(block, *offset + kUnitKindVersionAt);
  unit.header.parameter = Load<uint8_t>(block, *offset + kUnitParameterAt);
  unit.header.num_shards = Load<uint32_t>(block, *offset + kUnitNumShardsAt);
  unit.header.num_keys = Load<uint64_t>(block, *offset + kUnitNumKeysAt);
  unit.header.hash_seed = Load<uint64_t>(block, *offset + kUnitHashSeedAt);
  unit.header.salt = Load<uint64_t>(block, *offset + kUnitSaltAt);
  unit.header.slots_per_shard = Load<uint64_t>(block, *offset + kUnitSlotsPerShardAt);
  unit.header.detail = Load<uint64_t>(block, *offset + kUnitDetailAt);
  unit.payload = block.substr(*offset + kUnitHeaderBytes, unit.header.payload_bytes);
  *offset += kUnitHeaderBytes + PaddedPayloadBytes(unit.header.payload_bytes);
  return unit;
}

FilterState ParseBlock(std::string_view block, std::vector<Unit>* units) {
  units->clear();
  FilterState state = CheckBlockHeader(block);
  if (state.code != FilterStateCode::kOk) return state;
  const uint32_t num_units = UnitCount(block);
  uint64_t offset = kBlockHeaderBytes;
  for (uint32_t i = 0; i < num_units; ++i) {
    state = CheckUnitAt(block, offset);
    if (state.code == FilterStateCode::kOk) {
      units->push_back(NextUnit(block, &offset));
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
