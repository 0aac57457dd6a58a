#include "tools/winnow/amounts.h"

#include <cmath>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow::cli {
namespace {

constexpr double kMost = 1e15;

absl::Status BadAmount(std::string_view flag, const std::string& text, std::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", ToAbsl(flag), "=", text, ": expected ", ToAbsl(expected)));
}

// Digits, a point and an exponent; no sign, no "inf", no hexadecimal digits.
bool ReadNumber(std::string_view text, double* number) {
  if (text.empty() || text.find_first_not_of("0123456789.eE+") != std::string_view::npos ||
      text[0] == '+') {
    return false;
  }
  return absl::SimpleAtod(ToAbsl(text), number) && std::isfinite(*number);
}

}  // namespace

absl::StatusOr<std::optional<uint64_t>> CountOf(const Arguments& arguments, std::string_view flag) {
  const std::optional<std::string> text = arguments.Text(flag);
  if (!text.has_value()) return std::nullopt;
  double number = 0;
  if (!ReadNumber(*text, &number) || number < 1 || number > kMost || number != std::floor(number)) {
    return BadAmount(flag, *text, "a whole number from 1 to 1e15, such as 1000000 or 1e9");
  }
  return static_cast<uint64_t>(number);
}

absl::StatusOr<std::optional<double>> RateOf(const Arguments& arguments, std::string_view flag) {
  const std::optional<std::string> text = arguments.Text(flag);
  if (!text.has_value()) return std::nullopt;
  const bool is_percentage = !text->empty() && text->back() == '%';
  double rate = 0;
  const std::string digits = is_percentage ? text->substr(0, text->size() - 1) : *text;
  const bool is_number = ReadNumber(digits, &rate);
  if (is_percentage) rate /= 100;
  if (!is_number || !(rate >= 1e-6 && rate <= 0.5)) {
    return BadAmount(flag, *text, "a false-positive rate from 0.000001 to 0.5, such as 0.01 or 1%");
  }
  return rate;
}

absl::StatusOr<std::optional<uint64_t>> BytesOf(const Arguments& arguments, std::string_view flag) {
  const std::optional<std::string> text = arguments.Text(flag);
  if (!text.has_value()) return std::nullopt;
  const size_t digits = std::min(text->find_first_not_of("0123456789.eE+"), text->size());
  std::string unit = text->substr(digits);
  if (unit.size() > 1 && unit.back() == 'B') unit.pop_back();
  if (unit.size() > 1 && unit.back() == 'i') unit.pop_back();
  constexpr std::string_view kUnits = "BKMGT";
  const size_t power = unit.empty() ? 0 : kUnits.find(unit);
  double number = 0;
  const bool is_number = ReadNumber(std::string_view(*text).substr(0, digits), &number);
  const double bytes = power == std::string_view::npos ? 0 : number * std::exp2(10.0 * power);
  if (!is_number || unit.size() > 1 || !(bytes >= 1 && bytes <= kMost)) {
    return BadAmount(flag, *text, "a number of bytes, such as 1048576, 512KiB, 64M or 1.5GiB");
  }
  return static_cast<uint64_t>(bytes);
}

}  // namespace winnow::cli
