// What a command of the winnow program is made of. Each command lives in the file of its noun and
// is listed in commands.cc.
#ifndef WINNOW_TOOLS_WINNOW_COMMAND_H_
#define WINNOW_TOOLS_WINNOW_COMMAND_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/flags/arguments.h"
#include "tools/winnow/output.h"

namespace winnow::cli {

enum class ExitCode : int {
  kOk = 0,
  kNo = 1,     // the key is absent, damage was found, or the user said no
  kUsage = 2,  // the command line is wrong
  kError = 3,  // anything else
};

// Which of the flags that commands share a command takes, besides --help and --json.
enum class DatabaseUse {
  kNone,   // none of them
  kFiles,  // --db and --hex: looks at files
  kRead,   // the same, --family and --set
  kWrite,  // the same, --filter and --filter-key
};

// The words besides flags that a command takes.
struct Positionals {
  std::string_view text = "";  // as help shows them: "KEY VALUE"
  size_t min = 0;
  size_t max = 0;
};

inline constexpr size_t kAnyNumber = ~size_t{0};

// Of commands whose words are keys, which take it from each other's output.
inline constexpr FlagSpec kEscapedFlag = {
    "escaped", "", "keys and values with escapes, in and out, as `winnow scan` prints\nthem"};

struct Command {
  std::string_view name = "";  // one word, or a noun and a verb: "filter build"
  Positionals positionals = {};
  DatabaseUse database = DatabaseUse::kRead;
  std::string_view summary = "";  // one line, no full stop
  // Of the texts below a newline at the very beginning is not printed.
  std::string_view details = "";   // paragraphs of help; may be empty
  std::string_view json = "";      // the shape that --json prints
  std::string_view examples = "";  // lines of shell
  std::vector<FlagSpec> flags = {};

  // Does the work. An error is printed by the caller: InvalidArgument ends in kUsage, any other in
  // kError.
  absl::StatusOr<ExitCode> (*run)(const Arguments& arguments, Output& output) = nullptr;
};

// Every command, in the order in which help lists them.
const std::vector<Command>& AllCommands();

// The flags that `command` takes, shared ones included.
std::vector<FlagSpec> FlagsOf(const Command& command);

// The texts of `winnow --help` and `winnow COMMAND --help`.
std::string ProgramHelp();
std::string CommandHelp(const Command& command);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_COMMAND_H_
