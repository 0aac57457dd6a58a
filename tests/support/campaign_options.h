// The command line and the progress of the programs behind `tools/dev crash` and `tools/dev
// corrupt`.
#ifndef WINNOW_TESTS_SUPPORT_CAMPAIGN_OPTIONS_H_
#define WINNOW_TESTS_SUPPORT_CAMPAIGN_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace winnow {

// Takes "--name=NUMBER" for each name that is a key of `*numbers`, and the flags "--long" and
// "--errors" where they are keys.
// False, with the reason on the standard error, for anything else.
bool ParseNumbers(int argc, char** argv, std::map<std::string, uint64_t>* numbers);

// A bar on the standard error, if that is a terminal. Thread-safe.
class Progress {
 public:
  Progress(std::string what, uint64_t total);
  ~Progress();  // clears the line
  void Show(uint64_t done);

 private:
  const std::string what_;
  const uint64_t total_;
  const bool is_terminal_;
  uint64_t shown_ = 0;
};

// Runs `work(i)` for i from 0 to `count` - 1 on `threads` threads.
void RunInParallel(uint64_t count, uint64_t threads, const std::function<void(uint64_t)>& work);

// "0 of 20000: below 0.015 % with 95 % confidence" (the rule of three), or the share that failed.
std::string FailureRate(uint64_t failures, uint64_t trials);

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_CAMPAIGN_OPTIONS_H_
