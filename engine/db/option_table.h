// The table of options: each with its name, its text form, and when it may change.
#ifndef WINNOW_ENGINE_DB_OPTION_TABLE_H_
#define WINNOW_ENGINE_DB_OPTION_TABLE_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/options.h"

namespace winnow {

// One row of the table. A setter that fails has changed nothing; it looks at no range.
struct TextOption {
  std::string_view name;
  std::function<absl::Status(Options*, std::string_view)> set;
  // What `set` takes.
  std::function<std::string(const Options&)> get;

  bool is_of_family = false;
  OptionChange change = OptionChange::kAtOpening;
  // How the manifest has it (engine/version/FORMAT.md).
  enum class Record {
    kAsText,
    kInOwnField,
    kNot,  // it is about one opening
  };
  Record record = Record::kAsText;
};

const std::vector<TextOption>& TextOptions();

// InvalidArgument: there is none of this name; the nearest is suggested.
absl::StatusOr<const TextOption*> FindTextOption(std::string_view name);

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_OPTION_TABLE_H_
