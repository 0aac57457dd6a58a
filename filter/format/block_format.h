// The filter block's bytes, as FORMAT.md specifies them: a block header, then units, each with a
// header and a payload. This pair of files is the only one that knows offsets.

#ifndef WINNOW_FILTER_FORMAT_BLOCK_FORMAT_H_
#define WINNOW_FILTER_FORMAT_BLOCK_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "winnow/filter/filter_state.h"

namespace winnow::filter::internal {

inline constexpr uint64_t kAlignment = 64;
inline constexpr uint64_t kBlockHeaderBytes = 64;
inline constexpr uint64_t kUnitHeaderBytes = 64;
inline constexpr uint8_t kFormatVersion = 1;
inline constexpr uint32_t kMaxUnits = 16;

// A unit header's fields, without its checksum. `kind` stays a number: it may be one that this
// version does not know.
struct UnitHeader {
  uint8_t kind = 0;
  uint8_t kind_version = 1;
  uint8_t parameter = 0;
  uint32_t num_shards = 0;
  uint64_t num_keys = 0;
  uint64_t hash_seed = 0;
  uint64_t salt = 0;
  uint64_t slots_per_shard = 0;
  uint64_t detail = 0;  // by kind
  uint64_t payload_bytes = 0;
};

// One unit in place: its header and the borrowed bytes of its payload.
struct Unit {
  UnitHeader header;
  std::string_view payload;
};

// `payload_bytes` and the padding after it.
uint64_t PaddedPayloadBytes(uint64_t payload_bytes);

// A block of one unit whose payload is all zeros, headers unset: fill in the payload at
// PayloadOf(&block), then call SealBlock.
std::string MakeUnsealedBlock(uint64_t payload_bytes);
uint8_t* PayloadOf(std::string* block);
// Cuts off the end of the payload or adds zeros to it.
void ResizeUnsealedBlock(uint64_t payload_bytes, std::string* block);

// Writes the block's header, for `num_units` units that lie behind it.
void WriteBlockHeader(uint32_t num_units, std::string* block);

// Writes both headers and their checksums.
void SealBlock(const UnitHeader& header, std::string* block);

// What checksums ParseBlock computes: all, which reads every byte, or the block header's alone.
enum class CheckedBytes { kAll, kBlockHeader };

// Splits a block into units, checking lengths, padding and checksums, but not what is special to a
// kind. On failure `*units` is empty.
FilterState ParseBlock(std::string_view block, std::vector<Unit>* units,
                       CheckedBytes checked = CheckedBytes::kAll);

// The same for a unit by itself, with all its checks; it fills `bytes`.
FilterState ParseUnit(std::string_view bytes, Unit* unit);
// The checksum that a unit of at least a header's length records of itself.
uint64_t UnitChecksum(std::string_view unit_bytes);

// Puts blocks of one unit together to one that has all of their units, in this order.
std::string BlockOfAllUnits(const std::vector<std::string>& blocks);

// Reads the unit at `offset` of a block that ParseBlock has accepted, and moves `*offset` to the
// next. Allocates nothing.
Unit NextUnit(std::string_view block, uint64_t* offset);
uint32_t UnitCount(std::string_view block);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_FORMAT_BLOCK_FORMAT_H_
