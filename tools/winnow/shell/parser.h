// The grammar of the shell's language:
//
//   statement := [name [arguments | '(' arguments ')']]
//   arguments := argument (',' argument)*
//   argument  := value | value '=>' value      (the latter behind the others; together one hash)
//   value     := text | integer | word | '[' values ']' | '{' pairs '}'
//
// Words are nil, true, false and names of constants, which mean themselves.
#ifndef WINNOW_TOOLS_WINNOW_SHELL_PARSER_H_
#define WINNOW_TOOLS_WINNOW_SHELL_PARSER_H_

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/winnow/shell/value.h"

namespace winnow::shell {

// Unset: the statement is empty. InvalidArgument: "column N: REASON". Lists and hashes nest 32
// deep at most.
absl::StatusOr<std::optional<CommandLine>> ParseStatement(std::string_view statement);

}  // namespace winnow::shell

#endif  // WINNOW_TOOLS_WINNOW_SHELL_PARSER_H_
