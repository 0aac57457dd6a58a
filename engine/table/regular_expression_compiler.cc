// From a pattern to steps, in one pass: each construct appends its own, and what repeats one copies
// them.
//
//   ab      a; b
//   a|b     split 2; a; jump end; 2: b
//   a?      split end; a
//   a*      1: split end; a; jump 1
//   a{2,3}  a; a; split end; a
//
// Groups leave no steps, since nothing is captured, and greed changes no answer.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/table/regular_expression.h"

namespace winnow {

class RegularExpressionCompiler {
 public:
  RegularExpressionCompiler(std::string_view pattern, bool ignores_case)
      : pattern_(pattern), ignores_case_(ignores_case) {}

  absl::StatusOr<RegularExpression> Compile() {
    WINNOW_RETURN_IF_ERROR(TakeFlags());
    WINNOW_ASSIGN_OR_RETURN(Steps steps, TakeAlternatives(0));
    if (at_ < pattern_.size()) return Wrong("a ')' without its '('");
    steps.push_back({Step::Kind::kMatch});
    expression_.steps_ = std::move(steps);
    return std::move(expression_);
  }

 private:
  using Step = RegularExpression::Step;
  using ByteSet = RegularExpression::ByteSet;
  // With jumps that are relative to the step that has them, so that steps can be moved and copied;
  // absolute at the end.
  using Steps = std::vector<Step>;

  // Of groups, each level of which takes stack.
  static constexpr int kMaxDepth = 100;
  static constexpr uint32_t kMaxRepetitions = 1000;

