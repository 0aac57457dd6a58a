#include "winnow/filter/choice.h"

#include <cmath>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter {
namespace {

// With fewer keys than this the whole filter is a few cache lines, whatever its kind.
constexpr uint64_t kFewKeys = 1000;
// A kind may take so much more space than the smallest if it is quicker to query.
constexpr double kWorthItsSpeed = 1.08;

// A file of a level that has others below it is merged into them before long: what a smaller filter
// saves until then does not make up for the time it takes to build. Not known counts as long-lived.
bool IsShortLived(const FilterBuildContext& context) {
  if (context.is_bottommost || context.level < 0 || context.num_levels <= 0) return false;
  return context.level + 1 < context.num_levels;
}

// Bits for each key and bit of log2(1 / rate): what a kind makes of the amount that `spec` gives.
double Cost(FilterKind kind, const FilterSpec& spec, uint64_t num_keys) {
  // Comparable over both ways to state an amount: a filter of b bits a key and rate r spends b /
  // log2(1/r) bits for each halving. An ideal one spends 1.
  if (spec.fpr != 0) return BitsPerKeyForFpr(kind, spec.fpr) / -std::log2(spec.fpr);
  const double bits = SpecBitsPerKey(spec);
  return bits / -std::log2(ExpectedFpr(kind, bits, num_keys));
}

FilterChoice Choose(FilterKind kind, const FilterSpec& spec, std::string_view reason) {
  FilterChoice choice;
  choice.spec = spec;
  choice.spec.kind = kind;
  const std::string_view name = KindName(kind);
  choice.reason = absl::StrCat(absl::string_view(name.data(), name.size()), ": ",
                               absl::string_view(reason.data(), reason.size()));
  return choice;
}

}  // namespace

FilterChoice ChooseFilter(const FilterSpec& spec, const FilterBuildContext& context,
                          uint64_t num_keys) {
  if (spec.kind != FilterKind::kAuto) return {spec, "as asked for"};
  if (IsShortLived(context)) {
    return Choose(FilterKind::kBlockedBloom, spec,
                  absl::StrCat("files of level ", context.level, " of ", context.num_levels,
                               " are soon rewritten, and it is the quickest to build"));
  }
  if (num_keys < kFewKeys) {
    return Choose(FilterKind::kBlockedBloom, spec,
                  absl::StrCat(num_keys, " keys are too few for another kind to save anything"));
  }
  const bool is_known = context.is_bottommost || context.level >= 0;
  const std::string_view lifetime = is_known ? "the file will live long" : "the level is not known";
  const std::string life(lifetime);
  // The other kinds are larger than ribbon at every rate.
  const double fuse = Cost(FilterKind::kBinaryFuse, spec, num_keys);
  const double ribbon = Cost(FilterKind::kRibbon, spec, num_keys);
  if (fuse <= ribbon * kWorthItsSpeed) {
    return Choose(FilterKind::kBinaryFuse, spec,
                  life + ", and it is about the smallest and quick to query");
  }
  return Choose(FilterKind::kRibbon, spec, life + ", and it is the smallest");
}

}  // namespace winnow::filter
