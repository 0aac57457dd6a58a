#include "tools/winnow/shell/parameters.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow::shell {
namespace {

absl::Status Wrong(std::string_view what, std::string_view is) {
  return absl::InvalidArgumentError(absl::StrCat(ToAbsl(what), " ", ToAbsl(is)));
}

}  // namespace

absl::StatusOr<std::string> TextOf(const Value& value, std::string_view what) {
  switch (value.type) {
    case Value::Type::kText:
      return value.text;
    case Value::Type::kInteger:
      return absl::StrCat(value.integer);
    case Value::Type::kBoolean:
      return std::string(value.boolean ? "true" : "false");
    case Value::Type::kWord:
      return Wrong(what, absl::StrCat("is not quoted: write '", value.text, "'"));
    case Value::Type::kNil:
      return Wrong(what, "is nil");
    default:
      return Wrong(what, "must be a text");
  }
}

absl::StatusOr<uint64_t> NumberOf(const Value& value, std::string_view what) {
  int64_t number = -1;
  if (value.Is(Value::Type::kInteger)) number = value.integer;
  if (value.Is(Value::Type::kText) && !absl::SimpleAtoi(value.text, &number)) number = -1;
  if (number < 0) return Wrong(what, "must be a whole number, 0 or more");
  return static_cast<uint64_t>(number);
}

absl::StatusOr<bool> BooleanOf(const Value& value, std::string_view what) {
  if (value.Is(Value::Type::kBoolean)) return value.boolean;
  if (value.Is(Value::Type::kText)) {
    if (value.text == "true" || value.text == "TRUE") return true;
    if (value.text == "false" || value.text == "FALSE") return false;
  }
  return Wrong(what, "must be true or false");
}

absl::StatusOr<std::vector<std::string>> TextsOf(const Value& value, std::string_view what) {
  std::vector<std::string> texts;
  if (!value.Is(Value::Type::kList)) {
    WINNOW_ASSIGN_OR_RETURN(std::string text, TextOf(value, what));
    texts.push_back(std::move(text));
    return texts;
  }
  for (const Value& item : value.items) {
    WINNOW_ASSIGN_OR_RETURN(std::string text, TextOf(item, what));
    texts.push_back(std::move(text));
  }
  return texts;
}

Keywords::Keywords(Value hash) {
  for (auto& [key, value] : hash.entries) {
    Take(key.text);
    entries_.emplace_back(std::move(key.text), std::move(value));
  }
}

bool Keywords::Has(std::string_view key) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [key](const auto& entry) { return entry.first == key; });
}

std::optional<Value> Keywords::Take(std::string_view key) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [key](const auto& entry) { return entry.first == key; });
  if (found == entries_.end()) return std::nullopt;
  Value value = std::move(found->second);
  entries_.erase(found);
  if (value.Is(Value::Type::kNil)) return std::nullopt;
  return value;
}

absl::StatusOr<std::optional<std::string>> Keywords::TakeText(std::string_view key) {
  const std::optional<Value> value = Take(key);
  if (!value) return std::optional<std::string>();
  WINNOW_ASSIGN_OR_RETURN(std::string text, TextOf(*value, key));
  return std::optional<std::string>(std::move(text));
}

absl::StatusOr<std::optional<uint64_t>> Keywords::TakeNumber(std::string_view key) {
  const std::optional<Value> value = Take(key);
  if (!value) return std::optional<uint64_t>();
  WINNOW_ASSIGN_OR_RETURN(const uint64_t number, NumberOf(*value, key));
  return std::optional<uint64_t>(number);
}

absl::StatusOr<bool> Keywords::TakeBoolean(std::string_view key) {
  const std::optional<Value> value = Take(key);
  if (!value) return false;
  return BooleanOf(*value, key);
}

absl::Status Keywords::Finish() const {
  if (entries_.empty()) return absl::OkStatus();
  return Wrong(entries_.front().first, "is not known here");
}

absl::StatusOr<std::string> Parameters::TakeText(std::string_view what) {
  if (empty()) return Wrong(what, "is missing");
  return TextOf(Take(), what);
}

absl::StatusOr<uint64_t> Parameters::TakeNumber(std::string_view what) {
  if (empty()) return Wrong(what, "is missing");
  return NumberOf(Take(), what);
}

Keywords Parameters::TakeKeywords() {
  return NextIs(Value::Type::kHash) ? Keywords(Take()) : Keywords();
}

absl::Status Parameters::Finish() const {
  if (empty()) return absl::OkStatus();
  return Wrong(absl::StrCat("argument ", next_ + 1), "is one too many");
}

}  // namespace winnow::shell
