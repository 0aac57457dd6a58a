// Bytewise, and counts how often it is asked.
#ifndef WINNOW_TESTS_SUPPORT_COUNTING_COMPARATOR_H_
#define WINNOW_TESTS_SUPPORT_COUNTING_COMPARATOR_H_

#include <atomic>
#include <cstdint>
#include <string_view>

#include "winnow/comparator.h"

namespace winnow {

class CountingComparator final : public Comparator {
 public:
  std::string_view Name() const override { return "test.counting"; }
  int Compare(std::string_view a, std::string_view b) const override {
    count_.fetch_add(1, std::memory_order_relaxed);
    return a.compare(b);
  }
  bool EqualKeysHaveEqualBytes() const override { return true; }

  // Since the last call.
  uint64_t TakeCount() const { return count_.exchange(0); }

 private:
  mutable std::atomic<uint64_t> count_{0};
};

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_COUNTING_COMPARATOR_H_