  absl::Status Wrong(std::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("regular expression: ", ToAbsl(what), ", at byte ", at_));
  }
  bool Has(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  bool Take(std::string_view text) {
    if (!Has(text)) return false;
    at_ += text.size();
    return true;
  }

  // At the beginning of the pattern alone; elsewhere TakeGroup refuses them.
  absl::Status TakeFlags() {
    while (Has("(?") && !Has("(?:") && at_ + 3 < pattern_.size() && pattern_[at_ + 3] == ')') {
      const char flag = pattern_[at_ + 2];
      if (flag == 'i') {
        ignores_case_ = true;
      } else if (flag != 's') {  // '.' is any byte as it is
        return Wrong("a flag that is neither (?i) nor (?s)");
      }
      at_ += 4;
    }
    return absl::OkStatus();
  }

  // A '|' makes all that stands in front of it one side of a split, and moves it: n of them cost
  // O(n x steps), and there are kMaxSteps at most.
  absl::StatusOr<Steps> TakeAlternatives(int depth) {
    if (depth > kMaxDepth) return Wrong("too many groups inside each other");
    WINNOW_ASSIGN_OR_RETURN(Steps steps, TakeSequence(depth));
    while (Take("|")) {
      WINNOW_ASSIGN_OR_RETURN(const Steps other, TakeSequence(depth));
      // split other; steps; jump end; other
      // Over the steps and the jump behind them. Relative jumps inside stay as they are.
      steps.insert(steps.begin(), Step{Step::Kind::kSplit, Offset(steps.size() + 2)});
      steps.push_back({Step::Kind::kJump, Offset(other.size() + 1)});
      WINNOW_RETURN_IF_ERROR(Append(other, &steps));
    }
    return steps;
  }

  // May be empty: "a|" matches everything.
  absl::StatusOr<Steps> TakeSequence(int depth) {
    Steps steps;
    while (at_ < pattern_.size() && pattern_[at_] != '|' && pattern_[at_] != ')') {
      if (Take("\\Q")) {
        // Without an \E the literal goes on to the end of the pattern.
        const size_t end = pattern_.find("\\E", at_);
        const std::string_view literal = pattern_.substr(at_, end - at_);
        at_ += literal.size() + (end == std::string_view::npos ? 0 : 2);
        if (literal.empty()) continue;
        for (const char byte : literal.substr(0, literal.size() - 1)) {
          WINNOW_RETURN_IF_ERROR(Append(Byte(byte), &steps));
        }
        // What repeats behind it is its last byte alone.
        WINNOW_ASSIGN_OR_RETURN(const Steps last, TakeRepetitions(Byte(literal.back())));
        WINNOW_RETURN_IF_ERROR(Append(last, &steps));
        continue;
      }
      WINNOW_ASSIGN_OR_RETURN(Steps atom, TakeAtom(depth));
      WINNOW_ASSIGN_OR_RETURN(const Steps repeated, TakeRepetitions(std::move(atom)));
      WINNOW_RETURN_IF_ERROR(Append(repeated, &steps));
    }
    return steps;
  }

  absl::StatusOr<Steps> TakeAtom(int depth) {
    const char first = pattern_[at_++];
    switch (first) {
      case '(':
        return TakeGroup(depth);
      case '[':
        return TakeClass();
      case '.':
        return Set(ByteSet().set());
      case '^':
        return Steps{{Step::Kind::kTextBegin}};
      case '$':
        return Steps{{Step::Kind::kLineEnd}};
      case '\\':
        return TakeEscape();
      case '*':
      case '+':
      case '?':
        at_--;
        return Wrong("nothing to repeat");
      default:
        return Byte(first);
    }
  }

  absl::StatusOr<Steps> TakeGroup(int depth) {
    if (Has("?") && !Take("?:")) return Wrong("a group that is neither (...) nor (?:...)");
    WINNOW_ASSIGN_OR_RETURN(Steps steps, TakeAlternatives(depth + 1));
    if (!Take(")")) return Wrong("a '(' without its ')'");
    return steps;
  }

  // Escapes that stand for places between bytes have no meaning in a class; the others are shared
  // with it.
  absl::StatusOr<Steps> TakeEscape() {
    if (at_ == pattern_.size()) return Wrong("a '\\' at the end");
    const char letter = pattern_[at_];
    const std::pair<char, Step::Kind> places[] = {{'A', Step::Kind::kTextBegin},
                                                  {'z', Step::Kind::kTextEnd},
                                                  {'Z', Step::Kind::kLineEnd},
                                                  {'b', Step::Kind::kWordEdge},
                                                  {'B', Step::Kind::kNoWordEdge}};
    for (const auto& [name, kind] : places) {
      if (letter != name) continue;
      at_++;
      return Steps{{kind}};
    }
    WINNOW_ASSIGN_OR_RETURN(const ByteSet set, TakeEscapedSet());
    return Set(set);
  }

  // What may stand behind a '\' inside and outside of a class.
  absl::StatusOr<ByteSet> TakeEscapedSet() {
    if (at_ == pattern_.size()) return Wrong("a '\\' at the end");
    const char letter = pattern_[at_++];
    if (const std::optional<ByteSet> named = NamedSet(letter)) return *named;
    const std::pair<char, char> controls[] = {{'t', '\t'}, {'n', '\n'},   {'r', '\r'}, {'f', '\f'},
                                              {'a', '\a'}, {'e', '\x1b'}, {'0', '\0'}};
    // Java reads octal digits behind \0.
    const bool is_octal =
        letter == '0' && at_ < pattern_.size() && pattern_[at_] >= '0' && pattern_[at_] <= '7';
    if (is_octal) return Wrong("an octal escape; \\xHH is a byte");
    for (const auto& [name, byte] : controls) {
      if (letter == name) return SetOf(byte);
    }
    if (letter == 'x') return TakeHexadecimal();
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    // Refused rather than taken literally: Java may mean something by it (\p, \k, \1).
    if (is_letter || (letter >= '1' && letter <= '9')) {
      at_--;
      return Wrong("an unknown '\\' escape, or a back reference");
    }
    return SetOf(letter);
  }

  absl::StatusOr<ByteSet> TakeHexadecimal() {
    uint32_t byte = 0;
    for (int digit = 0; digit < 2; digit++) {
      const char letter = at_ < pattern_.size() ? pattern_[at_] : '\0';
      const char lower = static_cast<char>(letter | 0x20);
      if (letter >= '0' && letter <= '9') {
        byte = byte * 16 + static_cast<uint32_t>(letter - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        byte = byte * 16 + static_cast<uint32_t>(lower - 'a' + 10);
      } else {
        return Wrong("\\x takes two hexadecimal digits");
      }
      at_++;
    }
    return SetOf(static_cast<char>(byte));
  }

  static std::optional<ByteSet> NamedSet(char letter) {
    const auto between = [](ByteSet* set, char first, char last) {
      for (int byte = first; byte <= last; byte++) set->set(static_cast<size_t>(byte));
    };
    ByteSet set;
    // In lower case the letter names the set, in upper case its complement.
    switch (letter | 0x20) {
      case 'd':
        between(&set, '0', '9');
        break;
      case 'w':
        between(&set, '0', '9');
        between(&set, 'a', 'z');
        between(&set, 'A', 'Z');
        set.set('_');
        break;
      case 's':
        between(&set, '\t', '\r');
        set.set(' ');
        break;
      default:
        return std::nullopt;
    }
    return letter >= 'a' ? set : ~set;
  }

  // Behind the '['.
  // A ']' that comes first is a member, and so is a '-' that begins no range.
  absl::StatusOr<Steps> TakeClass() {
    const bool is_negated = Take("^");
    ByteSet all;
    for (bool is_first = true; !Has("]") || is_first; is_first = false) {
      if (at_ == pattern_.size()) return Wrong("a '[' without its ']'");
      // In Java these make unions and intersections of classes; taken for bytes they would match
      // something else.
      if (Has("[") || Has("&&")) return Wrong("a class inside a class: write '\\[' or '\\&'");
      WINNOW_ASSIGN_OR_RETURN(const ByteSet set, TakeMember());
      all |= set;
      const bool is_range = Has("-") && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']';
      if (!is_range) continue;
      at_++;
      WINNOW_ASSIGN_OR_RETURN(const ByteSet last, TakeMember());
      if (set.count() != 1 || last.count() != 1) return Wrong("a range of what are no bytes");
      const size_t begin = FirstOf(set);
      const size_t end = FirstOf(last);
      if (begin > end) return Wrong("a range that ends before it begins");
      for (size_t byte = begin; byte <= end; byte++) all.set(byte);
    }
    at_++;
    // Before the negation: [^a] then takes neither 'a' nor 'A'.
    if (ignores_case_) all = BothCases(all);
    return Set(is_negated ? ~all : all);
  }

  absl::StatusOr<ByteSet> TakeMember() {
    const char first = pattern_[at_++];
    if (first == '\\') return TakeEscapedSet();
    return SetOf(first);
  }

  static size_t FirstOf(const ByteSet& set) {
    size_t byte = 0;
    while (byte < set.size() && !set[byte]) byte++;
    return byte;
  }

  // Each applies to what those before it have made: a{2}{3} is (?:a{2}){3}.
  absl::StatusOr<Steps> TakeRepetitions(Steps atom) {
    while (at_ < pattern_.size()) {
      if (Take("*")) {
        atom = Star(atom);
      } else if (Take("+")) {
        WINNOW_ASSIGN_OR_RETURN(atom, Repeat(atom, 1, std::nullopt));
      } else if (Take("?")) {
        atom = Maybe(atom);
      } else if (Has("{")) {
        WINNOW_ASSIGN_OR_RETURN(atom, TakeCounted(atom));
      } else {
        break;
      }
      // At each, since the pattern may go on with any number of them.
      WINNOW_RETURN_IF_ERROR(CheckSteps(atom.size()));
      // How much a part takes decides nothing about whether something matches; what it never gives
      // back does.
      Take("?");
      if (Has("+")) return Wrong("a possessive repetition");
    }
    return atom;
  }

  absl::StatusOr<uint32_t> TakeNumber() {
    const size_t begin = at_;
    uint32_t number = 0;
    while (at_ < pattern_.size() && pattern_[at_] >= '0' && pattern_[at_] <= '9') {
      number = number * 10 + static_cast<uint32_t>(pattern_[at_++] - '0');
      // Checked at each digit, so that the number does not overflow.
      if (number > kMaxRepetitions) return Wrong(absl::StrCat("over ", kMaxRepetitions, " times"));
    }
    if (at_ == begin) return Wrong("{ takes a number, as {2}, {2,} or {2,5}; itself it is \\{");
    return number;
  }

  absl::StatusOr<Steps> TakeCounted(const Steps& atom) {
    at_++;
    WINNOW_ASSIGN_OR_RETURN(const uint32_t least, TakeNumber());
    std::optional<uint32_t> most = least;
    if (Take(",")) {
      most.reset();
      if (!Has("}")) {
        WINNOW_ASSIGN_OR_RETURN(most, TakeNumber());
      }
    }
    if (!Take("}")) return Wrong("a '{' without its '}'");
    if (most && *most < least) return Wrong("a repetition with more at least than at most");
    return Repeat(atom, least, most);
  }

  // Offsets wrap around: those that lead back are so too.
  static uint32_t Offset(size_t forward) { return static_cast<uint32_t>(forward); }
  // Compile adds the step's own place, modulo 2^32, and the sum is a place again.
  static uint32_t Back(size_t steps) { return static_cast<uint32_t>(-static_cast<int64_t>(steps)); }

  static Steps Star(const Steps& atom) {
    Steps steps = Maybe(atom);
    // Over the jump as well, which is put behind.
    steps.front().operand++;
    steps.push_back({Step::Kind::kJump, Back(steps.size())});
    return steps;
  }
  static Steps Maybe(const Steps& atom) {
    Steps steps{{Step::Kind::kSplit, Offset(atom.size() + 1)}};
    steps.insert(steps.end(), atom.begin(), atom.end());
    return steps;
  }
  // Unset: without end.
  // Copies rather than counters: the set of steps that are reached is all the state of a match.
  absl::StatusOr<Steps> Repeat(const Steps& atom, uint32_t least, std::optional<uint32_t> most) {
    Steps steps;
    for (uint32_t i = 0; i < least; i++) WINNOW_RETURN_IF_ERROR(Append(atom, &steps));
    if (!most) {
      WINNOW_RETURN_IF_ERROR(Append(Star(atom), &steps));
      return steps;
    }
    const Steps maybe = Maybe(atom);
    for (uint32_t i = least; i < *most; i++) WINNOW_RETURN_IF_ERROR(Append(maybe, &steps));
    return steps;
  }

  absl::Status Append(const Steps& part, Steps* steps) const {
    // Checked before the copy is made: nested repetitions multiply.
    WINNOW_RETURN_IF_ERROR(CheckSteps(steps->size() + part.size()));
    steps->insert(steps->end(), part.begin(), part.end());
    return absl::OkStatus();
  }
  absl::Status CheckSteps(size_t num_steps) const {
    if (num_steps < RegularExpression::kMaxSteps) return absl::OkStatus();
    return Wrong(absl::StrCat("over ", RegularExpression::kMaxSteps, " steps"));
  }

  static ByteSet SetOf(char byte) { return ByteSet().set(static_cast<uint8_t>(byte)); }
  // Of ASCII letters alone: text is bytes.
  static ByteSet BothCases(const ByteSet& set) {
    ByteSet both = set;
    for (size_t upper = 'A'; upper <= 'Z'; upper++) {
      const size_t lower = upper | 0x20;
      if (set[upper] || set[lower]) both.set(upper).set(lower);
    }
    return both;
  }
  Steps Byte(char byte) { return Set(SetOf(byte)); }
  Steps Set(ByteSet set) {
    // For single bytes: TakeClass folds a class before it negates it.
    if (ignores_case_ && set.count() == 1) set = BothCases(set);
    std::vector<ByteSet>& sets = expression_.sets_;
    // Equal sets are stored once, since literals repeat their bytes. A linear search: there are
    // few.
    const auto at = std::find(sets.begin(), sets.end(), set);
    const auto index = static_cast<uint32_t>(at - sets.begin());
    if (at == sets.end()) sets.push_back(set);
    return {{Step::Kind::kBytes, index}};
  }

  const std::string_view pattern_;
  size_t at_ = 0;
  bool ignores_case_;
  RegularExpression expression_;
};

absl::StatusOr<RegularExpression> RegularExpression::Compile(std::string_view pattern,
                                                             bool ignores_case) {
  auto compiled = RegularExpressionCompiler(pattern, ignores_case).Compile();
  if (!compiled.ok()) return compiled;
  std::vector<Step>& steps = compiled->steps_;
  for (size_t i = 0; i < steps.size(); i++) {
    Step& step = steps[i];
    if (step.kind == Step::Kind::kSplit || step.kind == Step::Kind::kJump) {
      step.operand += static_cast<uint32_t>(i);
    }
  }
  return compiled;
}

}  // namespace winnow
