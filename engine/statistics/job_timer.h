// Adds the time of a scope, a whole flush or compaction, to a histogram.
#ifndef WINNOW_ENGINE_STATISTICS_JOB_TIMER_H_
#define WINNOW_ENGINE_STATISTICS_JOB_TIMER_H_

#include <chrono>
#include <cstdint>

#include "engine/base/steady_clock.h"
#include "engine/statistics/recorder.h"

namespace winnow {

class JobTimer {
 public:
  JobTimer(Recorder* recorder, LatencyHistogram which) : recorder_(recorder), which_(which) {}
  ~JobTimer() {
    const auto elapsed = SteadyNow() - start_;
    recorder_->Local().histogram(which_).AddNanos(static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count()));
  }
  JobTimer(const JobTimer&) = delete;
  JobTimer& operator=(const JobTimer&) = delete;

 private:
  Recorder* const recorder_;
  const LatencyHistogram which_;
  const SteadyTime start_ = SteadyNow();
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_STATISTICS_JOB_TIMER_H_
