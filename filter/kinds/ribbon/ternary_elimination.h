// The equations over GF(3) of a ribbon layer's ternary column, brought into echelon form. Internal
// to the ribbon kind.

#ifndef WINNOW_FILTER_KINDS_RIBBON_TERNARY_ELIMINATION_H_
#define WINNOW_FILTER_KINDS_RIBBON_TERNARY_ELIMINATION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "filter/base/build_memory.h"
#include "filter/simd/ribbon_trits.h"

namespace winnow::filter::internal {

// What a key asks of the ternary column: that the slots which its coefficients name, from `slot`
// on, add up to `sum` modulo 3.
struct TernaryEquation {
  uint64_t slot;
  uint64_t coefficients;  // bit 0 is set
  uint32_t sum;
};

// Memory is kept from one use to the next.
class TernaryElimination {
 public:
  // Begins a system of so many slots, without equations.
  void Clear(uint64_t num_slots);

  // Inserts equations that stay or go together. False if one is in conflict with those that are
  // there, or would begin at `end_slot` or behind it; then none of them is inserted.
  bool InsertGroup(const std::vector<TernaryEquation>& group, uint64_t end_slot);

  // Writes the solution in the first `num_written` slots. The later ones are solved too: equations
  // that begin earlier may have had some added that reach further.
  void Solve(uint64_t num_written, uint8_t* trits) const {
    SolveTernary({rows_.data(), sums_.data(), sums_.size()}, num_written, trits);
  }

  uint64_t memory_bytes() const { return rows_.capacity() * sizeof(TernaryRow) + sums_.capacity(); }

 private:
  enum class Progress : uint8_t { kGoesOn, kInserted, kRedundant, kConflict };

  // An equation that is looking for its slot. Its first coefficient is 1 or 2.
  struct Walker {
    uint64_t slot;
    TernaryRow row;
    int64_t sum;  // or a number that is congruent to it
  };

  static Walker WalkerOf(const TernaryEquation& equation) {
    return {equation.slot, {equation.coefficients, 0}, static_cast<int64_t>(equation.sum)};
  }
  Progress Step(uint64_t end_slot, Walker* walker);
  bool InsertOneByOne(const TernaryEquation* begin, const TernaryEquation* end, uint64_t end_slot);
  bool InsertInTurns(const std::vector<TernaryEquation>& group, uint64_t end_slot);
  bool Finish(uint64_t end_slot, Walker walker);
  void Undo();

  BuildVector<TernaryRow> rows_;  // the first number is 1; without an equation, all are 0
  BuildVector<uint8_t> sums_;
  std::vector<uint64_t> filled_;  // the slots that the last group took, the first num_filled_
  size_t num_filled_ = 0;
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_RIBBON_TERNARY_ELIMINATION_H_
