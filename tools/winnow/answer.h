// What commands answer: one form for people and one, with --json, for machines.
#ifndef WINNOW_TOOLS_WINNOW_ANSWER_H_
#define WINNOW_TOOLS_WINNOW_ANSWER_H_

#include <string>
#include <string_view>

#include "tools/flags/arguments.h"
#include "tools/winnow/command.h"
#include "tools/winnow/output.h"
#include "tools/winnow/text_encoding.h"

namespace winnow::cli {

// Prints `json` as a line with --json, else the line `text`. Gives kOk, which most commands end
// with.
ExitCode PrintAnswer(const Arguments& arguments, const Json& json, std::string_view text,
                     Output& output);

// The answer of a command that has nothing to tell people: `json` with --json, else nothing.
ExitCode PrintDone(const Arguments& arguments, const Json& json, Output& output);
ExitCode PrintDone(const Arguments& arguments, Output& output);  // {"ok":true}

// How keys and values are printed that may hold any bytes: with --hex as digits, else escaped.
TextForm PrintedForm(const Arguments& arguments);

// The form that --raw, --hex and --escaped ask for. InvalidArgument: two of them were given.
absl::StatusOr<TextForm> FormOfFlags(const Arguments& arguments);

// How keys with their values are printed, one pair a line: KEY<TAB>VALUE or an object.
struct PairFormat {
  bool json = false;
  bool keys_only = false;
  TextForm form = TextForm::kEscaped;
};
void PrintPair(std::string_view key, std::string_view value, const PairFormat& format,
               Output& output);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_ANSWER_H_
