#include "tools/winnow/text_encoding.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow::cli {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

void AppendHexByte(std::string* out, char byte) {
  const auto value = static_cast<uint8_t>(byte);
  out->push_back(kHexDigits[value >> 4]);
  out->push_back(kHexDigits[value & 15]);
}

// The value of a hexadecimal digit, or -1.
int HexDigit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

// Length of the well-formed UTF-8 sequence (RFC 3629) at the front, or 0. No overlong forms, no
// surrogates, nothing above U+10FFFF.
size_t Utf8SequenceLength(std::string_view bytes) {
  const auto byte = [&bytes](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0 || bytes.size() < length) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) > 0x9f) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

void AppendEscaped(std::string* out, std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const char byte = bytes[i];
    const size_t length = Utf8SequenceLength(bytes.substr(i));
    const bool is_control = static_cast<uint8_t>(byte) < 0x20 || byte == 0x7f;
    if (length > 0 && !is_control && byte != '\\') {
      out->append(bytes.substr(i, length));
      i += length;
      continue;
    }
    out->push_back('\\');
    if (byte == '\t') {
      out->push_back('t');
    } else if (byte == '\n') {
      out->push_back('n');
    } else if (byte == '\\') {
      out->push_back('\\');
    } else {
      out->push_back('x');
      AppendHexByte(out, byte);
    }
    i++;
  }
}

absl::StatusOr<std::string> DecodeHex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return absl::InvalidArgumentError("hexadecimal text has an odd number of digits");
  }
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexDigit(text[i]);
    const int low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", ToText(text.substr(i, 2), TextForm::kEscaped), "\" at position ",
                       i + 1, " is not a pair of hexadecimal digits"));
    }
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

absl::StatusOr<std::string> DecodeEscapes(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '\\') {
      const size_t plain_end = std::min(text.find('\\', i), text.size());
      bytes.append(text.substr(i, plain_end - i));
      i = plain_end - 1;
      continue;
    }
    const char kind = i + 1 < text.size() ? text[i + 1] : '\0';
    const bool is_hex = kind == 'x' && i + 3 < text.size() && HexDigit(text[i + 2]) >= 0 &&
                        HexDigit(text[i + 3]) >= 0;
    if (kind == 't') {
      bytes.push_back('\t');
    } else if (kind == 'n') {
      bytes.push_back('\n');
    } else if (kind == '\\') {
      bytes.push_back('\\');
    } else if (is_hex) {
      bytes.push_back(static_cast<char>(HexDigit(text[i + 2]) * 16 + HexDigit(text[i + 3])));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown escape \"", ToText(text.substr(i, 2), TextForm::kRaw),
                       "\" at position ", i + 1, "; known are \\t \\n \\\\ \\xNN"));
    }
    i += is_hex ? 3 : 1;
  }
  return bytes;
}

}  // namespace

void AppendText(std::string* out, std::string_view bytes, TextForm form) {
  switch (form) {
    case TextForm::kEscaped:
      AppendEscaped(out, bytes);
      return;
    case TextForm::kRaw:
      out->append(bytes);
      return;
    case TextForm::kHex:
      for (const char byte : bytes) AppendHexByte(out, byte);
      return;
  }
}

std::string ToText(std::string_view bytes, TextForm form) {
  std::string text;
  AppendText(&text, bytes, form);
  return text;
}

absl::StatusOr<std::string> FromText(std::string_view text, TextForm form) {
  switch (form) {
    case TextForm::kEscaped:
      return DecodeEscapes(text);
    case TextForm::kHex:
      return DecodeHex(text);
    case TextForm::kRaw:
      break;
  }
  return std::string(text);
}

absl::StatusOr<std::string> FromInputText(std::string_view text, TextForm form) {
  absl::StatusOr<std::string> bytes = FromText(text, form);
  if (!bytes.ok()) return absl::DataLossError(bytes.status().message());
  return bytes;
}

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t length = Utf8SequenceLength(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

void AddBytes(Json* object, std::string_view name, std::string_view bytes, bool hex) {
  if (!hex && IsUtf8(bytes)) {
    (*object)[std::string(name)] = bytes;
  } else {
    (*object)[std::string(name) + "_hex"] = ToText(bytes, TextForm::kHex);
  }
}

std::string ToLine(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace winnow::cli
