// The time by which data expires: an interface, so that tests can set it.
//
//   class TestClock final : public winnow::Clock {
//    public:
//     uint64_t NowMicros() const override { return now_; }
//     void Advance(std::chrono::seconds by) { now_ += static_cast<uint64_t>(by.count()) * 1000000;
//     }
//
//    private:
//     std::atomic<uint64_t> now_{1'000'000'000'000'000};
//   };
//   TestClock clock;                               // must outlive the database
//   options.clock = &clock;
#ifndef WINNOW_CLOCK_H_
#define WINNOW_CLOCK_H_

#include <cstdint>

namespace winnow {

// Asked for the time of each write to a column family with ColumnFamilyOptions::ttl_seconds, and
// for the present when something with a write time is read or compacted; a database without them
// never asks. Implementations must be thread-safe, fast, must not throw and must not call into the
// database.
//
// The clock should not go back. Where it does, what had expired and has not been dropped yet is
// visible again until it expires anew; no version of a key that a newer one has replaced ever is.
class Clock {
 public:
  virtual ~Clock() = default;

  // Microseconds since 1970-01-01 00:00 UTC.
  virtual uint64_t NowMicros() const = 0;
};

// The operating system's, for wall time (CLOCK_REALTIME). Never destroyed.
const Clock* SystemClock();

}  // namespace winnow

#endif  // WINNOW_CLOCK_H_
