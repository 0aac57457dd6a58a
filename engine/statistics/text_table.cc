#include "engine/statistics/text_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "engine/base/number_text.h"
#include "engine/base/status.h"

namespace winnow {

// Widths are counted in bytes, which are columns as long as cells are ASCII; JsonString sees to
// that for keys.
std::string TextTable::ToString() const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); i++) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      if (i > 0) line += "  ";
      line += i < num_left_ ? row[i] + padding : padding + row[i];
    }
    // The last column's padding: text that is compared or put into a mail has no spaces at its end.
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, line, "\n");
  }
  return out;
}

std::string FormatCount(uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (size_t i = 0; i < digits.size(); i++) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

std::string FormatBytes(uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  // Powers of two, as the options are given; beyond the last unit numbers just become longer.
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    unit++;
  }
  // Bytes come whole.
  if (unit == 0) return absl::StrCat(bytes, " B");
  return absl::StrCat(FixedPoint(value, 1), " ", ToAbsl(kUnits[unit]));
}

// NaN stands for what was never measured, here and below: "-" cannot be taken for 0.
std::string FormatPercent(double share) {
  if (std::isnan(share)) return "-";
  // Two decimals would make 0.00 % of the rates that good filters have; 0 itself needs no more.
  const int decimals = share != 0 && share < 0.001 ? 4 : 2;
  return absl::StrCat(FixedPoint(share * 100, decimals), " %");
}

std::string FormatRatio(double ratio) {
  if (std::isnan(ratio)) return "-";
  return FixedPoint(ratio, 2);
}

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte > 0x7e) {
      // Keys need not be UTF-8, and JSON must be: each byte becomes the character of its number,
      // from which a reader can get the bytes back.
      absl::StrAppend(&out, "\\u", absl::Hex(byte, absl::kZeroPad4));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// JSON has no NaN and no infinities, and a parser would refuse the whole text for one.
std::string JsonNumber(double number) {
  if (!std::isfinite(number)) return "null";
  // Enough for what is measured, and short.
  return Significant(number, 9);
}

}  // namespace winnow
