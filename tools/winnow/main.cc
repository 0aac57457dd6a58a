// The winnow program: finds the command, runs it, reports its error, chooses the exit code.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "filter/base/out_of_memory.h"
#include "tools/flags/nearest_name.h"
#include "tools/process/standard_streams.h"
#include "tools/winnow/command.h"

namespace winnow::cli {
namespace {

int Code(ExitCode code) { return static_cast<int>(code); }

const Command* FindCommand(std::string_view name) {
  const std::vector<Command>& commands = AllCommands();
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [name](const Command& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

int UsageError(std::string_view message) {
  std::fprintf(stderr, "winnow: %s\nTry `winnow --help`.\n", Printable(message).c_str());
  return Code(ExitCode::kUsage);
}

// Names that other stores' tools have for what is here.
struct OtherName {
  std::string_view other;
  std::string_view own;
};
constexpr OtherName kOtherNames[] = {
    {"set", "put"},      {"update", "put"},        {"insert", "put"},
    {"del", "delete"},   {"rm", "delete"},         {"remove", "delete"},
    {"exists", "has"},   {"contains", "has"},      {"dump", "export"},
    {"list", "scan"},    {"ls", "scan"},           {"keys", "scan"},
    {"range", "scan"},   {"check", "verify"},      {"fsck", "verify"},
    {"info", "stats"},   {"status", "stats"},      {"statistics", "stats"},
    {"tables", "table"}, {"version", "--version"}, {"deleterange", "delete"}};

int UnknownCommand(const std::string& name) {
  if (name.empty()) return UsageError("name a command");
  for (const OtherName& known : kOtherNames) {
    if (known.other != name) continue;
    return UsageError(
        absl::StrCat("unknown command ", name, "; did you mean ", ToAbsl(known.own), "?"));
  }
  std::vector<std::string_view> names;
  const size_t noun_length = name.find(' ') + 1;  // 0 for a command of one word
  for (const Command& command : AllCommands()) {
    const bool is_verb = command.name.find(' ') != std::string_view::npos;
    if (is_verb == (noun_length != 0)) names.push_back(command.name);
  }
  return UsageError(absl::StrCat("unknown command ", name, DidYouMean(name, names)));
}

// `name` is that of the command for an error, as far as there is one.
int Print(std::string_view name, std::string_view text) {
  Output output(STDOUT_FILENO);
  output.Write(text);
  const absl::Status written = output.Flush();
  if (written.ok()) return Code(ExitCode::kOk);
  if (!absl::IsCancelled(written)) Complain(name, ToStd(written.message()));
  return Code(ExitCode::kError);
}

absl::Status CheckPositionals(const Command& command, const Arguments& arguments) {
  const size_t count = arguments.positionals().size();
  const Positionals& taken = command.positionals;
  if (count >= taken.min && count <= taken.max) return absl::OkStatus();
  const std::string_view expected = taken.text.empty() ? "no arguments" : taken.text;
  // Who puts the directory behind the command's name.
  const bool lacks_database =
      command.database != DatabaseUse::kNone && count > taken.max && !arguments.Has("db");
  return absl::InvalidArgumentError(
      absl::StrCat(count, count == 1 ? " argument" : " arguments", "; expected ", ToAbsl(expected),
                   lacks_database ? "; name the database directory: --db=DIR" : ""));
}

// The exit code for an error, which is reported here.
ExitCode Report(const Command& command, const absl::Status& status) {
  if (absl::IsCancelled(status)) return ExitCode::kError;
  Complain(command.name, ToStd(status.message()));
  return absl::IsInvalidArgument(status) ? ExitCode::kUsage : ExitCode::kError;
}

absl::StatusOr<ExitCode> Run(const Command& command, const std::vector<std::string>& words,
                             Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(FlagsOf(command), words));
  if (arguments.Has("help")) {
    output.Write(CommandHelp(command));
    return ExitCode::kOk;
  }
  WINNOW_RETURN_IF_ERROR(CheckPositionals(command, arguments));
  return command.run(arguments, output);
}

// The same where memory runs out, or no thread can be started: the store says so by itself, but the
// programs around it and the other engines throw.
absl::StatusOr<ExitCode> RunGuarded(const Command& command, const std::vector<std::string>& words,
                                    Output& output) {
  try {
    return CatchOutOfMemory([&] { return Run(command, words, output); });
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot start a thread: ", error.what()));
  }
}

// The position of the command among the words: the first that is neither a flag nor the value of
// one, so that `winnow --db DIR get KEY` works.
size_t CommandPosition(const std::vector<std::string>& words) {
  const std::vector<FlagSpec> flags = FlagsOf(*FindCommand("put"));
  for (size_t i = 0; i < words.size(); i++) {
    if (words[i].rfind('-', 0) != 0) return i;
    const bool takes_next = std::any_of(flags.begin(), flags.end(), [&](const FlagSpec& flag) {
      return !flag.value_name.empty() && words[i] == absl::StrCat("--", ToAbsl(flag.name));
    });
    if (takes_next) i++;
  }
  return words.size();
}

// Joins a noun that has verbs and the verb behind it into one word, so that "filter build" is found
// under that name. A flag may stand between.
void JoinVerb(size_t noun, std::vector<std::string>* words) {
  const std::string prefix = absl::StrCat((*words)[noun], " ");
  const std::vector<Command>& commands = AllCommands();
  const bool has_verbs = std::any_of(commands.begin(), commands.end(), [&](const Command& command) {
    return command.name.substr(0, prefix.size()) == prefix;
  });
  if (!has_verbs) return;
  for (size_t i = noun + 1; i < words->size(); i++) {
    if ((*words)[i].rfind('-', 0) == 0) continue;
    (*words)[noun] = prefix + (*words)[i];
    words->erase(words->begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

int Main(std::vector<std::string> words) {
  if (words.empty()) {
    std::fputs(ProgramHelp().c_str(), stderr);
    return Code(ExitCode::kUsage);
  }
  if (words[0] == "--version") return Print("--version", "winnow " WINNOW_VERSION "\n");
  const size_t position = CommandPosition(words);
  if (position == words.size() || words[position] == "help") {
    if (position + 1 < words.size()) {
      JoinVerb(position + 1, &words);
      const Command* topic = FindCommand(words[position + 1]);
      return topic == nullptr ? UnknownCommand(words[position + 1])
                              : Print("help", CommandHelp(*topic));
    }
    const bool asks_for_help = position < words.size() || words[0] == "--help" || words[0] == "-h";
    return asks_for_help ? Print("help", ProgramHelp()) : UsageError("name a command");
  }

  JoinVerb(position, &words);
  const Command* command = FindCommand(words[position]);
  if (command == nullptr) return UnknownCommand(words[position]);
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(position));

  Output output(STDOUT_FILENO);
  const absl::StatusOr<ExitCode> result = RunGuarded(*command, words, output);
  const absl::Status flushed = output.Flush();
  if (!result.ok()) return Code(Report(*command, result.status()));
  if (!flushed.ok()) return Code(Report(*command, flushed));
  return Code(*result);
}

}  // namespace
}  // namespace winnow::cli

int main(int argc, char** argv) {
  winnow::process::PrepareStandardStreams();
  return winnow::cli::Main(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}
