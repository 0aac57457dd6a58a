#include "tools/winnow/progress.h"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "absl/strings/str_format.h"

namespace winnow::cli {
namespace {
constexpr std::chrono::milliseconds kRedrawInterval(200);
}  // namespace

Progress::Progress(uint64_t total_bytes)
    : is_shown_(isatty(STDERR_FILENO) == 1), total_bytes_(total_bytes) {}

void Progress::Update(uint64_t entries, uint64_t input_bytes) {
  if (!is_shown_) return;
  const Clock::time_point now = Clock::now();
  if (now - last_drawn_ < kRedrawInterval) return;
  last_drawn_ = now;
  is_drawn_ = true;

  const double elapsed = seconds();
  std::string line =
      absl::StrFormat("\r\x1b[K%s entries, %s, %s entries/s", HumanCount(entries),
                      HumanBytes(static_cast<double>(input_bytes)),
                      HumanCount(static_cast<uint64_t>(static_cast<double>(entries) / elapsed)));
  if (total_bytes_ > 0 && input_bytes > 0) {
    const double done = static_cast<double>(input_bytes) / static_cast<double>(total_bytes_);
    if (done <= 1) {
      absl::StrAppendFormat(&line, ", %.0f %%, %s left", 100 * done,
                            HumanSeconds(elapsed * (1 - done) / done));
    }
  }
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void Progress::Clear() {
  if (!is_drawn_) return;
  is_drawn_ = false;
  std::fputs("\r\x1b[K", stderr);
}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

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

}  // namespace winnow::cli
