// Numbers as text with a fixed form. Not absl::StrFormat, which ends the process where there is no
// memory for its result.
#ifndef WINNOW_ENGINE_BASE_NUMBER_TEXT_H_
#define WINNOW_ENGINE_BASE_NUMBER_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace winnow {

// "3.142" with three decimals.
std::string FixedPoint(double value, int decimals);
// As short as it can be with that many significant digits.
std::string Significant(double value, int digits);
// Three significant digits or all before the point: "0.0123", "1.23", "21345".
std::string ShortNumber(double value);

// Powers of 1024, the letter K, M, G or T in either case, with or without "iB"; no sign, no
// fraction and no space. False: it is none, or does not fit.
bool ParseByteCount(std::string_view text, uint64_t* bytes);
// The reverse, exact: "64M", "1500".
std::string ByteCountText(uint64_t bytes);

// For StrCat: at least six decimal digits, as file names have; all sixteen hexadecimal ones.
inline absl::Dec SixDigits(uint64_t number) { return absl::Dec(number, absl::kZeroPad6); }
inline absl::Hex AllHexDigits(uint64_t number) { return absl::Hex(number, absl::kZeroPad16); }

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_NUMBER_TEXT_H_
