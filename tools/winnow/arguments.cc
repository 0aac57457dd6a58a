#include "tools/winnow/arguments.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "filter/base/nearest_name.h"

namespace winnow::cli {
namespace {

// A word longer than this is no mistyped name.
constexpr size_t kLongestName = 64;

const FlagSpec* FindFlag(std::span<const FlagSpec> flags, std::string_view name) {
  const auto found = std::find_if(flags.begin(), flags.end(),
                                  [name](const FlagSpec& flag) { return flag.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

absl::Status UnknownFlag(std::span<const FlagSpec> flags, std::string_view name) {
  std::vector<std::string_view> names;
  for (const FlagSpec& flag : flags) names.push_back(flag.name);
  const std::string_view nearest = NearestName(name, names);
  std::string message = absl::StrCat("unknown flag --", ToAbsl(name));
  if (!nearest.empty()) absl::StrAppend(&message, "; did you mean --", ToAbsl(nearest), "?");
  return absl::InvalidArgumentError(message);
}

bool IsFlag(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

}  // namespace

std::string_view NearestName(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > kLongestName) return {};
  std::string_view nearest;
  size_t nearest_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const bool begins = word.size() >= 3 && candidate.substr(0, word.size()) == word;
    const size_t distance = begins ? 1 : EditDistance(word, candidate);
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

absl::StatusOr<Arguments> Arguments::Parse(std::span<const FlagSpec> flags,
                                           std::span<const std::string> words) {
  Arguments arguments;
  for (size_t i = 0; i < words.size(); i++) {
    if (words[i] == "--") {
      arguments.positionals_.insert(arguments.positionals_.end(), words.begin() + i + 1,
                                    words.end());
      break;
    }
    if (!IsFlag(words[i])) {
      arguments.positionals_.push_back(words[i]);
      continue;
    }
    size_t words_used = 0;
    absl::Status added = arguments.AddFlag(flags, words[i], words.subspan(i + 1), &words_used);
    if (!added.ok()) return added;
    i += words_used;
  }
  return arguments;
}

absl::Status Arguments::AddFlag(std::span<const FlagSpec> flags, std::string_view word,
                                std::span<const std::string> following, size_t* words_used) {
  if (word == "-h") word = "--help";
  const size_t dashes = word[1] == '-' ? 2 : 1;
  const size_t equals = word.find('=');
  const bool has_value = equals != std::string_view::npos;
  const std::string_view name = word.substr(dashes, has_value ? equals - dashes : equals);
  const FlagSpec* flag = dashes == 2 ? FindFlag(flags, name) : nullptr;
  if (flag == nullptr) return UnknownFlag(flags, name);

  std::string value;
  if (flag->value_name.empty()) {
    if (has_value) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", ToAbsl(name), " is a switch and takes no value"));
    }
  } else if (has_value) {
    value = word.substr(equals + 1);
  } else if (!following.empty()) {
    value = following.front();
    *words_used = 1;
  } else {
    return absl::InvalidArgumentError(absl::StrCat("--", ToAbsl(name), " needs a value: --",
                                                   ToAbsl(name), "=", ToAbsl(flag->value_name)));
  }

  std::vector<std::string>& values = values_[std::string(name)];
  if (!values.empty() && !flag->repeatable) {
    return absl::InvalidArgumentError(absl::StrCat("--", ToAbsl(name), " is given twice"));
  }
  values.push_back(std::move(value));
  return absl::OkStatus();
}

std::optional<std::string> Arguments::Text(std::string_view flag) const {
  const auto found = values_.find(flag);
  if (found == values_.end()) return std::nullopt;
  return found->second.front();
}

absl::StatusOr<std::optional<uint64_t>> Arguments::Number(std::string_view flag) const {
  const std::optional<std::string> text = Text(flag);
  if (!text.has_value()) return std::nullopt;
  uint64_t number = 0;
  if (!absl::SimpleAtoi(*text, &number)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", ToAbsl(flag), "=", *text, ": not a whole number from 0 to 2^64 - 1"));
  }
  return number;
}

std::vector<std::string> Arguments::All(std::string_view flag) const {
  const auto found = values_.find(flag);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

}  // namespace winnow::cli
