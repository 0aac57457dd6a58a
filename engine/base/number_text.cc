#include "engine/base/number_text.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace winnow {

namespace {

// The largest double has 309 digits before its point.
std::string Print(const char* format, int precision, double value) {
  std::array<char, 400> text;
  const int length = std::snprintf(text.data(), text.size(), format, precision, value);
  return std::string(text.data(), static_cast<size_t>(length));
}

}  // namespace

std::string FixedPoint(double value, int decimals) { return Print("%.*f", decimals, value); }

std::string Significant(double value, int digits) { return Print("%.*g", digits, value); }

std::string ShortNumber(double value) {
  // %g would write 21345 as 2.13e+04.
  return value >= 100 ? FixedPoint(value, 0) : Significant(value, 3);
}

bool ParseByteCount(std::string_view text, uint64_t* bytes) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *bytes);
  if (error != std::errc()) return false;
  std::string_view suffix(end, static_cast<size_t>(text.data() + text.size() - end));
  if (suffix.empty() || suffix == "B") return true;
  // K and KiB are one thing: there are no powers of 1000.
  if (suffix.ends_with("iB")) suffix.remove_suffix(2);
  if (suffix.size() != 1) return false;
  // Without the bit that tells small letters from capital ones.
  const size_t power = std::string_view("KMGT").find(static_cast<char>(suffix[0] & ~0x20));
  if (power == std::string_view::npos) return false;
  const unsigned shift = 10 * (static_cast<unsigned>(power) + 1);
  // Bits would be shifted out.
  if (*bytes > (UINT64_MAX >> shift)) return false;
  *bytes <<= shift;
  return true;
}

std::string ByteCountText(uint64_t bytes) {
  std::string_view suffixes = "KMGT";
  std::string suffix;
  // Only whole units, so that the text reads back as the same number.
  while (bytes != 0 && bytes % 1024 == 0 && !suffixes.empty()) {
    bytes /= 1024;
    suffix = suffixes.substr(0, 1);
    suffixes.remove_prefix(1);
  }
  return absl::StrCat(bytes, suffix);
}

}  // namespace winnow
