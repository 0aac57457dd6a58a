// A line on the terminal that says how far a long command has come.
#ifndef WINNOW_TOOLS_WINNOW_PROGRESS_H_
#define WINNOW_TOOLS_WINNOW_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace winnow::cli {

// Shown only where standard error is a terminal. Used by one thread.
class Progress {
 public:
  // `total_bytes` is the size of the whole input, 0 if unknown.
  explicit Progress(uint64_t total_bytes);
  ~Progress() { Clear(); }

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Redraws the line, at most a few times a second.
  void Update(uint64_t entries, uint64_t input_bytes);
  // Takes the line away, before something else is printed.
  void Clear();

  double seconds() const;  // since construction

 private:
  using Clock = std::chrono::steady_clock;

  const bool is_shown_;
  const uint64_t total_bytes_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_drawn_ = start_;
  bool is_drawn_ = false;
};

// "1.5 MiB", "312 B".
std::string HumanBytes(double bytes);
// "0.4 s", "3 min 05 s".
std::string HumanSeconds(double seconds);
// "12,345".
std::string HumanCount(uint64_t count);
// "1 file", "12,345 files".
std::string HumanCount(uint64_t count, std::string_view one, std::string_view many);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_PROGRESS_H_
