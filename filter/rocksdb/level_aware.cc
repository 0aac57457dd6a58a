#include "filter/rocksdb/level_aware.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "filter/format/block_format.h"
#include "filter/rocksdb/verified_filters.h"
#include "winnow/filter/level_allocation.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter::internal {
namespace {

// How far the sum may lie above the uniform one: without it files that replace others of their
// level, which are still there, would find what they may spend spent by those.
constexpr double kOverdraft = 0.02;

// Of what a tree of nominal sizes would take from its last level. All of it made trees that have
// settled, with next to nothing in their upper levels, read up to 1.4 times as much as uniform ones
// (of less memory), and others hardly less.
constexpr double kShareThatIsSpared = 0.5;

int64_t PaddedBits(double payload_bits) {
  return static_cast<int64_t>(8 * PaddedPayloadBytes(static_cast<uint64_t>(payload_bits / 8)));
}

FilterSize AddTotals(FilterSize a, const FilterSize& b) {
  a.keys += b.keys;
  a.uniform_bits += b.uniform_bits;
  a.bits += b.bits;
  return a;
}

// What the block takes, and what `spec` would give its kind for as many keys. Nothing if that is
// not known.
std::optional<FilterSize> SizeOf(std::string_view block, const FilterSpec& spec) {
  if (block.size() < kBlockHeaderBytes + kUnitHeaderBytes || UnitCount(block) != 1) {
    return std::nullopt;
  }
  uint64_t offset = kBlockHeaderBytes;
  const UnitHeader header = NextUnit(block, &offset).header;
  double uniform = SpecBitsPerKey(spec);
  // "auto" with a rate: kinds take different amounts for it.
  if (spec.kind == FilterKind::kAuto && spec.fpr != 0) {
    uniform = BitsPerKeyForFpr(static_cast<FilterKind>(header.kind), spec.fpr);
  }
  return FilterSize{
      .keys = static_cast<int64_t>(header.num_keys),
      .uniform_bits = PaddedBits(uniform * static_cast<double>(header.num_keys)),
      .bits = PaddedBits(8 * static_cast<double>(header.payload_bytes)),
  };
}

}  // namespace

// Monkey (Dayan, Athanassoulis, Idreos, SIGMOD 2017) takes bits from the last level, where they buy
// the least, and gives them to the upper ones. Natural trees get half of that.
double ShareOfLastRun(const FilterSpec& spec, const TreeShape& shape) {
  const double uniform = SpecBitsPerKey(spec);
  return 1 - kShareThatIsSpared * (1 - SpreadBits(spec, uniform, shape).back() / uniform);
}

// Three steps: the nominal sizes of the levels in a tree of this shape; for each level the larger
// of nominal and present keys, so that one that is overfull pays for itself; Monkey's split of what
// may be spent over levels of these sizes.
std::map<int, double> ShareOfUpperLevels(const FilterSpec& spec, const ObservedTree& tree,
                                         const std::map<int, FilterSize>& live, double last_share) {
  const auto live_at = [&live](int level) {
    const auto it = live.find(level);
    return it == live.end() ? FilterSize() : it->second;
  };
  const TreeShape& shape = *tree.shape;
  const FilterSize last = live_at(FilterPlace::kLastRun);
  // The base level as RocksDB's defaults have it, in flushes, unless the last level is too small
  // for such levels above it.
  double nominal = static_cast<double>(last.keys) *
                   std::pow(shape.size_ratio, std::min(shape.base_level - shape.last_level, -1));
  if (tree.flushed_keys != 0) {
    nominal = std::min(nominal, kLevelZeroRuns * static_cast<double>(tree.flushed_keys));
  }
  nominal = std::max(nominal, 1.0);

  const double run_keys =
      tree.flushed_keys != 0 ? static_cast<double>(tree.flushed_keys) : nominal / kLevelZeroRuns;
  // Level 0 first: its runs have a flush's keys each, and together what the base level would have,
  // or what is there if that is more.
  std::vector<int> numbers = {0};
  std::vector<LevelKeys> levels = {
      {run_keys, std::max(nominal, static_cast<double>(live_at(0).keys))}};
  for (int level = shape.base_level; level < shape.last_level; ++level) {
    const double keys = std::max(nominal, static_cast<double>(live_at(level).keys));
    numbers.push_back(level);
    levels.push_back({keys, keys});
    nominal *= shape.size_ratio;
  }

  const double uniform = SpecBitsPerKey(spec);
  // What may be spent: the uniform bits of these levels, and what the last run has really saved. A
  // last run that has saved nothing takes nothing away.
  double total_bits = static_cast<double>(std::max<int64_t>(last.saved_bits(), 0));
  for (const LevelKeys& level : levels) total_bits += uniform * level.total_keys;
  const std::vector<double> bits = SpreadBits(spec, total_bits, levels);
  std::map<int, double> shares;
  for (size_t i = 0; i < bits.size(); ++i) {
    shares[numbers[i]] = std::max(bits[i] / uniform, last_share);
  }
  return shares;
}

