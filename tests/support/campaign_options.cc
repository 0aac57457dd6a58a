#include "tests/support/campaign_options.h"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

namespace winnow {

bool ParseNumbers(int argc, char** argv, std::map<std::string, uint64_t>* numbers) {
  for (int i = 1; i < argc; i++) {
    const std::string_view argument = argv[i];
    const size_t equals = argument.find('=');
    const auto number = argument.starts_with("--")
                            ? numbers->find(std::string(argument.substr(0, equals).substr(2)))
                            : numbers->end();
    if (number == numbers->end()) {
      std::fprintf(stderr, "unknown argument '%s'\n", argv[i]);
      return false;
    }
    if (equals == argument.npos && (argument == "--long" || argument == "--errors")) {
      number->second = 1;
      continue;
    }
    const std::string_view text =
        equals == argument.npos ? std::string_view() : argument.substr(equals + 1);
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number->second);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
      std::fprintf(stderr, "'%s' wants a number: --%s=NUMBER\n", argv[i], number->first.c_str());
      return false;
    }
  }
  return true;
}

Progress::Progress(std::string what, uint64_t total)
    : what_(std::move(what)), total_(total == 0 ? 1 : total), is_terminal_(isatty(STDERR_FILENO)) {}

Progress::~Progress() {
  if (is_terminal_) std::fprintf(stderr, "\r\033[K");
}

void Progress::Show(uint64_t done) {
  if (!is_terminal_ || (done < total_ && done - shown_ < total_ / 200 + 1)) return;
  shown_ = done;
  constexpr int kWidth = 40;
  const int filled = static_cast<int>(done >= total_ ? kWidth : done * kWidth / total_);
  const std::string bar(static_cast<size_t>(filled), '#');
  std::fprintf(stderr, "\r%s [%-*s] %llu of %llu", what_.c_str(), kWidth, bar.c_str(),
               static_cast<unsigned long long>(done), static_cast<unsigned long long>(total_));
}

void RunInParallel(uint64_t count, uint64_t threads, const std::function<void(uint64_t)>& work) {
  std::atomic<uint64_t> next = 0;
  std::vector<std::thread> running;
  for (uint64_t thread = 0; thread < threads; thread++) {
    running.emplace_back([&] {
      for (uint64_t i = next++; i < count; i = next++) work(i);
    });
  }
  for (std::thread& thread : running) thread.join();
}

std::string FailureRate(uint64_t failures, uint64_t trials) {
  if (trials == 0) return "nothing tried";
  if (failures > 0) return absl::StrFormat("%d of %d failed", failures, trials);
  return absl::StrFormat("0 of %d failed: the failure rate of such trials is below %.3g %% (95 %%)",
                         trials, 300.0 / static_cast<double>(trials));
}

}  // namespace winnow
