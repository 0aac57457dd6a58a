#include "filter/kinds/ribbon/ribbon_columns_choice.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace winnow::filter::internal {
namespace {

// Bits that a large filter takes for each column and key.
constexpr double kLargeFilterSlots = 1.002;
// A ternary column must save so much of the bytes, or of the rate: it costs time to build, and
// queries of keys that are there.
constexpr double kWorthTritBytes = 0.997;
constexpr double kWorthTritRate = 0.985;
// Building then takes twice the time of bits alone. Filters that a processor's cache holds while
// they are built have no waiting for memory that would hide it.
constexpr uint64_t kMinKeysOfTritColumn = 750'000;
// 64 numbers of a fifth of a byte.
constexpr double kTritWordsOfBlock = 1.6;

// The rate of narrow blocks over that of the others.
double NarrowRate(NarrowForm form) {
  constexpr double kRates[] = {2, 2.0 / 3, 4.0 / 3};
  return kRates[static_cast<size_t>(form)];
}

// What share of the first layer's starts is in narrow blocks. None is in the last 63 slots: of few
// blocks the last has much fewer than the others.
double NarrowShare(const RibbonShape& shape) {
  const uint64_t starts = RibbonShape::NumStarts(shape.num_blocks);
  return static_cast<double>(std::min(RibbonShape::NumSlots(shape.num_narrow_blocks), starts)) /
         static_cast<double>(starts);
}

// If a share x of the keys is looked for in narrow blocks.
double RateOf(const RibbonShape& shape, double x) {
  return (1 + (NarrowRate(shape.form) - 1) * x) * std::exp2(-shape.columns);
}

RibbonShape WithColumns(RibbonShape shape, NarrowForm form, int columns) {
  shape.form = form;
  shape.columns = columns;
  shape.num_narrow_blocks = 0;
  return shape;
}

// Of this form and number of columns, with as many narrow blocks as save the most.
std::optional<RibbonShape> ForRate(double fpr, double bumped_share, RibbonShape shape) {
  const double more = NarrowRate(shape.form) - 1;
  // Shards are written before all bumped keys are known, and the rate is a promise. (Of the starts
  // fewer are bumped than of the keys, since those go that crowd, and fewest where a shard begins.)
  if (shape.num_shards != 1) bumped_share *= more < 0 ? 1.25 : 0.7;
  const double share = (fpr * std::exp2(shape.columns) - 1) / (more * (1 - bumped_share));
  const auto starts = static_cast<double>(RibbonShape::NumStarts(shape.num_blocks));
  const double blocks = std::clamp(share, 0.0, 1.0) * starts / kRibbonBlockSlots;
  // Narrow blocks with a lower rate than the others are needed, with a higher one allowed.
  if (more < 0 ? share > 1 : share < 0) return std::nullopt;
  if (more > 0 && share >= 1) {
    shape.num_narrow_blocks = shape.num_blocks;
  } else {
    shape.num_narrow_blocks =
        static_cast<uint64_t>(more < 0 ? std::ceil(blocks - 1e-9) : std::floor(blocks + 1e-9));
  }
  return shape;
}

// A filter's words for its columns, so many bits for each of so many keys.
double WordsFor(uint64_t num_keys, double bits_per_key, const RibbonShape& shape) {
  const auto bumping_blocks =
      static_cast<double>(shape.num_blocks * shape.num_shards + shape.num_second_blocks);
  const double all_blocks = bumping_blocks + static_cast<double>(shape.num_third_blocks);
  // Each bucket of 128 slots takes 2 bits for its threshold.
  const double threshold_bits =
      shape.has_layers() ? bumping_blocks * 2 * kRibbonBlockSlots / kBucketSlots : 0;
  // Small filters, without a second layer, get 64 bytes more, as much as a block may have of
  // padding anyway.
  // Thresholds are rounded up to 8 bytes in both layers.
  const double rounding_bits = shape.has_layers() ? 128 : 0;
  const double bits = static_cast<double>(num_keys) * bits_per_key - threshold_bits -
                      rounding_bits + (shape.num_second_blocks == 0 ? 512 : 0);
  return std::min(bits / 64, all_blocks * bits_per_key / kLargeFilterSlots);
}

std::optional<RibbonShape> ForWords(double words, RibbonShape shape) {
  const auto shards = static_cast<double>(shape.num_shards);
  const uint64_t all_blocks =
      shape.num_blocks * shape.num_shards + shape.num_second_blocks + shape.num_third_blocks;
  double wide_words = static_cast<double>(all_blocks * static_cast<uint64_t>(shape.columns));
  double saved = shape.columns - shape.narrow_columns();  // by a narrow block
  if (shape.has_trits()) {
    wide_words += shards * kTritWordsOfBlock + kTritPadding / 8.0 + 1;
    saved -= kTritWordsOfBlock;
  }
  const double blocks = (wide_words - words) / (saved * shards);
  if (saved > 0 ? blocks > static_cast<double>(shape.num_blocks) : blocks < 1) return std::nullopt;
  const double whole = saved > 0 ? std::ceil(blocks - 1e-9) : std::floor(blocks);
  shape.num_narrow_blocks =
      static_cast<uint64_t>(std::clamp(whole, 0.0, static_cast<double>(shape.num_blocks)));
  return shape;
}

// The budget, but for what is the same for all forms.
class Chooser {
 public:
  Chooser(uint64_t num_keys, const RibbonBudget& budget, double bumped_share,
          const RibbonShape& shape)
      : num_keys_(num_keys),
        fpr_(budget.fpr),
        words_(fpr_ != 0 ? 0 : WordsFor(num_keys, budget.bits_per_key, shape)),
        bumped_share_(bumped_share),
        shape_(shape) {}

