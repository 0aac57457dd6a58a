#include "tools/winnow/key_groups.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "engine/base/status.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/database.h"

namespace winnow::cli {

const FlagSpec KeyGroups::kFileFlag = {
    "from-file", "FILE",
    "instead of KEY, keys one a line, escaped or with --hex, as `winnow scan\n"
    "--keys-only` prints them; - is standard input"};

absl::StatusOr<KeyGroups> KeyGroups::Open(const Arguments& arguments) {
  const std::optional<std::string> path = arguments.Text(kFileFlag.name);
  if (path.has_value() == !arguments.positionals().empty()) {
    return absl::InvalidArgumentError("give keys, or --from-file=FILE");
  }
  KeyGroups groups;
  WINNOW_ASSIGN_OR_RETURN(groups.form_, FormOfFlags(arguments));
  for (const std::string& word : arguments.positionals()) {
    WINNOW_ASSIGN_OR_RETURN(groups.words_.emplace_back(), BytesFromWord(arguments, word));
  }
  if (!path.has_value()) return groups;
  WINNOW_ASSIGN_OR_RETURN(groups.files_, OpenInputs({*path}));
  const InputFile& file = groups.files_.front();
  groups.lines_.emplace(file.descriptor(), file.name());
  return groups;
}

absl::StatusOr<std::vector<std::string>> KeyGroups::Next() {
  std::vector<std::string> keys;
  if (!lines_.has_value()) {
    const size_t count = std::min(kKeysPerGroup, words_.size() - num_given_);
    const auto begin = words_.begin() + static_cast<std::ptrdiff_t>(num_given_);
    keys.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    num_given_ += count;
    return keys;
  }
  std::string_view line;
  while (keys.size() < kKeysPerGroup) {
    WINNOW_ASSIGN_OR_RETURN(const bool has_line, lines_->Next(&line));
    if (!has_line) break;
    absl::StatusOr<std::string> key = FromInputText(line, form_);
    if (!key.ok()) return lines_->InContext(key.status());
    keys.push_back(*std::move(key));
  }
  return keys;
}

}  // namespace winnow::cli
