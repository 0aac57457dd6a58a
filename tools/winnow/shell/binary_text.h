// How the shell writes bytes: HBase's toStringBinary, and its formatters of numbers.
#ifndef WINNOW_TOOLS_WINNOW_SHELL_BINARY_TEXT_H_
#define WINNOW_TOOLS_WINNOW_SHELL_BINARY_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

namespace winnow::shell {

// Printable ASCII but the backslash as it is, any other byte as \xNN with capital digits.
std::string ToStringBinary(std::string_view bytes);

// How values are shown.
enum class ValueFormat { kBinary, kText, kInt, kLong, kShort };

// That of HBase's method: toStringBinary, toString, toInt, toLong, toShort; unset for others.
std::optional<ValueFormat> FormatOfMethod(std::string_view method);

// Numbers are the value's first bytes, the most significant first. What is too short for one is
// shown as bytes.
std::string FormatValue(std::string_view value, ValueFormat format);

// A text as a literal of the shell, in single quotes if it has no byte that needs an escape.
std::string Quoted(std::string_view bytes);

}  // namespace winnow::shell

#endif  // WINNOW_TOOLS_WINNOW_SHELL_BINARY_TEXT_H_
