// TableFilter::Parse and ToString.
//
//   alternatives = conjunction { "OR" conjunction }
//   conjunction  = operand { "AND" operand }
//   operand      = ( "SKIP" | "WHILE" ) operand | "(" alternatives ")" | filter
//   filter       = name "(" [ argument { "," argument } ] ")"
//
// Parse goes down this grammar, a function for each line. Each leaves at_ behind what it has taken,
// so that an error can say where it is. What arguments a filter has is in one table, by which
// ToString writes them as well.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/status.h"
#include "engine/table/filter_bounds.h"
#include "engine/table/filter_node.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// Bounds the size of the tree as well: each node takes some bytes of text.
constexpr size_t kMaxTextBytes = size_t{64} << 10;

// What the arguments of a filter are, a letter for each: s bytes, n a number, b a boolean, o an
// operator, c a comparator. Those behind '?' may be left out, from the end, an operator only with
// its comparator. Those in front of '*' come any number of times, at least once.
struct FilterName {
  std::string_view name;
  FilterKind kind;
  std::string_view arguments;
};

constexpr FilterName kFilterNames[] = {
    {"KeyOnlyFilter", FilterKind::kKeyOnly, "?b"},
    {"FirstKeyOnlyFilter", FilterKind::kFirstKeyOnly, ""},
    {"PrefixFilter", FilterKind::kPrefix, "s"},
    {"ColumnPrefixFilter", FilterKind::kColumnPrefix, "s"},
    {"MultipleColumnPrefixFilter", FilterKind::kMultipleColumnPrefix, "s*"},
    {"ColumnCountGetFilter", FilterKind::kColumnCountGet, "n"},
    {"PageFilter", FilterKind::kPage, "n"},
    {"ColumnPaginationFilter", FilterKind::kColumnPagination, "nn"},
    {"InclusiveStopFilter", FilterKind::kInclusiveStop, "s"},
    {"TimestampsFilter", FilterKind::kTimestamps, "n*"},
    {"RowFilter", FilterKind::kRow, "oc"},
    {"FamilyFilter", FilterKind::kFamily, "oc"},
    {"QualifierFilter", FilterKind::kQualifier, "oc"},
    {"ValueFilter", FilterKind::kValue, "oc"},
    {"ColumnRangeFilter", FilterKind::kColumnRange, "sbsb"},
    {"SingleColumnValueFilter", FilterKind::kSingleColumnValue, "ssoc?bb"},
    {"SingleColumnValueExcludeFilter", FilterKind::kSingleColumnValueExclude, "ssoc?bb"},
    {"DependentColumnFilter", FilterKind::kDependentColumn, "ss?boc"},
    {"ColumnValueFilter", FilterKind::kColumnValue, "ssoc"},
    {"FuzzyRowFilter", FilterKind::kFuzzyRow, "ss*"},
    {"MultiRowRangeFilter", FilterKind::kMultiRowRange, "sbsb*"},
};

// Tried in this order: of signs that begin alike the longer comes first.
constexpr std::pair<std::string_view, CompareOperator> kOperators[] = {
    {"<=", CompareOperator::kLessOrEqual}, {">=", CompareOperator::kGreaterOrEqual},
    {"!=", CompareOperator::kNotEqual},    {"<", CompareOperator::kLess},
    {">", CompareOperator::kGreater},      {"=", CompareOperator::kEqual},
};

struct ComparatorName {
  std::string_view name;
  Comparison::Kind kind;
  bool ignores_case;
};
constexpr ComparatorName kComparators[] = {
    {"binary", Comparison::Kind::kBinary, false},
    {"binaryprefix", Comparison::Kind::kBinaryPrefix, false},
    {"substring", Comparison::Kind::kSubstring, false},
    {"regexstring", Comparison::Kind::kRegularExpression, false},
    {"regexstringnocase", Comparison::Kind::kRegularExpression, true},
};

std::string_view NameOf(CompareOperator op) {
  for (const auto& [name, named] : kOperators) {
    if (named == op) return name;
  }
  return "";
}

class FilterParser {
 public:
  explicit FilterParser(std::string_view text) : text_(text) {}