  std::optional<RibbonShape> Try(NarrowForm form, int columns) const {
    if (columns < (form == NarrowForm::kTritForTwo ? 2 : 1) || columns > kMaxRibbonColumns) {
      return std::nullopt;
    }
    const RibbonShape shape = WithColumns(shape_, form, columns);
    return fpr_ != 0 ? ForRate(fpr_, bumped_share_, shape) : ForWords(words_, shape);
  }

  // Binary columns only. Where too few keys are in the first layer for a mixture that keeps to the
  // amount, all blocks have the lower number.
  RibbonShape Binary() const {
    const int columns = MostColumns();
    if (const auto mixed = Try(NarrowForm::kOneLess, columns)) return *mixed;
    return WithColumns(shape_, NarrowForm::kOneLess,
                       fpr_ != 0 ? columns : std::max(columns - 1, 1));
  }

  RibbonShape Best() const {
    RibbonShape best = Binary();
    if (num_keys_ < kMinKeysOfTritColumn) return best;
    double worth = fpr_ != 0 ? kWorthTritBytes : kWorthTritRate;
    const int columns = MostColumns();
    for (const auto& shape :
         {Try(NarrowForm::kTritForOne, columns - 1), Try(NarrowForm::kTritForTwo, columns),
          Try(NarrowForm::kTritForTwo, columns + 1)}) {
      if (!shape || shape->num_narrow_blocks == 0 || Cost(*shape) >= Cost(best) * worth) continue;
      best = *shape;
      worth = 1;
    }
    return best;
  }

 private:
  int MostColumns() const {
    const uint64_t all_blocks =
        shape_.num_blocks * shape_.num_shards + shape_.num_second_blocks + shape_.num_third_blocks;
    const double columns = fpr_ != 0 ? -std::log2(fpr_) : words_ / static_cast<double>(all_blocks);
    return std::clamp(static_cast<int>(std::ceil(columns - 1e-9)), 1, kMaxRibbonColumns);
  }
  double Cost(const RibbonShape& shape) const {
    return fpr_ != 0 ? static_cast<double>(shape.PayloadBytes())
                     : ExpectedRibbonFpr(shape, bumped_share_);
  }

  uint64_t num_keys_;
  double fpr_;
  double words_;
  double bumped_share_;
  const RibbonShape& shape_;
};

// Where equations begin in a block whose keys were not bumped.
uint64_t StartsLeft(const uint8_t* thresholds, uint64_t block, uint64_t num_blocks) {
  const uint64_t begin = RibbonShape::NumSlots(block);
  const uint64_t end = std::min(begin + kRibbonBlockSlots, RibbonShape::NumStarts(num_blocks));
  const uint64_t bucket = begin / kBucketSlots;
  const uint64_t bumped_end = bucket * kBucketSlots + kGroupBegins[ThresholdOf(thresholds, bucket)];
  return end - std::clamp(bumped_end, begin, end);
}

// What share of the keys is looked for in narrow blocks.
double NarrowShareLeft(const RibbonShape& shape, const uint8_t* thresholds) {
  if (!shape.has_layers()) return NarrowShare(shape);
  uint64_t starts = 0;
  for (uint64_t shard = 0; shard < shape.num_shards; ++shard) {
    for (uint64_t block = 0; block < shape.num_narrow_blocks; ++block) {
      starts += StartsLeft(thresholds, block, shape.num_blocks);
    }
    thresholds += shape.ShardThresholdBytes();
  }
  return static_cast<double>(starts) /
         static_cast<double>(RibbonShape::NumStarts(shape.num_blocks) * shape.num_shards);
}

// By the thresholds: as many narrow blocks, of a column less, as keep to the rate.
uint64_t NarrowBlocksForRate(double fpr, const uint8_t* thresholds, const RibbonShape& shape) {
  const auto all = static_cast<double>(RibbonShape::NumStarts(shape.num_blocks));
  uint64_t starts = 0;
  for (uint64_t block = 0; block < shape.num_blocks; ++block) {
    starts += StartsLeft(thresholds, block, shape.num_blocks);
    if (RateOf(shape, static_cast<double>(starts) / all) > fpr) return block;
  }
  return shape.num_blocks;
}

}  // namespace

void ChooseColumns(uint64_t num_keys, const RibbonBudget& budget, double bumped_share,
                   RibbonShape* shape) {
  const RibbonShape best = Chooser(num_keys, budget, bumped_share, *shape).Best();
  *shape = best;
}

void ChooseNarrowBlocks(uint64_t num_keys, const RibbonBudget& budget, const uint8_t* thresholds,
                        RibbonShape* shape) {
  if (budget.fpr != 0) {
    shape->num_narrow_blocks = NarrowBlocksForRate(budget.fpr, thresholds, *shape);
    return;
  }
  const RibbonShape chosen = Chooser(num_keys, budget, 0, *shape).Binary();
  *shape = chosen;
}

double ExpectedRibbonFpr(const RibbonShape& shape, double bumped_share) {
  return RateOf(shape, NarrowShare(shape) * (1 - bumped_share));
}

double RibbonFpr(const RibbonShape& shape, const uint8_t* thresholds) {
  return RateOf(shape, NarrowShareLeft(shape, thresholds));
}

}  // namespace winnow::filter::internal
