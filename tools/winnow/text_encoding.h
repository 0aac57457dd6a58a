// How arbitrary bytes become text and come back: hexadecimal, escapes, JSON.
#ifndef WINNOW_TOOLS_WINNOW_TEXT_ENCODING_H_
#define WINNOW_TOOLS_WINNOW_TEXT_ENCODING_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow::cli {

// Objects print their members in the order in which they were added.
using Json = nlohmann::ordered_json;

// How keys and values look in text.
enum class TextForm {
  kEscaped,  // \t \n \\ and \xNN for what is not printable UTF-8: one line for any bytes
  kRaw,      // the bytes themselves
  kHex,      // two hexadecimal digits a byte
};

void AppendText(std::string* out, std::string_view bytes, TextForm form);
std::string ToText(std::string_view bytes, TextForm form);

// The reverse. InvalidArgument names the position of what is wrong.
absl::StatusOr<std::string> FromText(std::string_view text, TextForm form);

// The same for text that was read, not typed: DataLoss, since the command line is not at fault.
absl::StatusOr<std::string> FromInputText(std::string_view text, TextForm form);

bool IsUtf8(std::string_view bytes);

// Adds `bytes` to a JSON object: as member NAME where they are UTF-8 and `hex` is false, else as
// member NAME_hex.
void AddBytes(Json* object, std::string_view name, std::string_view bytes, bool hex);

// One line of JSON, newline included. Never fails: bytes that are no UTF-8 are replaced.
std::string ToLine(const Json& json);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_TEXT_ENCODING_H_
