#include "filter/rocksdb/policy_spec.h"

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "filter/base/shown_text.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter::internal {
namespace {

constexpr std::string_view kLevelAware = ":level_aware";
constexpr double kMinSizeRatio = 2;
constexpr double kMaxSizeRatio = 100;

// A rate is asked of each filter; memory may be spread.
bool IsLevelAwareUnasked(const FilterSpec& filter) {
  return filter.kind == FilterKind::kAuto && filter.fpr == 0;
}

absl::Status BadSpec(std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("filter policy 'winnow.", absl::CHexEscape(ShownText(text)),
                   "': ", absl::string_view(what.data(), what.size())));
}

// `after` is what follows the word level_aware.
absl::Status ReadSizeRatio(std::string_view text, std::string_view after, PolicySpec* spec) {
  if (after.empty()) return absl::OkStatus();
  // Written so that NaN, which SimpleAtod reads, is refused.
  if (after.front() == ':' && absl::SimpleAtod(std::string(after.substr(1)), &spec->size_ratio) &&
      spec->size_ratio >= kMinSizeRatio && spec->size_ratio <= kMaxSizeRatio) {
    return absl::OkStatus();
  }
  return BadSpec(text,
                 "after level_aware comes at most the size ratio of levels, "
                 "max_bytes_for_level_multiplier, from 2 to 100, such as "
                 "'blocked_bloom:10:level_aware:8'");
}

}  // namespace

// "level_aware" is the policy's word, not the filter's: the text is cut there, and what stands
// before it is an ordinary filter spec.
absl::StatusOr<PolicySpec> ParsePolicySpec(std::string_view text) {
  PolicySpec spec;
  const size_t word = text.find(kLevelAware);
  const std::string_view filter_text = text.substr(0, word);
  absl::StatusOr<FilterSpec> filter = ParseFilterSpec(filter_text);
  if (!filter.ok()) return filter.status();
  if (filter->range_bits != 0) {
    return BadSpec(text,
                   "RocksDB asks its filters for single keys and prefixes alone: leave the "
                   "range filter behind '+' out");
  }
  spec.filter = *std::move(filter);
  // "auto" with an amount of memory is spread without being asked.
  spec.level_aware = IsLevelAwareUnasked(spec.filter);
  if (word == std::string_view::npos) return spec;

  spec.level_aware = true;
  if (SpecBitsPerKey(spec.filter) == 0) {
    return BadSpec(text, "level_aware spreads bits over levels, and this kind has none to spread");
  }
  const std::string_view after = text.substr(word + kLevelAware.size());
  if (absl::Status status = ReadSizeRatio(text, after, &spec); !status.ok()) return status;
  return spec;
}

// Parses to the same spec again: RocksDB writes it into its OPTIONS files.
std::string PolicySpecText(const PolicySpec& spec) {
  std::string text = filter::ToString(spec.filter);
  const bool has_ratio = spec.size_ratio != kDefaultSizeRatio;
  const bool goes_without_saying = IsLevelAwareUnasked(spec.filter) && !has_ratio;
  if (!spec.level_aware || goes_without_saying) return text;
  text.append(kLevelAware);
  if (has_ratio) absl::StrAppend(&text, ":", spec.size_ratio);
  return text;
}

}  // namespace winnow::filter::internal
