// Options by their names and texts.
//
// A text form is checked for being one, and for its range, when it is set. Options come one at a
// time and in any order, so that nothing can be said yet about how they fit together: that is
// checked when the database is opened (options.cc).
#include "engine/base/status.h"
#include "engine/db/option_checks.h"
#include "engine/db/option_table.h"
#include "filter/base/out_of_memory.h"
#include "winnow/options.h"

namespace winnow {

namespace {

// On options of its own, so that nothing is changed by a value that is refused. Their triggers of
// level 0 are the smallest: those that bound this one may be set later.
absl::Status CheckAlone(const TextOption& option, std::string_view value) {
  Options alone;
  alone.level0_compaction_trigger = alone.level0_slowdown_trigger = alone.level0_stop_trigger = 1;
  WINNOW_RETURN_IF_ERROR(option.set(&alone, value));
  return CheckField(alone, option.name);
}

}  // namespace

std::vector<std::string_view> OptionNames() {
  std::vector<std::string_view> names;
  for (const TextOption& option : TextOptions()) names.push_back(option.name);
  return names;
}

std::vector<OptionDescription> DescribeOptions() {
  std::vector<OptionDescription> descriptions;
  for (const TextOption& option : TextOptions()) {
    descriptions.push_back({option.name, option.is_of_family, option.change});
  }
  return descriptions;
}

absl::Status SetOption(Options* options, std::string_view name, std::string_view value) {
  WINNOW_ASSIGN_OR_RETURN(const TextOption* option, FindTextOption(name));
  WINNOW_RETURN_IF_ERROR(CheckAlone(*option, value));
  return option->set(options, value);
}

absl::StatusOr<std::string> OptionText(const Options& options, std::string_view name) {
  WINNOW_ASSIGN_OR_RETURN(const TextOption* option, FindTextOption(name));
  return option->get(options);
}

}  // namespace winnow
