// A rule is a staircase of limits with ascending ages and descending numbers of versions. A version
// goes if for one of them it is too old and has enough newer versions. "or" of two rules is the
// union of their limits. "and" pairs each limit of one with each of the other and takes the greater
// age and the greater number, since both have to be met. So every formula becomes a staircase, and
// readers never walk a tree. The rules are those of Bigtable's garbage collection.
#include "engine/table/garbage_rule.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow {

// A limit with a smaller age and no more versions makes another mean nothing.
GarbageRule GarbageRule::Normalized(std::vector<Limit> limits) {
  std::sort(limits.begin(), limits.end(), [](const Limit& a, const Limit& b) {
    return a.age_ms != b.age_ms ? a.age_ms < b.age_ms : a.versions < b.versions;
  });
  GarbageRule rule;
  for (const Limit& limit : limits) {
    // Sorted by age: what is kept has smaller ages, and the last one has the fewest versions so
    // far.
    if (rule.limits_.empty() || limit.versions < rule.limits_.back().versions) {
      rule.limits_.push_back(limit);
    }
  }
  return rule;
}

GarbageRule GarbageRule::Of(const FamilySchema& schema) {
  std::vector<Limit> limits{{.age_ms = 0, .versions = schema.max_versions}};
  if (schema.ttl_seconds != 0) {
    // A version past the TTL goes if there are MIN_VERSIONS newer ones; if that is 0, always.
    limits.push_back({.age_ms = schema.ttl_seconds * 1000, .versions = schema.min_versions});
  }
  return Normalized(std::move(limits));
}

GarbageRule GarbageRule::Or(const GarbageRule& other) const {
  std::vector<Limit> limits = limits_;
  limits.insert(limits.end(), other.limits_.begin(), other.limits_.end());
  return Normalized(std::move(limits));
}

// O(n x m), of staircases that have fewer than 100 steps: a text of kMaxTextBytes has room for no
// more ages.
GarbageRule GarbageRule::And(const GarbageRule& other) const {
  std::vector<Limit> limits;
  for (const Limit& a : limits_) {
    for (const Limit& b : other.limits_) {
      limits.push_back(
          {.age_ms = std::max(a.age_ms, b.age_ms), .versions = std::max(a.versions, b.versions)});
    }
  }
  return Normalized(std::move(limits));
}

// A limit that no limit of the other implies makes it stricter: a version that just meets this
// limit goes by this rule alone.
bool GarbageRule::IsStricterThan(const GarbageRule& other) const {
  return std::any_of(limits_.begin(), limits_.end(), [&](const Limit& limit) {
    return std::none_of(other.limits_.begin(), other.limits_.end(), [&](const Limit& before) {
      return before.age_ms <= limit.age_ms && before.versions <= limit.versions;
    });
  });
}

// "and" binds stronger than "or"; words may be in any case. Each function leaves at_ behind what it
// has taken, so that an error can say where.
class GarbageRuleParser {
 public:
  explicit GarbageRuleParser(std::string_view text) : text_(text) {}

  absl::StatusOr<GarbageRule> Parse() {
    if (text_.size() > GarbageRule::kMaxTextBytes) {
      return absl::InvalidArgumentError(absl::StrCat("garbage rule of ", text_.size(),
                                                     " bytes is over the limit of ",
                                                     GarbageRule::kMaxTextBytes));
    }
    WINNOW_ASSIGN_OR_RETURN(GarbageRule rule, TakeAlternatives(0));
    SkipSpace();
    if (at_ < text_.size()) return Wrong("'and', 'or' or the end is expected");
    return rule;
  }

 private:
  // Of parentheses, each level of which takes stack.
  static constexpr int kMaxDepth = 50;

  absl::Status Wrong(std::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("garbage rule: ", ToAbsl(what), ", at byte ", at_));
  }
  void SkipSpace() {
    while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) {
      at_++;
    }
  }
  bool Take(char sign) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != sign) return false;
    at_++;
    return true;
  }
  template <typename Belongs>
  std::string_view NextRun(Belongs belongs) {
    SkipSpace();
    size_t end = at_;
    while (end < text_.size() && belongs(static_cast<unsigned char>(text_[end]))) end++;
    return text_.substr(at_, end - at_);
  }
  // A whole run of letters is compared, so that 'm' does not take the beginning of 'ms'.
  bool TakeWord(std::string_view word) {
    if (!absl::EqualsIgnoreCase(ToAbsl(NextRun(absl::ascii_isalpha)), ToAbsl(word))) return false;
    at_ += word.size();
    return true;
  }

  // Staircases are combined while the text is read: no tree is built.
  absl::StatusOr<GarbageRule> TakeAlternatives(int depth) {
    WINNOW_ASSIGN_OR_RETURN(GarbageRule rule, TakeConjunction(depth));
    while (TakeWord("or")) {
      WINNOW_ASSIGN_OR_RETURN(const GarbageRule other, TakeConjunction(depth));
      rule = rule.Or(other);
    }
    return rule;
  }
  absl::StatusOr<GarbageRule> TakeConjunction(int depth) {
    WINNOW_ASSIGN_OR_RETURN(GarbageRule rule, TakeOperand(depth));
    while (TakeWord("and")) {
      WINNOW_ASSIGN_OR_RETURN(const GarbageRule other, TakeOperand(depth));
      rule = rule.And(other);
    }
    return rule;
  }
  absl::StatusOr<GarbageRule> TakeOperand(int depth) {
    if (depth > kMaxDepth) return Wrong("too many parentheses");
    if (Take('(')) {
      WINNOW_ASSIGN_OR_RETURN(GarbageRule rule, TakeAlternatives(depth + 1));
      if (!Take(')')) return Wrong("a '(' without its ')'");
      return rule;
    }
    GarbageRule::Limit limit;
    if (TakeWord("maxversions")) {
      WINNOW_ASSIGN_OR_RETURN(limit.versions, TakeAmount(kUnlimitedVersions));
    } else if (TakeWord("maxage")) {
      WINNOW_ASSIGN_OR_RETURN(limit.age_ms, TakeAge());
    } else {
      return Wrong("maxversions=N, maxage=T or '(' is expected");
    }
    return GarbageRule::Normalized({limit});
  }

  absl::StatusOr<uint64_t> TakeAmount(uint64_t most) {
    if (at_ < text_.size() && !Take('=')) return Wrong("'=' is expected");
    const std::string_view digits = NextRun(absl::ascii_isdigit);
    uint64_t number = 0;
    if (!absl::SimpleAtoi(ToAbsl(digits), &number) || number == 0 || number > most) {
      return Wrong(absl::StrCat("a number from 1 to ", most, " is expected"));
    }
    at_ += digits.size();
    return number;
  }

  absl::StatusOr<uint64_t> TakeAge() {
    WINNOW_ASSIGN_OR_RETURN(const uint64_t number, TakeAmount(kMaxTtlSeconds));
    const std::pair<std::string_view, uint64_t> units[] = {
        {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
    for (const auto& [unit, ms] : units) {
      if (!TakeWord(unit)) continue;
      // Divided, since the product might not fit into 64 bits.
      if (number > kMaxTtlSeconds * 1000 / ms) return Wrong("an age over the limit");
      return number * ms;
    }
    return Wrong("a unit is expected: ms, s, m, h or d");
  }

  const std::string_view text_;
  size_t at_ = 0;
};

absl::StatusOr<GarbageRule> GarbageRule::Parse(std::string_view text) {
  return GarbageRuleParser(text).Parse();
}

}  // namespace winnow