double LevelAware::LastShare(const TreeShape& shape) {
  const MutexLock lock(&mutex_);
  if (!last_share_ || shape != shape_) {
    shape_ = shape;
    last_share_ = ShareOfLastRun(spec_, shape);
  }
  return *last_share_;
}

double LevelAware::ShareOf(const NewFile& file, const ObservedTree& tree) {
  // Until a file of the last run was built nobody knows how deep the tree is.
  if (!tree.shape) return 1;
  const double last_share = LastShare(*tree.shape);
  if (file.is_last_run) return last_share;
  std::map<int, FilterSize> live = ledger_.LevelsOf(tree.number);
  // What was built before this process began is most likely of the last run.
  for (const auto& [level, size] : ledger_.LevelsOf(FilterPlace::kUnknownTree)) {
    live[FilterPlace::kLastRun] = AddTotals(live[FilterPlace::kLastRun], size);
  }
  const std::map<int, double> shares = ShareOfUpperLevels(spec_, tree, live, last_share);
  const auto share = shares.find(file.level);
  // A level outside the shape, as after its change, is uniform.
  return share == shares.end() ? 1 : share->second;
}

std::shared_ptr<LevelAwareFile> LevelAware::Begin(const NewFile& file,
                                                  const FilterBuildContext& context) {
  const ObservedTree tree = observer_.Observe(file);
  const FilterPlace place = {tree.number, file.is_last_run ? FilterPlace::kLastRun : file.level};
  return std::make_shared<LevelAwareFile>(shared_from_this(), file, place, context,
                                          ShareOf(file, tree));
}

std::unique_ptr<OpenedFilter> LevelAware::Opened(std::string_view block) {
  const std::optional<FilterSize> size = SizeOf(block, spec_);
  if (!size || size->keys == 0) return nullptr;
  return std::make_unique<OpenedFilter>(shared_from_this(),
                                        ledger_.Opened(FilterIdentity(block), *size));
}

LevelAwareFile::LevelAwareFile(std::shared_ptr<LevelAware> policy, NewFile file, FilterPlace place,
                               FilterBuildContext context, double share)
    : policy_(std::move(policy)),
      file_(std::move(file)),
      place_(place),
      context_(context),
      share_(share) {}

LevelAwareFile::~LevelAwareFile() {
  // Here and not when a filter is built: a file may have one for each of its partitions.
  if (num_keys_ != 0) policy_->observer_.CountKeys(file_, num_keys_);
}

double LevelAwareFile::ExpectedBitsPerKey() const {
  return SpecBitsPerKey(policy_->spec_) * share_;
}

std::optional<double> LevelAwareFile::BitsPerKey(uint64_t num_keys) const {
  // The spec decides, a rate that it asks for included.
  if (share_ == 1) return std::nullopt;
  const double uniform = SpecBitsPerKey(ChooseFilter(policy_->spec_, context_, num_keys).spec);
  // To save needs nobody's leave; to spend does.
  if (share_ < 1) return uniform * share_;
  // What other filters have saved, at this moment, is the most that this one may have beyond its
  // uniform bits: the sum of all stays within the overdraft.
  const FilterSize total = policy_->ledger_.Total();
  const double surplus = static_cast<double>(total.saved_bits()) +
                         kOverdraft * static_cast<double>(total.uniform_bits);
  const double most = std::max(surplus, 0.0) / static_cast<double>(std::max<uint64_t>(num_keys, 1));
  return uniform + std::min(uniform * (share_ - 1), most);
}

void LevelAwareFile::Built(std::string_view block) {
  const std::optional<FilterSize> size = SizeOf(block, policy_->spec_);
  if (!size || size->keys == 0) return;
  num_keys_ += static_cast<uint64_t>(size->keys);
  policy_->ledger_.Built(FilterIdentity(block), {place_, *size});
}

}  // namespace winnow::filter::internal
