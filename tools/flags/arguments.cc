#include "tools/flags/arguments.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/flags/nearest_name.h"

namespace winnow::cli {
namespace {

const FlagSpec* FindFlag(std::span<const FlagSpec> flags, std::string_view name) {
  const auto found = std::find_if(flags.begin(), flags.end(),
                                  [name](const FlagSpec& flag) { return flag.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

// A name of one letter has one dash, any other two.
std::string WithDashes(std::string_view name) {
  return std::string(name.size() == 1 ? "-" : "--").append(name);
}

bool IsFlag(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

// One word that begins with a dash.
struct FlagWord {
  size_t num_dashes = 0;
  std::string name;
  std::optional<std::string> value;  // behind "="
};

FlagWord TakeApart(std::string_view word) {
  if (word == "-h") word = "--help";
  FlagWord parts;
  parts.num_dashes = word[1] == '-' ? 2 : 1;
  word.remove_prefix(parts.num_dashes);
  const size_t equals = word.find('=');
  parts.name = word.substr(0, equals);
  if (equals != std::string_view::npos) parts.value = word.substr(equals + 1);
  return parts;
}

absl::Status UnknownFlag(std::span<const FlagSpec> flags, const FlagWord& word) {
  std::vector<std::string_view> names;
  for (const FlagSpec& flag : flags) names.push_back(flag.name);
  std::string message = absl::StrCat("unknown flag ", std::string(word.num_dashes, '-'), word.name);
  if (const std::string_view nearest = NearestName(word.name, names); !nearest.empty()) {
    absl::StrAppend(&message, "; did you mean ", WithDashes(nearest), "?");
  } else if (!word.name.empty() && absl::ascii_isdigit(static_cast<unsigned char>(word.name[0]))) {
    absl::StrAppend(&message, "; write -- before words that begin with a dash");
  } else if (FindFlag(flags, "help") != nullptr) {
    absl::StrAppend(&message, "; --help lists those that there are");
  }
  return absl::InvalidArgumentError(message);
}

// Makes --switch=false of db_bench's --noswitch, and --switch=true of --switch.
void SpellOutSwitch(std::span<const FlagSpec> flags, FlagWord* word) {
  if (word->value.has_value()) return;
  const auto is_switch = [flags](std::string_view name) {
    const FlagSpec* flag = FindFlag(flags, name);
    return flag != nullptr && flag->value_name.empty();
  };
  if (is_switch(word->name)) {
    word->value = "true";
  } else if (word->name.starts_with("no") && FindFlag(flags, word->name) == nullptr &&
             is_switch(std::string_view(word->name).substr(2))) {
    word->name.erase(0, 2);
    word->value = "false";
  }
}

}  // namespace

std::string FlagAsWritten(const FlagSpec& flag) {
  std::string text = WithDashes(flag.name);
  if (!flag.value_name.empty()) {
    text.append(flag.name.size() == 1 ? " " : "=").append(flag.value_name);
  }
  return text;
}

absl::StatusOr<Arguments> Arguments::Parse(std::span<const FlagSpec> flags,
                                           std::span<const std::string> words, Dialect dialect) {
  Arguments arguments;
  while (!words.empty()) {
    if (dialect == Dialect::kPlain && words.front() == "--") {
      arguments.positionals_.insert(arguments.positionals_.end(), words.begin() + 1, words.end());
      break;
    }
    size_t words_taken = 1;
    if (IsFlag(words.front())) {
      const absl::StatusOr<size_t> taken = arguments.TakeFlag(flags, words, dialect);
      if (!taken.ok()) return taken.status();
      words_taken = *taken;
    } else if (dialect == Dialect::kPlain) {
      arguments.positionals_.push_back(words.front());
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", words.front(), "\" is not a flag; flags are written --name=value"));
    }
    words = words.subspan(words_taken);
  }
  return arguments;
}

absl::StatusOr<size_t> Arguments::TakeFlag(std::span<const FlagSpec> flags,
                                           std::span<const std::string> words, Dialect dialect) {
  const bool is_plain = dialect == Dialect::kPlain;
  FlagWord word = TakeApart(words.front());
  if (!is_plain) SpellOutSwitch(flags, &word);
  const bool has_its_dashes = !is_plain || word.num_dashes == (word.name.size() == 1 ? 1 : 2);
  const FlagSpec* flag = has_its_dashes ? FindFlag(flags, word.name) : nullptr;
  if (flag == nullptr) return UnknownFlag(flags, word);

  size_t words_taken = 1;
  if (flag->value_name.empty()) {
    if (is_plain && word.value.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(WithDashes(word.name), " is a switch and takes no value"));
    }
  } else if (!word.value.has_value()) {
    if (words.size() == 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(WithDashes(word.name), " needs a value: ", FlagAsWritten(*flag)));
    }
    word.value = words[1];
    words_taken = 2;
  }

  std::vector<std::string>& values = values_[word.name];
  if (is_plain && !values.empty() && !flag->repeatable) {
    return absl::InvalidArgumentError(absl::StrCat(WithDashes(word.name), " is given twice"));
  }
  values.push_back(word.value.value_or(""));
  return words_taken;
}

std::optional<std::string> Arguments::Text(std::string_view flag) const {
  const auto found = values_.find(flag);
  if (found == values_.end()) return std::nullopt;
  return found->second.back();
}

void Arguments::Clear(std::string_view flag) {
  if (const auto found = values_.find(flag); found != values_.end()) values_.erase(found);
}

absl::StatusOr<std::optional<uint64_t>> Arguments::Number(std::string_view flag) const {
  const std::optional<std::string> text = Text(flag);
  if (!text.has_value()) return std::nullopt;
  uint64_t number = 0;
  if (!absl::SimpleAtoi(*text, &number)) {
    return absl::InvalidArgumentError(absl::StrCat("--", std::string(flag), "=", *text,
                                                   ": not a whole number from 0 to 2^64 - 1"));
  }
  return number;
}

std::vector<std::string> Arguments::All(std::string_view flag) const {
  const auto found = values_.find(flag);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

}  // namespace winnow::cli
