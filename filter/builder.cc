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
    return built;
  }
  // Validated when the builder was created, so that there is a layout.
  if (BuildKind(*internal::FindLayout(spec_.kind, spec_.words), SpecBitsPerKey(spec_), &built))
    return built;
  // blocked_bloom cannot fail to be built, whatever the hashes are, but verification may still find
  // the memory faulty: then there is no filter, which answers "may contain" to everything.
  built.fell_back = true;
  built.reason = std::string(KindName(spec_.kind)) + " could not be built";
  const BitsPerKeyRange range = AllowedBitsPerKey(FilterKind::kBlockedBloom);
  const double bits = std::clamp(SpecBitsPerKey(spec_), range.min, range.max);
  if (BuildKind(*internal::FindKind(FilterKind::kBlockedBloom), bits, &built)) return built;
  built.num_keys = num_added();
  return built;
}

bool FilterBuilder::BuildKind(const internal::KindOperations& operations, double bits_per_key,
                              BuiltFilter* built) {
  for (int attempt = 0; attempt < limits_.max_attempts; ++attempt) {
    const internal::BuildRequest request = {bits_per_key, spec_.fpr, hash_seed_,
                                            limits_.max_shard_bits, attempt};
    internal::BuildResult result;
    const bool succeeded = operations.build(request, &hashes_, &result);
    built->peak_temporary_bytes =
        std::max(built->peak_temporary_bytes, memory_bytes() + result.temporary_bytes);
    // Every attempt leaves the hashes complete, though in another order.
    if (!succeeded) continue;
    if (limits_.on_block_built) limits_.on_block_built(operations.kind, attempt, &result.block);
    if (verify_.value_or(operations.verify_by_default)) {
      FilterState state;
      const FilterReader reader = FilterReader::Open(result.block, &state);
      if (state.code != FilterStateCode::kOk || !HoldsAll(reader, hashes_)) continue;
    }
    built->block = std::move(result.block);
    built->kind = operations.kind;
    built->num_keys = result.num_keys;
    built->expected_fpr = result.expected_fpr;
    return true;
  }
  return false;
}

}  // namespace winnow::filter
