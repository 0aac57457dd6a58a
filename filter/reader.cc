#include "winnow/filter/reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "filter/format/block_format.h"
#include "filter/kinds/kind.h"
#include "filter/registry/registry.h"
#include "filter/simd/block_batch.h"
#include "winnow/filter/hash.h"

namespace winnow::filter {
namespace {

static_assert(kFilterBlockHeaderBytes == internal::kBlockHeaderBytes);

// A block holds units, which are ANDed: a key may be in the block if every unit may contain it. A
// unit of a kind or version that is not understood counts as "may contain", since the others are
// still right about what they refute. A damaged unit makes the whole block unusable: what damaged
// one may have damaged the others.

enum class UnitCheck : uint8_t { kReadable, kEmpty, kUnknownKind, kUnknownVersion, kDamaged };

UnitCheck CheckUnit(const internal::UnitHeader& header) {
  if (internal::FindKind(static_cast<FilterKind>(header.kind)) == nullptr) {
    return UnitCheck::kUnknownKind;
  }
  const internal::KindOperations* operations = internal::FindLayout(header);
  if (operations == nullptr) return UnitCheck::kUnknownVersion;
  // All four, so that no single field can turn a filter of keys into one that refutes them.
  if (header.payload_bytes == 0 && header.num_keys == 0 && header.num_shards == 0 &&
      header.slots_per_shard == 0) {
    return UnitCheck::kEmpty;
  }
  return operations->is_consistent(header) ? UnitCheck::kReadable : UnitCheck::kDamaged;
}

FilterState StateOf(UnitCheck check, const internal::UnitHeader& header) {
  const int kind = header.kind;
  switch (check) {
    case UnitCheck::kReadable:
    case UnitCheck::kEmpty:
      return FilterState{};
    case UnitCheck::kUnknownKind:
      return FilterState{FilterStateCode::kUnknownKind,
                         absl::StrCat("filter unit of kind ", kind, ", unknown to this program")};
    case UnitCheck::kUnknownVersion:
      return FilterState{FilterStateCode::kUnknownVersion,
                         absl::StrCat("filter unit of kind ", kind, " has version ",
                                      int{header.kind_version}, ", unknown to this program")};
    case UnitCheck::kDamaged:
      break;
  }
  return FilterState{
      FilterStateCode::kDamaged,
      absl::StrCat("filter unit of kind ", kind, ": its header's fields contradict its payload of ",
                   header.payload_bytes, " bytes")};
}

// Calls visit(operations, view) for those units of a block which can be queried, until one call
// returns false. Returns what the last one did.
template <typename Visitor>
bool ForEachReadableUnit(std::string_view block, const Visitor& visit) {
  // Checks each unit anew, rather than keep a list of them: a reader is a value without an
  // allocation, and several units are rare.
  uint64_t offset = internal::kBlockHeaderBytes;
  for (uint32_t left = internal::UnitCount(block); left > 0; --left) {
    const internal::Unit unit = internal::NextUnit(block, &offset);
    if (CheckUnit(unit.header) != UnitCheck::kReadable) continue;
    const internal::KindOperations& operations = *internal::FindLayout(unit.header);
    if (!visit(operations, internal::MakeUnitView(operations, unit))) return false;
  }
  return true;
}

// The answers of the modes that are not one unit's.
bool AnswerTrue(const internal::UnitView& /*unit*/, uint64_t /*key_hash*/) { return true; }
bool AnswerFalse(const internal::UnitView& /*unit*/, uint64_t /*key_hash*/) { return false; }

// FilterReader calls one function with one UnitView, in all modes. Here the view is the block: its
// first byte and its length, nothing of which is read by anybody else.
bool QueryAllUnits(const internal::UnitView& whole_block, uint64_t key_hash) {
  const std::string_view block(reinterpret_cast<const char*>(whole_block.payload),
                               whole_block.num_slots);
  return ForEachReadableUnit(block, [key_hash](const auto& operations, const auto& unit) {
    return operations.may_contain(unit, key_hash);
  });
}

}  // namespace

FilterReader::FilterReader() : may_contain_(&AnswerTrue) {}

FilterReader FilterReader::Open(std::string_view block, FilterState* state) {
  FilterState ignored;
  if (state == nullptr) state = &ignored;
  std::vector<internal::Unit> units;
  *state = internal::ParseBlock(block, &units);
  return OpenUnits(block, units, state);
}

FilterReader FilterReader::OpenUnchecked(std::string_view block, FilterState* state) {
  FilterState ignored;
  if (state == nullptr) state = &ignored;
  std::vector<internal::Unit> units;
  *state = internal::ParseBlock(block, &units, internal::CheckedBytes::kBlockHeader);
  return OpenUnits(block, units, state);
}

FilterReader FilterReader::OpenUnit(std::string_view unit, uint64_t checksum, FilterState* state) {
  FilterState ignored;
  if (state == nullptr) state = &ignored;
  std::vector<internal::Unit> units(1);
  *state = internal::ParseUnit(unit, &units[0]);
  if (state->code == FilterStateCode::kOk && internal::UnitChecksum(unit) != checksum) {
    *state = {FilterStateCode::kDamaged, "filter unit: it is another one than is expected"};
  }
  FilterReader reader = OpenUnits(unit, units, state);
  reader.block_ = {};  // there is none to describe
  return reader;
}

// `units` are what ParseBlock made of `block`, and `*state` what it said of it.
FilterReader FilterReader::OpenUnits(std::string_view block,
                                     const std::vector<internal::Unit>& units, FilterState* state) {
  if (state->code != FilterStateCode::kOk) return FilterReader();
  FilterReader reader;
  reader.block_ = block;
  size_t num_understood = 0;
  const internal::Unit* first_understood = nullptr;
  bool refutes_all = false;
  for (const internal::Unit& unit : units) {
    const UnitCheck check = CheckUnit(unit.header);
    if (check == UnitCheck::kDamaged) {
      *state = StateOf(check, unit.header);
      return FilterReader();
    }
    if (check != UnitCheck::kReadable && check != UnitCheck::kEmpty) {
      // The units are ANDed: the others are still right about what they refute.
      *state = StateOf(check, unit.header);
      continue;
    }
    // A unit without keys refutes everything, and so does the AND with it.
    refutes_all |= check == UnitCheck::kEmpty;
    if (num_understood++ == 0) {
      reader.kind_ = static_cast<FilterKind>(unit.header.kind);
      reader.hash_seed_ = unit.header.hash_seed;
      first_understood = &unit;
      reader.operations_ = internal::FindLayout(unit.header);
    }
  }
  if (num_understood == 0) return FilterReader();
  if (refutes_all) {
    reader.mode_ = Mode::kAlwaysFalse;
    reader.may_contain_ = &AnswerFalse;
  } else if (num_understood > 1) {
    reader.mode_ = Mode::kManyUnits;
    reader.may_contain_ = &QueryAllUnits;
    reader.unit_ = {.payload = reinterpret_cast<const uint8_t*>(block.data()),
                    .num_slots = block.size()};
  } else {
    // A mode of its own for the usual kind: its prefetch is inlined into the caller.
    // With a salt the hash is not that of the block.
    const bool asks_as_is =
        reader.kind_ == FilterKind::kBlockedBloom && first_understood->header.salt == 0;
    reader.mode_ = asks_as_is ? Mode::kBlockedBloom : Mode::kOneUnit;
    // Only here, where the fields of the header have been found sound: an empty unit's are not
    // read.
    reader.unit_ = internal::MakeUnitView(*reader.operations_, *first_understood);
    reader.may_contain_ = reader.operations_->may_contain_of != nullptr
                              ? reader.operations_->may_contain_of(reader.unit_)
                              : reader.operations_->may_contain;
  }
  return reader;
}

void FilterReader::PrefetchGeneral(uint64_t key_hash) const {
  if (mode_ == Mode::kOneUnit) operations_->prefetch(unit_, key_hash);
  if (mode_ != Mode::kManyUnits) return;
  ForEachReadableUnit(block_, [key_hash](const auto& operations, const auto& unit) {
    operations.prefetch(unit, key_hash);
    return true;
  });
}

void FilterReader::MayContainBatch(const std::string_view* keys, size_t count,
                                   uint8_t* may_contain) const {
  // Only blocked_bloom hashes and fetches in one pass.
  if (mode_ != Mode::kBlockedBloom) return HashAndQuery(keys, count, may_contain);
  internal::BlocksContainKeys(unit_, hash_seed_, keys, count, may_contain);
}

void FilterReader::HashAndQuery(const std::string_view* keys, size_t count,
                                uint8_t* may_contain) const {
  std::array<uint64_t, internal::kMaxBatch> hashes;
  for (size_t begin = 0; begin < count; begin += internal::kMaxBatch) {
    const size_t size = std::min(internal::kMaxBatch, count - begin);
    HashKeys(keys + begin, size, hash_seed_, hashes.data());
    MayContainBatch(hashes.data(), size, may_contain + begin);
  }
}

void FilterReader::MayContainBatch(const uint64_t* key_hashes, size_t count,
                                   uint8_t* may_contain) const {
  switch (mode_) {
    case Mode::kAlwaysTrue:
    case Mode::kAlwaysFalse:
      std::memset(may_contain, mode_ == Mode::kAlwaysTrue ? 1 : 0, count);
      return;
    case Mode::kBlockedBloom:
    case Mode::kOneUnit:
      for (size_t begin = 0; begin < count; begin += internal::kMaxBatch) {
        operations_->may_contain_batch(unit_, key_hashes + begin,
                                       std::min(internal::kMaxBatch, count - begin),
                                       may_contain + begin);
      }
      return;
    case Mode::kManyUnits:
      break;
  }
  // Several units: all lines of all of them first, then one query after the other.
  for (size_t i = 0; i < count; ++i) PrefetchGeneral(key_hashes[i]);
  for (size_t i = 0; i < count; ++i) may_contain[i] = MayContain(key_hashes[i]) ? 1 : 0;
}

FilterInfo FilterReader::Describe() const {
  FilterInfo info;
  if (always_true() || block_.empty()) return info;
  info.num_bytes = block_.size();
  info.num_units = internal::UnitCount(block_);
  uint64_t offset = internal::kBlockHeaderBytes;
  for (uint32_t i = 0; i < info.num_units; ++i) {
    const internal::Unit unit = internal::NextUnit(block_, &offset);
    const UnitCheck check = CheckUnit(unit.header);
    if (check != UnitCheck::kReadable && check != UnitCheck::kEmpty) continue;
    internal::UnitDescription description;
    description.expected_fpr = 0;
    const internal::KindOperations* operations = internal::FindLayout(unit.header);
    if (check == UnitCheck::kReadable) description = operations->describe(unit);
    // Units refute independently of each other.
    info.expected_fpr *= description.expected_fpr;
    if (info.kind != FilterKind::kNone) continue;
    info.kind = kind_;
    info.layout = operations->word;
    info.hash_seed = hash_seed_;
    info.num_keys = unit.header.num_keys;
    info.probes = description.probes;
    info.fingerprint_bits = description.fingerprint_bits;
    info.num_shards = unit.header.num_shards;
    info.salt = unit.header.salt;
    info.fill = description.fill;
  }
  if (info.num_keys != 0) {
    info.bits_per_key =
        static_cast<double>(info.num_bytes) * 8 / static_cast<double>(info.num_keys);
  }
  return info;
}

}  // namespace winnow::filter
