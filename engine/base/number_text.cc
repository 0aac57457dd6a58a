#include "engine/base/number_text.h"

#include <array>
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

}  // namespace winnow
