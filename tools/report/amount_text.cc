#include "tools/report/amount_text.h"

#include <array>

#include "absl/strings/str_format.h"

namespace winnow::report {

std::string HumanBytes(double bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); unit++) bytes /= 1024;
  return absl::StrFormat("%.*f %s", unit == 0 ? 0 : 1, bytes, kUnits[unit]);
}

std::string HumanSeconds(double seconds) {
  if (seconds < 60) return absl::StrFormat("%.1f s", seconds);
  const auto whole = static_cast<uint64_t>(seconds);
  return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
}

std::string HumanCount(uint64_t count) {
  std::string digits = absl::StrFormat("%d", count);
  for (size_t from_end = 3; from_end < digits.size(); from_end += 4) {
    digits.insert(digits.size() - from_end, 1, ',');
  }
  return digits;
}

std::string HumanCount(uint64_t count, std::string_view one, std::string_view many) {
  return HumanCount(count) + " " + std::string(count == 1 ? one : many);
}

}  // namespace winnow::report
