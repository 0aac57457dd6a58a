#include <chrono>

#include "winnow/clock.h"

namespace winnow {

namespace {

class WallClock final : public Clock {
 public:
  // A wall clock before 1970 is one that was never set: time begins with it.
  uint64_t NowMicros() const override {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
    return micros < 0 ? 0 : static_cast<uint64_t>(micros);
  }
};

}  // namespace

const Clock* SystemClock() {
  static const auto& clock = *new WallClock;  // never destroyed: used until exit
  return &clock;
}

}  // namespace winnow
