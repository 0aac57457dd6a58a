#include "tools/winnow/shell/binary_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "tools/winnow/text_encoding.h"

namespace winnow::shell {
namespace {

// Two's complement of the first bytes.
int64_t BigEndian(std::string_view bytes, size_t count) {
  uint64_t number = 0;
  for (size_t i = 0; i < count; i++) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  const unsigned unused_bits = static_cast<unsigned>(64 - 8 * count);
  return static_cast<int64_t>(number << unused_bits) >> unused_bits;
}

}  // namespace

std::string ToStringBinary(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  text.reserve(bytes.size());
  for (const char letter : bytes) {
    const auto byte = static_cast<uint8_t>(letter);
    if (byte >= 0x20 && byte < 0x7f && letter != '\\') {
      text.push_back(letter);
    } else {
      text.append("\\x");
      text.push_back(kDigits[byte >> 4]);
      text.push_back(kDigits[byte & 15]);
    }
  }
  return text;
}

std::optional<ValueFormat> FormatOfMethod(std::string_view method) {
  if (method == "toStringBinary") return ValueFormat::kBinary;
  if (method == "toString") return ValueFormat::kText;
  if (method == "toInt") return ValueFormat::kInt;
  if (method == "toLong") return ValueFormat::kLong;
  if (method == "toShort") return ValueFormat::kShort;
  return std::nullopt;
}

std::string FormatValue(std::string_view value, ValueFormat format) {
  const auto number = [value](size_t bytes) {
    return value.size() < bytes ? ToStringBinary(value) : absl::StrCat(BigEndian(value, bytes));
  };
  switch (format) {
    case ValueFormat::kBinary:
      return ToStringBinary(value);
    case ValueFormat::kText:
      return cli::ToText(value, cli::TextForm::kEscaped);
    case ValueFormat::kInt:
      return number(4);
    case ValueFormat::kLong:
      return number(8);
    case ValueFormat::kShort:
      return number(2);
  }
  return ToStringBinary(value);
}

std::string Quoted(std::string_view bytes) {
  const std::string binary = ToStringBinary(bytes);
  const bool is_plain = binary == bytes && bytes.find('\'') == std::string_view::npos;
  if (is_plain) return absl::StrCat("'", binary, "'");
  std::string text = "\"";
  for (const char letter : binary) {
    if (letter == '"' || letter == '#') text.push_back('\\');
    text.push_back(letter);
  }
  return text + "\"";
}

}  // namespace winnow::shell
