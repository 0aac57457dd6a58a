// Regular expressions that are matched in time linear in the text: all ways to match are followed
// at once, a byte at a time (Thompson, "Regular Expression Search Algorithm", CACM 1968), so that no
// pattern makes a read slow.
#ifndef WINNOW_ENGINE_TABLE_REGULAR_EXPRESSION_H_
#define WINNOW_ENGINE_TABLE_REGULAR_EXPRESSION_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// Immutable and copyable. The syntax is that of winnow/table_filter.h.
class RegularExpression {
 public:
  // InvalidArgument says what is wrong, and at which byte of the pattern; or that the pattern, its
  // repetitions written out, has over kMaxSteps steps.
  static absl::StatusOr<RegularExpression> Compile(std::string_view pattern, bool ignores_case);

  // Whether some part of the text matches. Thread-safe.
  bool FindIn(std::string_view text) const;

  static constexpr size_t kMaxSteps = 10'000;

 private:
  friend class RegularExpressionCompiler;
  using ByteSet = std::bitset<256>;

  struct Step {
    enum class Kind : uint8_t {
      kBytes,        // a byte of sets_[operand], then the next step
      kSplit,        // the next step, or `operand`
      kJump,         // `operand`
      kTextBegin,    // the next step, if this is where the text begins; and so on
      kTextEnd,
      kLineEnd,      // the end, or before a last line feed
      kWordEdge,
      kNoWordEdge,
      kMatch,
    };
    Kind kind;
    uint32_t operand = 0;
  };

  // The steps at which ways to match stand, each once, in no order.
  class Places;

  // Adds what can be reached from a step without taking a byte. True: the match is one of it.
  bool Reach(uint32_t step, std::string_view text, size_t position, Places* places) const;
  static bool IsWordEdge(std::string_view text, size_t position);

  std::vector<Step> steps_;
  std::vector<ByteSet> sets_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_REGULAR_EXPRESSION_H_
