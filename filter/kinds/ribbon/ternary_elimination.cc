#include "filter/kinds/ribbon/ternary_elimination.h"

#include <algorithm>

#include "absl/base/attributes.h"

namespace winnow::filter::internal {

// Gaussian elimination as in ribbon_layer.cc, but modulo 3: from an equation the one that is at its
// first slot is subtracted, or added if its first coefficient is 2, and so it begins later.

void TernaryElimination::Clear(uint64_t num_slots) {
  rows_.assign(num_slots, TernaryRow{});
  sums_.assign(num_slots, 0);
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline TernaryElimination::Progress TernaryElimination::Step(
    uint64_t end_slot, Walker* walker) {
  // All bits set if the first coefficient is 1, none if it is 2: no branch, since nobody could
  // predict it.
  const uint64_t is_one = (walker->row.twos & 1) - 1;
  const TernaryRow there = rows_[walker->slot];
  if (there.some == 0) {
    // Doubled if it is 2.
    rows_[walker->slot] = NegateTernaryIf(~is_one, walker->row);
    const int64_t sum = (walker->sum % 3 + 3) << (~is_one & 1);
    sums_[walker->slot] = static_cast<uint8_t>(sum % 3);
    filled_[num_filled_++] = walker->slot;
    return Progress::kInserted;
  }
  const TernaryRow rest = AddTernary(walker->row, NegateTernaryIf(is_one, there));
  const auto sign = static_cast<int64_t>(is_one);
  walker->sum += (sums_[walker->slot] ^ sign) - sign;
  if (rest.some == 0) return walker->sum % 3 == 0 ? Progress::kRedundant : Progress::kConflict;
  const int zeros = __builtin_ctzll(rest.some);
  walker->row = {rest.some >> zeros, rest.twos >> zeros};
  walker->slot += static_cast<uint64_t>(zeros);
  return walker->slot < end_slot ? Progress::kGoesOn : Progress::kConflict;
}

bool TernaryElimination::Finish(uint64_t end_slot, Walker walker) {
  Progress progress = Progress::kGoesOn;
  while (progress == Progress::kGoesOn) progress = Step(end_slot, &walker);
  return progress != Progress::kConflict;
}

bool TernaryElimination::InsertOneByOne(const TernaryEquation* begin, const TernaryEquation* end,
                                        uint64_t end_slot) {
  return std::all_of(begin, end, [&](const TernaryEquation& equation) {
    return Finish(end_slot, WalkerOf(equation));
  });
}

// Three at a time, since each waits for its own loads. Their steps may come in any order: an
// equation that has its slot never changes.
bool TernaryElimination::InsertInTurns(const std::vector<TernaryEquation>& group,
                                       uint64_t end_slot) {
  const TernaryEquation* next = group.data();
  const TernaryEquation* const end = next + group.size();
  Walker first = WalkerOf(*next++);
  Walker second = WalkerOf(*next++);
  Walker third = WalkerOf(*next++);
  const auto advance = [&](Walker* walker) ABSL_ATTRIBUTE_ALWAYS_INLINE {
    const Progress progress = Step(end_slot, walker);
    if (progress == Progress::kConflict || progress == Progress::kGoesOn || next == end) {
      return progress;
    }
    *walker = WalkerOf(*next++);
    return Progress::kGoesOn;
  };
  for (;;) {
    if (const Progress progress = advance(&first); progress != Progress::kGoesOn) {
      return progress != Progress::kConflict && Finish(end_slot, second) && Finish(end_slot, third);
    }
    if (const Progress progress = advance(&second); progress != Progress::kGoesOn) {
      return progress != Progress::kConflict && Finish(end_slot, first) && Finish(end_slot, third);
    }
    if (const Progress progress = advance(&third); progress != Progress::kGoesOn) {
      return progress != Progress::kConflict && Finish(end_slot, first) && Finish(end_slot, second);
    }
  }
}

bool TernaryElimination::InsertGroup(const std::vector<TernaryEquation>& group, uint64_t end_slot) {
  num_filled_ = 0;
  filled_.resize(std::max(filled_.size(), group.size()));
  const bool is_inserted = group.size() < 3
                               ? InsertOneByOne(group.data(), group.data() + group.size(), end_slot)
                               : InsertInTurns(group, end_slot);
  if (!is_inserted) Undo();
  return is_inserted;
}

void TernaryElimination::Undo() {
  for (size_t i = 0; i < num_filled_; ++i) {
    rows_[filled_[i]] = TernaryRow{};
    sums_[filled_[i]] = 0;
  }
}

}  // namespace winnow::filter::internal
