#include "tools/winnow/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_format.h"
#include "tools/report/amount_text.h"

namespace winnow::cli {
namespace {
constexpr std::chrono::milliseconds kRedrawInterval(200);
}  // namespace

Progress::Progress(uint64_t total_bytes, const ProgressOptions& options)
    : is_shown_(isatty(STDERR_FILENO) == 1 &&
                !(options.prints_lines && isatty(STDOUT_FILENO) == 1)),
      total_bytes_(total_bytes),
      things_(options.things) {}

void Progress::Update(uint64_t count, uint64_t input_bytes) {
  if (!is_shown_) return;
  const Clock::time_point now = Clock::now();
  if (now - last_drawn_ < kRedrawInterval) return;
  last_drawn_ = now;
  is_drawn_ = true;

  const double elapsed = seconds();
  std::string line = absl::StrFormat("\r\x1b[K%s %s, %s, %s %s/s", report::HumanCount(count),
                                     things_, report::HumanBytes(static_cast<double>(input_bytes)),
                                     report::HumanCount(PerSecond(count, elapsed)), things_);
  if (total_bytes_ > 0 && input_bytes > 0) {
    const double done = static_cast<double>(input_bytes) / static_cast<double>(total_bytes_);
    if (done <= 1) {
      absl::StrAppendFormat(&line, ", %.0f %%, %s left", 100 * done,
                            report::HumanSeconds(elapsed * (1 - done) / done));
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
  return std::max(std::chrono::duration<double>(Clock::now() - start_).count(), 1e-6);
}

uint64_t PerSecond(uint64_t count, double seconds) {
  return static_cast<uint64_t>(static_cast<double>(count) / seconds);
}

}  // namespace winnow::cli
