#include "winnow/compaction_style.h"

#include "absl/strings/str_cat.h"
#include "engine/base/number_text.h"
#include "engine/base/status.h"
#include "filter/base/shown_text.h"
#include "winnow/options.h"

namespace winnow {

namespace {

constexpr std::string_view kFifoPrefix = "fifo:";

// As LevelDB has. With a multiplier of 10 the seventh is a hundred thousand times as large as the
// smallest.
constexpr int kNumLevelsWithoutTiers = 7;

}  // namespace

int CompactionStyle::num_levels() const {
  const bool has_tiers = kind == Kind::kLazyLeveled || kind == Kind::kTiered;
  return has_tiers ? kNumLevels : kNumLevelsWithoutTiers;
}

std::string CompactionStyle::ToString() const {
  switch (kind) {
    case Kind::kLeveled:
      return "leveled";
    case Kind::kLazyLeveled:
      return "lazy_leveled";
    case Kind::kTiered:
      return "tiered";
    case Kind::kFifo:
      break;
  }
  // In bytes, whatever unit it was given in: ParseCompactionStyle reads exactly this number back,
  // which a manifest may have recorded.
  return absl::StrCat(ToAbsl(kFifoPrefix), fifo_bytes);
}

absl::StatusOr<CompactionStyle> ParseCompactionStyle(std::string_view text) {
  if (text == "leveled") return CompactionStyle{};
  if (text == "lazy_leveled") return CompactionStyle{CompactionStyle::Kind::kLazyLeveled, 0};
  if (text == "tiered") return CompactionStyle{CompactionStyle::Kind::kTiered, 0};
  uint64_t bytes;
  if (text.starts_with(kFifoPrefix) && ParseByteCount(text.substr(kFifoPrefix.size()), &bytes)) {
    return CompactionStyle::Fifo(bytes);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", ShownText(text),
                   "' is not a compaction style: leveled, lazy_leveled, tiered or fifo:BYTES, such "
                   "as fifo:1G"));
}

}  // namespace winnow
