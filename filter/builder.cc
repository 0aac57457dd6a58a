#include "winnow/filter/builder.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "filter/format/block_format.h"
#include "filter/registry/registry.h"
#include "winnow/filter/reader.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter {
namespace {

// How Finish comes to a block:
//
//   spec --ChooseFilter--> kind --up to max_attempts, each with another salt--> block
//                            |                                                    | verified?
//                            +-- all failed --> blocked_bloom --all failed--> no filter

// Is every hash found?
bool HoldsAll(const FilterReader& reader, const internal::HashList& hashes) {
  bool all_found = true;
  hashes.ForEachRun([&](const uint64_t* run, size_t count) {
    for (size_t i = 0; i < count; ++i) all_found &= reader.MayContain(run[i]);
  });
  return all_found;
}

// A filter of no key: a unit without payload, which refutes everything.
std::string EmptyFilterBlock(const internal::KindOperations& operations, uint64_t hash_seed) {
  internal::UnitHeader header;
  header.kind = static_cast<uint8_t>(operations.kind);
  header.kind_version = operations.version;
  header.hash_seed = hash_seed;
  std::string block = internal::MakeUnsealedBlock(0);
  internal::SealBlock(header, &block);
  return block;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FilterBuilder>> FilterBuilder::Create(const FilterSpec& spec,
                                                                     uint64_t hash_seed,
                                                                     FilterBuildLimits limits,
                                                                     FilterBuildContext context) {
  if (absl::Status status = ValidateFilterSpec(spec); !status.ok()) return status;
  if (limits.max_shard_bits == 0) {
    return absl::InvalidArgumentError("max_shard_bits must not be zero");
  }
  // The constructor is private, out of make_unique's reach.
  return std::unique_ptr<FilterBuilder>(
      new FilterBuilder(spec, hash_seed, std::move(limits), context));
}

FilterBuilder::FilterBuilder(const FilterSpec& spec, uint64_t hash_seed, FilterBuildLimits limits,
                             FilterBuildContext context)
    : spec_(spec), hash_seed_(hash_seed), limits_(std::move(limits)), context_(context) {}

FilterBuilder::~FilterBuilder() = default;

uint64_t FilterBuilder::EstimatedBlockBytes() const {
  if (spec_.kind == FilterKind::kNone) return 0;
  if (!unit_bits_.empty()) {
    uint64_t bytes = internal::kBlockHeaderBytes;
    for (const double bits : unit_bits_) {
      const double payload_bits = static_cast<double>(num_added()) * bits;
      bytes += internal::kUnitHeaderBytes +
               internal::PaddedPayloadBytes(static_cast<uint64_t>(payload_bits / 8));
    }
    return bytes;
  }
  // By the amount of bits alone: what small filters add for chance is within an estimate's error.
  const double bits_per_key = bits_per_key_
                                  ? *bits_per_key_
                                  : SpecBitsPerKey(ChooseFilter(spec_, context_, num_added()).spec);
  const double payload_bits = static_cast<double>(num_added()) * bits_per_key;
  return internal::kBlockHeaderBytes + internal::kUnitHeaderBytes +
         internal::PaddedPayloadBytes(static_cast<uint64_t>(payload_bits / 8));
}

BuiltFilter FilterBuilder::Finish() {
  BuiltFilter built;
  if (spec_.kind == FilterKind::kNone) return built;
  const auto hold_to_range = [this] {
    const BitsPerKeyRange allowed = AllowedBitsPerKey(spec_);
    spec_.bits_per_key = std::clamp(*bits_per_key_, allowed.min, allowed.max);
    spec_.fpr = 0;
  };
  // Of "auto" and of the kind that it becomes, which may allow less.
  if (bits_per_key_) hold_to_range();
  FilterChoice choice = ChooseFilter(spec_, context_, num_added());
  spec_ = std::move(choice.spec);
  if (bits_per_key_) hold_to_range();
  built.reason = std::move(choice.reason);
  // The hashes are the least that is held; attempts raise it.
  built.peak_temporary_bytes = memory_bytes();
  if (num_added() == 0) {
    built.block = EmptyFilterBlock(*internal::FindLayout(spec_.kind, spec_.words), hash_seed_);
    built.kind = spec_.kind;
    built.expected_fpr = 0;
    const std::string_view unit = std::string_view(built.block).substr(internal::kBlockHeaderBytes);
    built.units.push_back({unit.size(), 0, internal::UnitChecksum(unit)});
    return built;
  }
  // Validated when the builder was created, so that there is a layout.
  const internal::KindOperations& wanted = *internal::FindLayout(spec_.kind, spec_.words);
  std::vector<double> unit_bits = unit_bits_;
  if (unit_bits.empty()) unit_bits.push_back(SpecBitsPerKey(spec_));
  if (BuildKind(wanted, unit_bits, &built)) return built;
  // blocked_bloom cannot fail to be built, whatever the hashes are, but verification may still find
  // the memory faulty: then there is no filter, which answers "may contain" to everything.
  built.fell_back = true;
  built.reason = std::string(KindName(spec_.kind)) + " could not be built";
  const internal::KindOperations& fallback = *internal::FindKind(FilterKind::kBlockedBloom);
  if (BuildKind(fallback, unit_bits, &built)) return built;
  built.num_keys = num_added();
  return built;
}

bool FilterBuilder::BuildKind(const internal::KindOperations& operations,
                              const std::vector<double>& unit_bits, BuiltFilter* built) {
  const BitsPerKeyRange range = operations.bits_per_key;
  std::vector<std::string> blocks(unit_bits.size());
  built->units.clear();
  for (size_t i = 0; i < unit_bits.size(); ++i) {
    const double bits = std::clamp(unit_bits[i], range.min, range.max);
    if (!BuildUnit(operations, bits, static_cast<int>(i), built, &blocks[i])) {
      built->units.clear();
      return false;
    }
  }
  built->block = blocks.size() == 1 ? std::move(blocks[0]) : internal::BlockOfAllUnits(blocks);
  built->kind = operations.kind;
  // Each errs by itself.
  built->expected_fpr = 1;
  for (const BuiltUnit& unit : built->units) built->expected_fpr *= unit.expected_fpr;
  return true;
}

bool FilterBuilder::BuildUnit(const internal::KindOperations& operations, double bits_per_key,
                              int unit, BuiltFilter* built, std::string* block) {
  for (int attempt = 0; attempt < limits_.max_attempts; ++attempt) {
    const internal::BuildRequest request = {bits_per_key, unit_bits_.empty() ? spec_.fpr : 0,
                                            hash_seed_,   limits_.max_shard_bits,
                                            attempt,      unit};
    internal::BuildResult result;
    const bool succeeded = operations.build(request, &hashes_, &result);
    built->peak_temporary_bytes =
        std::max(built->peak_temporary_bytes, memory_bytes() + result.temporary_bytes);
    // Every attempt leaves the hashes complete, though in another order.
    if (!succeeded) continue;
    if (limits_.on_block_built) limits_.on_block_built(operations.kind, attempt, &result.block);
    if (result.block.size() < internal::kBlockHeaderBytes) continue;
    if (verify_.value_or(operations.verify_by_default)) {
      FilterState state;
      const FilterReader reader = FilterReader::Open(result.block, &state);
      if (state.code != FilterStateCode::kOk || !HoldsAll(reader, hashes_)) continue;
    }
    const std::string_view unit_bytes =
        std::string_view(result.block).substr(internal::kBlockHeaderBytes);
    built->units.push_back(
        {unit_bytes.size(), result.expected_fpr, internal::UnitChecksum(unit_bytes)});
    *block = std::move(result.block);
    built->num_keys = result.num_keys;
    return true;
  }
  return false;
}

}  // namespace winnow::filter
