#include "filter/rocksdb/filter_policy.h"

#include <rocksdb/table.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "filter/rocksdb/bits_builder.h"
#include "filter/rocksdb/bits_reader.h"
#include "filter/rocksdb/construction_charge.h"
#include "filter/rocksdb/filter_contents.h"

namespace winnow::filter::internal {
namespace {

std::string PolicyName(std::string_view rest) {
  std::string name(kPolicyNamePrefix);
  name.append(rest);
  return name;
}

// RocksDB's levels mean something to "auto" in leveled compaction only.
FilterBuildContext BuildContextOf(const ROCKSDB_NAMESPACE::FilterBuildingContext& context) {
  FilterBuildContext build_context;
  if (context.compaction_style == ROCKSDB_NAMESPACE::kCompactionStyleLevel) {
    build_context.level = context.level_at_creation;
    build_context.num_levels = context.num_levels;
  }
  build_context.is_bottommost = context.is_bottommost;
  return build_context;
}

// What the spreading of bits needs to know of a new file; nothing where levels mean nothing to it.
std::optional<NewFile> NewFileOf(const ROCKSDB_NAMESPACE::FilterBuildingContext& context) {
  if (context.compaction_style != ROCKSDB_NAMESPACE::kCompactionStyleLevel ||
      context.level_at_creation < 0) {
    return std::nullopt;
  }
  // The log is the only thing of the database's that a policy is shown.
  return NewFile{.tree = {context.info_log, context.column_family_name},
                 .level = context.level_at_creation,
                 // RocksDB calls a flush into an empty tree bottommost too: only a file below level
                 // 0 shows how deep the tree is.
                 .is_last_run = context.is_bottommost && context.level_at_creation > 0};
}

// Any amount will do: it reads all of RocksDB's filters.
constexpr double kBuiltInBits = 10;

}  // namespace

WinnowFilterPolicy::WinnowFilterPolicy(PolicySpec spec, uint64_t hash_seed,
                                       std::shared_ptr<AllocationFit> fit)
    : spec_(std::move(spec)),
      hash_seed_(hash_seed),
      name_(PolicyName(KindName(spec_.filter.kind))),
      id_(PolicyName(PolicySpecText(spec_))),
      built_in_(ROCKSDB_NAMESPACE::NewBloomFilterPolicy(kBuiltInBits)),
      level_aware_(spec_.level_aware ? std::make_shared<LevelAware>(spec_.filter, spec_.size_ratio)
                                     : nullptr),
      fit_(std::move(fit)) {}

ROCKSDB_NAMESPACE::FilterBitsBuilder* WinnowFilterPolicy::GetBuilderWithContext(
    const ROCKSDB_NAMESPACE::FilterBuildingContext& context) const {
  // RocksDB takes no builder for no filter.
  if (spec_.filter.kind == FilterKind::kNone) return nullptr;
  BitsBuilderSettings settings;
  settings.spec = spec_.filter;
  settings.hash_seed = hash_seed_;
  settings.detect_corruption = context.table_options.detect_filter_construct_corruption;
  settings.context = BuildContextOf(context);
  // One balance for all files of the policy: what fitting one filter gains pays for another.
  if (context.table_options.optimize_filters_for_memory) settings.fit = fit_;
  if (level_aware_ != nullptr) {
    const std::optional<NewFile> file = NewFileOf(context);
    if (file) settings.level_aware = level_aware_->Begin(*file, settings.context);
  }
  return new BitsBuilder(std::move(settings), ChargeThatIsAskedFor(context.table_options));
}

ROCKSDB_NAMESPACE::FilterBitsReader* WinnowFilterPolicy::GetFilterBitsReader(
    const ROCKSDB_NAMESPACE::Slice& contents) const {
  // Files from before the policy was chosen keep RocksDB's own filters, which go on being asked.
  if (!IsWinnowFilter({contents.data(), contents.size()})) {
    return built_in_->GetFilterBitsReader(contents);
  }
  return new BitsReader(contents, level_aware_.get());
}

}  // namespace winnow::filter::internal
