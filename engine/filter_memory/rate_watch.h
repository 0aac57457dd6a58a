// Whether filters keep what the plan promises.
#ifndef WINNOW_ENGINE_FILTER_MEMORY_RATE_WATCH_H_
#define WINNOW_ENGINE_FILTER_MEMORY_RATE_WATCH_H_

#include <cstdint>

namespace winnow {

// Of look-ups of what is not there, those that a filter let through, as expected and as measured;
// both decayed, so that they are of about the last minutes. For one thread.
class RateWatch {
 public:
  // `expected_fpr` is that of the look-ups which were made since the last call, `seconds` ago.
  void Add(double lookups, double false_positives, double expected_fpr, double seconds);

  double lookups() const { return lookups_; }
  double expected_fpr() const;  // NaN without look-ups, and so the next
  double measured_fpr() const;

  // The interval around the expected rate in which the measured one lies 999 times in 1000 if keys
  // are independent, and a tenth of it, since which table was asked how often is a sample.
  double low() const;
  double high() const;
  bool IsKept() const;
  // True once each time that the rate has left the interval.
  bool HasJustLeft();

 private:
  double Tolerance() const;

  double lookups_ = 0;
  double expected_ = 0;  // look-ups
  double variance_ = 0;
  double measured_ = 0;  // look-ups
  bool was_kept_ = true;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILTER_MEMORY_RATE_WATCH_H_
