// A line on the terminal that says how far a long command has come.
#ifndef WINNOW_TOOLS_WINNOW_PROGRESS_H_
#define WINNOW_TOOLS_WINNOW_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string_view>

namespace winnow::cli {

struct ProgressOptions {
  std::string_view things = "entries";  // that are counted
  // The command prints lines meanwhile: on the same terminal the two would run into each other.
  bool prints_lines = false;
};

// Shown only where standard error is a terminal. Used by one thread.
class Progress {
 public:
  // `total_bytes` is the size of the whole input, 0 if unknown.
  explicit Progress(uint64_t total_bytes, const ProgressOptions& options = {});
  ~Progress() { Clear(); }

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Redraws the line, at most a few times a second.
  void Update(uint64_t count, uint64_t input_bytes);
  // Takes the line away, before something else is printed.
  void Clear();

  // Since construction; above 0, so that it can be divided by.
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  const bool is_shown_;
  const uint64_t total_bytes_;
  const std::string_view things_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_drawn_ = start_;
  bool is_drawn_ = false;
};

// How many of `count` things a second that is.
uint64_t PerSecond(uint64_t count, double seconds);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_PROGRESS_H_