  absl::StatusOr<TableFilter> Parse() {
    if (text_.size() > kMaxTextBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("filter of ", text_.size(), " bytes is over the limit of ", kMaxTextBytes));
    }
    WINNOW_ASSIGN_OR_RETURN(FilterNode node, TakeAlternatives(0));
    SkipSpace();
    if (at_ < text_.size()) return Wrong("AND, OR or the end is expected");
    // An AND in an OR is a level of its own, also where the text has no parentheses for it.
    WINNOW_RETURN_IF_ERROR(CheckDepth(node));
    return TableFilterAccess::Make(std::move(node));
  }

 private:
  absl::Status Wrong(std::string_view what) const { return WrongAt(at_, what); }
  static absl::Status WrongAt(size_t at, std::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("filter: ", ToAbsl(what), ", at byte ", at));
  }

  void SkipSpace() {
    while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) {
      at_++;
    }
  }
  bool Take(std::string_view sign) {
    SkipSpace();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  // Letters alone: "ORDER" is not an OR.
  std::string_view NextWord() {
    SkipSpace();
    size_t end = at_;
    while (end < text_.size() && absl::ascii_isalnum(static_cast<unsigned char>(text_[end]))) end++;
    return text_.substr(at_, end - at_);
  }
  bool TakeWord(std::string_view word) {
    if (NextWord() != word) return false;
    at_ += word.size();
    return true;
  }

  // Takes a member of a list: whatever binds stronger than the list's word.
  using Operand = absl::StatusOr<FilterNode> (FilterParser::*)(int depth);

  absl::StatusOr<FilterNode> TakeAlternatives(int depth) {
    return TakeList(FilterKind::kOr, "OR", &FilterParser::TakeConjunction, depth);
  }
  absl::StatusOr<FilterNode> TakeConjunction(int depth) {
    return TakeList(FilterKind::kAnd, "AND", &FilterParser::TakeOperand, depth);
  }
  // A list of one member is that member: no node is made for it.
  absl::StatusOr<FilterNode> TakeList(FilterKind kind, std::string_view word, Operand operand,
                                      int depth) {
    WINNOW_ASSIGN_OR_RETURN(FilterNode first, (this->*operand)(depth));
    // The word is not taken: it may be one that a caller waits for.
    if (NextWord() != word) return first;
    FilterNode list{.kind = kind};
    AddChild(std::make_shared<const FilterNode>(std::move(first)), &list);
    while (TakeWord(word)) {
      WINNOW_ASSIGN_OR_RETURN(FilterNode next, (this->*operand)(depth));
      AddChild(std::make_shared<const FilterNode>(std::move(next)), &list);
    }
    return list;
  }

  absl::StatusOr<FilterNode> TakeOperand(int depth) {
    // SKIP and WHILE in a row count as parentheses do.
    if (depth > kMaxFilterDepth) return Wrong("filters are nested too deep");
    const bool skips = TakeWord("SKIP");
    if (skips || TakeWord("WHILE")) {
      FilterNode node{.kind = skips ? FilterKind::kSkip : FilterKind::kWhile};
      WINNOW_ASSIGN_OR_RETURN(FilterNode inner, TakeOperand(depth + 1));
      AddChild(std::make_shared<const FilterNode>(std::move(inner)), &node);
      return node;
    }
    if (!Take("(")) return TakeFilter();
    WINNOW_ASSIGN_OR_RETURN(FilterNode inner, TakeAlternatives(depth + 1));
    if (!Take(")")) return Wrong("a '(' without its ')'");
    return inner;
  }

  absl::StatusOr<FilterNode> TakeFilter() {
    const std::string_view word = NextWord();
    if (word.empty()) return Wrong("the name of a filter is expected");
    for (const FilterName& filter : kFilterNames) {
      if (filter.name != word) continue;
      at_ += word.size();
      if (!Take("(")) return Wrong("'(' and the arguments are expected");
      return TakeArguments(filter);
    }
    return Wrong(absl::StrCat("there is no filter '", ToAbsl(word), "'"));
  }

  // Goes through the letters of the table beside the text. Arguments that repeat come in whole
  // groups: a ',' behind one begins another.
  absl::StatusOr<FilterNode> TakeArguments(const FilterName& filter) {
    const size_t begin = at_;
    FilterNode node{.kind = filter.kind};
    std::string_view wanted = filter.arguments;
    const bool repeats = wanted.ends_with('*');
    if (repeats) wanted.remove_suffix(1);
    bool is_optional = false;
    bool is_first = true;
    do {
      for (const char argument : wanted) {
        if (argument == '?') {
          is_optional = true;
          continue;
        }
        SkipSpace();
        const bool ends = text_.substr(at_).starts_with(")");
        // A comparator is never left out alone: its operator stands in front of it.
        if (ends && is_optional && argument != 'c') break;
        if (ends) return Wrong(absl::StrCat(ToAbsl(filter.name), " takes more arguments"));
        if (!is_first && !Take(",")) return Wrong("',' or ')' is expected");
        is_first = false;
        WINNOW_RETURN_IF_ERROR(TakeArgument(argument, &node));
      }
      SkipSpace();
    } while (repeats && text_.substr(at_).starts_with(","));
    if (!Take(")")) return Wrong(absl::StrCat(ToAbsl(filter.name), ": ')' is expected"));
    // What is wrong lies between several arguments: the error names where the first of them stands.
    if (absl::Status status = CheckNode(node); !status.ok()) {
      return WrongAt(begin, ToStd(status.message()));
    }
    return Completed(std::move(node));
  }

  absl::Status TakeArgument(char argument, FilterNode* node) {
    switch (argument) {
      case 's': {
        WINNOW_ASSIGN_OR_RETURN(node->strings.emplace_back(), TakeQuoted());
        return absl::OkStatus();
      }
      case 'n': {
        WINNOW_ASSIGN_OR_RETURN(node->numbers.emplace_back(), TakeNumber());
        return absl::OkStatus();
      }
      case 'b': {
        const std::string_view word = NextWord();
        const bool is_true = absl::EqualsIgnoreCase(ToAbsl(word), "true");
        if (!is_true && !absl::EqualsIgnoreCase(ToAbsl(word), "false")) {
          return Wrong("true or false is expected");
        }
        at_ += word.size();
        node->flags.push_back(is_true);
        return absl::OkStatus();
      }
      case 'o':
        for (const auto& [name, op] : kOperators) {
          if (!Take(name)) continue;
          // The comparator, which follows, fills in the rest.
          node->comparison.emplace().op = op;
          return absl::OkStatus();
        }
        return Wrong("one of < <= = != >= > is expected");
      default:
        return TakeComparator(&*node->comparison);
    }
  }

  absl::Status TakeComparator(Comparison* comparison) {
    SkipSpace();
    const size_t begin = at_;
    WINNOW_ASSIGN_OR_RETURN(const std::string text, TakeQuoted());
    // The first one ends the kind; the bytes behind it may hold others.
    const size_t colon = text.find(':');
    const std::string_view name = std::string_view(text).substr(0, colon);
    for (const ComparatorName& comparator : kComparators) {
      if (colon == std::string::npos || comparator.name != name) continue;
      comparison->kind = comparator.kind;
      comparison->ignores_case = comparator.ignores_case;
      comparison->bytes = text.substr(colon + 1);
      return FinishComparison(begin, comparison);
    }
    return WrongAt(begin,
                   "a comparator begins with 'binary:', 'binaryprefix:', 'substring:', "
                   "'regexstring:' or 'regexstringnocase:'");
  }

  // A regular expression is compiled once, here; the node is immutable, and all reads share it.
  static absl::Status FinishComparison(size_t begin, Comparison* comparison) {
    const bool is_search = comparison->kind == Comparison::Kind::kSubstring ||
                           comparison->kind == Comparison::Kind::kRegularExpression;
    // A text is contained or it is not: there is no order.
    if (is_search && comparison->op != CompareOperator::kEqual &&
        comparison->op != CompareOperator::kNotEqual) {
      return WrongAt(begin, "substring and regexstring compare by = and != alone");
    }
    if (comparison->kind != Comparison::Kind::kRegularExpression) return absl::OkStatus();
    auto compiled = RegularExpression::Compile(comparison->bytes, comparison->ignores_case);
    if (!compiled.ok()) return WrongAt(begin, ToStd(compiled.status().message()));
    comparison->expression = *std::move(compiled);
    return absl::OkStatus();
  }

  // Any bytes may stand in quotes, zeros and line feeds among them.
  absl::StatusOr<std::string> TakeQuoted() {
    if (!Take("'")) return Wrong("bytes in single quotes are expected");
    std::string bytes;
    while (true) {
      const size_t quote = text_.find('\'', at_);
      if (quote == std::string_view::npos) return Wrong("a quote is not closed");
      bytes.append(text_.substr(at_, quote - at_));
      at_ = quote + 1;
      if (!text_.substr(at_).starts_with('\'')) return bytes;
      bytes.push_back('\'');
      at_++;
    }
  }

  // A sign is no part of a word, and what does not fit into 64 bits is refused.
  absl::StatusOr<uint64_t> TakeNumber() {
    const std::string_view word = NextWord();
    uint64_t number = 0;
    if (!absl::SimpleAtoi(ToAbsl(word), &number)) return Wrong("a whole number is expected");
    at_ += word.size();
    return number;
  }

  static absl::Status CheckNode(const FilterNode& node) {
    if (node.kind != FilterKind::kFuzzyRow) return absl::OkStatus();
    for (size_t i = 0; i < node.strings.size(); i += 2) {
      if (node.strings[i].size() != node.strings[i + 1].size()) {
        return absl::InvalidArgumentError("FuzzyRowFilter: a mask is as long as its row");
      }
      if (node.strings[i + 1].find_first_not_of("01") != std::string::npos) {
        return absl::InvalidArgumentError("FuzzyRowFilter: a mask is of 0 and 1");
      }
    }
    return absl::OkStatus();
  }

  // With what was left out, timestamps in order, and its ranges.
  // Whoever uses the node takes its flags by index, without asking whether they were given.
  static FilterNode Completed(FilterNode node) {
    switch (node.kind) {
      case FilterKind::kKeyOnly:
        if (node.flags.empty()) node.flags = {false};
        break;
      case FilterKind::kSingleColumnValue:
      case FilterKind::kSingleColumnValueExclude:
        if (node.flags.empty()) node.flags = {false};
        if (node.flags.size() == 1) node.flags.push_back(true);
        break;
      case FilterKind::kDependentColumn:
        if (node.flags.empty()) node.flags = {false};
        break;
      // For the binary search in CellState.
      case FilterKind::kTimestamps:
        std::sort(node.numbers.begin(), node.numbers.end());
        break;
      default:
        break;
    }
    KeepRanges(&node);
    return node;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

std::string TextOf(const Comparison& comparison) {
  for (const ComparatorName& comparator : kComparators) {
    if (comparator.kind != comparison.kind || comparator.ignores_case != comparison.ignores_case) {
      continue;
    }
    return absl::StrCat(
        ToAbsl(NameOf(comparison.op)), ", ",
        TableFilter::Quote(absl::StrCat(ToAbsl(comparator.name), ":", comparison.bytes)));
  }
  return "";
}

// Follows the letters of the table, as TakeArguments does. '?' and '*' are no arguments, and 'o'
// writes the comparator as well.
std::string TextOfArguments(const FilterNode& node, std::string_view wanted) {
  std::vector<std::string> arguments;
  auto string = node.strings.begin();
  auto number = node.numbers.begin();
  auto flag = node.flags.begin();
  const auto add = [&](char argument) {
    if (argument == 's') arguments.push_back(TableFilter::Quote(*string++));
    if (argument == 'n') arguments.push_back(absl::StrCat(*number++));
    if (argument == 'b') arguments.push_back(*flag++ ? "true" : "false");
    if (argument == 'o' && node.comparison) arguments.push_back(TextOf(*node.comparison));
  };
  // As many groups as there are arguments to write.
  do {
    for (const char argument : wanted) add(argument);
  } while (wanted.ends_with('*') && (string != node.strings.end() || number != node.numbers.end()));
  return absl::StrJoin(arguments, ", ");
}

std::string TextOf(const FilterNode& node) {
  // A list in a list, or behind SKIP or WHILE, would be read otherwise without parentheses.
  const auto inner = [&](const FilterNode& child) {
    const bool is_list = child.kind == FilterKind::kAnd || child.kind == FilterKind::kOr;
    return is_list ? absl::StrCat("(", TextOf(child), ")") : TextOf(child);
  };
  switch (node.kind) {
    case FilterKind::kAnd:
    case FilterKind::kOr: {
      const std::string_view word = node.kind == FilterKind::kAnd ? " AND " : " OR ";
      return absl::StrJoin(node.children, ToAbsl(word), [&](std::string* out, const auto& child) {
        out->append(inner(*child));
      });
    }
    case FilterKind::kSkip:
      return absl::StrCat("SKIP ", inner(*node.children.front()));
    case FilterKind::kWhile:
      return absl::StrCat("WHILE ", inner(*node.children.front()));
    case FilterKind::kEverything:
      // The text has no name for it; every row begins with no bytes at all.
      return "PrefixFilter('')";
    default:
      break;
  }
  for (const FilterName& filter : kFilterNames) {
    if (filter.kind != node.kind) continue;
    return absl::StrCat(ToAbsl(filter.name), "(", TextOfArguments(node, filter.arguments), ")");
  }
  return "";
}

}  // namespace

absl::StatusOr<TableFilter> TableFilter::Parse(std::string_view text) {
  return CatchOutOfMemory(
      [&]() -> absl::StatusOr<TableFilter> { return FilterParser(text).Parse(); });
}

std::string TableFilter::Quote(std::string_view bytes) {
  std::string quoted = "'";
  for (const char byte : bytes) {
    if (byte == '\'') quoted.push_back('\'');
    quoted.push_back(byte);
  }
  quoted.push_back('\'');
  return quoted;
}

std::string TableFilter::ToString() const { return node_ == nullptr ? "" : TextOf(*node_); }

}  // namespace winnow
