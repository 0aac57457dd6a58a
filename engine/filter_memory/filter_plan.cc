// A knapsack whose items hang in chains: a step is of use only with those before it. Each filter's
// chain is cut into strides along its upper hull, so that what a byte saves falls from stride to
// stride, and a heap merges the chains, the best stride first. Where this order fills the budget to
// the byte no other choice saves more, as in the fractional knapsack (Dantzig, "Discrete-Variable
// Extremum Problems", Operations Research 1957); elsewhere it falls short by less than what the
// first stride that did not fit would have saved. First steps are not part of this: they all come
// before any other.
#include "engine/filter_memory/filter_plan.h"

#include <algorithm>
#include <cstdint>
#include <queue>

namespace winnow {

namespace {

// The next steps of one filter that are taken together: one, or more where a later step saves more
// for its bytes than those before it.
struct Stride {
  size_t filter = 0;
  size_t end = 0;  // steps that are in memory after it
  uint64_t bytes = 0;
  double saved_for_byte = 0;

  // The greatest first; then the filter that comes first, so that equal inputs give equal plans.
  friend bool operator<(const Stride& a, const Stride& b) {
    if (a.saved_for_byte != b.saved_for_byte) return a.saved_for_byte < b.saved_for_byte;
    return a.filter > b.filter;
  }
};

// From `begin` on: the upper hull of what steps save over their bytes. Taken stride by stride, what
// a byte saves only falls, which is what makes the greedy choice the best one.
// Linear in the steps behind `begin`, of which a filter has few: a unit or three, or one for each
// half bit that might be planned.
// No more than `room` bytes.
Stride NextStride(const PlannedFilter& filter, size_t index, size_t begin, double replacement_gain,
                  uint64_t room) {
  Stride best;
  best.filter = index;
  best.end = begin;
  const double before = PassingShare(filter, begin);
  double rate = before;
  double saved = 0;
  uint64_t bytes = 0;
  for (size_t i = begin; i < filter.steps.size(); i++) {
    const double passed = rate * filter.steps[i].rate;
    // A step that is in memory counts for more: the one that took its place would cost a read.
    const double weight = i < filter.num_resident ? replacement_gain : 1;
    saved += filter.lookups * (rate - passed) * weight;
    rate = passed;
    bytes += filter.steps[i].bytes;
    if (bytes > room) break;
    // Of equals the shorter stride, which is easier to find room for.
    const double for_byte = saved / static_cast<double>(std::max<uint64_t>(bytes, 1));
    if (best.end != begin && for_byte <= best.saved_for_byte) continue;
    best.end = i + 1;
    best.bytes = bytes;
    best.saved_for_byte = for_byte;
  }
  return best;
}

class Planner {
 public:
  Planner(std::span<const PlannedFilter> filters, uint64_t budget_bytes, double replacement_gain)
      : filters_(filters), budget_bytes_(budget_bytes), replacement_gain_(replacement_gain) {
    plan_.num_resident.resize(filters.size());
  }

  FilterPlan Run() {
    TakeFirstSteps();
    for (size_t i = 0; i < filters_.size(); i++) {
      // A filter that lacks its first step has none of the others.
      if (plan_.num_resident[i] > 0) Push(i, UINT64_MAX);
    }
    // Of what does not fit the first steps may, and then smaller strides of others. Each try is of
    // fewer bytes than the one before, so that this ends.
    while (!strides_.empty()) {
      const Stride stride = strides_.top();
      strides_.pop();
      if (!Fits(stride)) {
        Push(stride.filter, budget_bytes_ - plan_.bytes);
        continue;
      }
      plan_.bytes += stride.bytes;
      plan_.num_resident[stride.filter] = stride.end;
      Push(stride.filter, UINT64_MAX);
    }
    plan_.needless_reads = NeedlessReads(filters_, plan_.num_resident);
    return std::move(plan_);
  }

 private:
  // Where not all fit, those that save the most for their bytes.
  void TakeFirstSteps() {
    std::vector<Stride> firsts;
    for (size_t i = 0; i < filters_.size(); i++) {
      const PlannedFilter& filter = filters_[i];
      if (filter.steps.empty() || filter.is_left_out) continue;
      const FilterStep& first = filter.steps.front();
      const double weight = filter.num_resident > 0 ? replacement_gain_ : 1;
      const double saved = filter.lookups * (1 - first.rate) * weight;
      firsts.push_back(
          {i, 1, first.bytes, saved / static_cast<double>(std::max<uint64_t>(first.bytes, 1))});
    }
    // Exchanged, for descending order.
    std::sort(firsts.begin(), firsts.end(), [](const Stride& a, const Stride& b) { return b < a; });
    for (const Stride& first : firsts) {
      if (!Fits(first)) continue;
      plan_.bytes += first.bytes;
      plan_.num_resident[first.filter] = 1;
    }
  }

  bool Fits(const Stride& stride) {
    // No wrap: plan_.bytes never exceeds the budget.
    if (stride.bytes <= budget_bytes_ - plan_.bytes) return true;
    plan_.value_of_byte = std::max(plan_.value_of_byte, stride.saved_for_byte);
    return false;
  }

  void Push(size_t index, uint64_t room) {
    const PlannedFilter& filter = filters_[index];
    const size_t begin = plan_.num_resident[index];
    if (begin >= filter.steps.size()) return;
    const Stride stride = NextStride(filter, index, begin, replacement_gain_, room);
    // What saves nothing takes no memory, however much is free.
    if (stride.saved_for_byte > 0) strides_.push(stride);
  }

  const std::span<const PlannedFilter> filters_;
  const uint64_t budget_bytes_;
  const double replacement_gain_;
  FilterPlan plan_;
  std::priority_queue<Stride> strides_;
};

}  // namespace

FilterPlan PlanFilterMemory(std::span<const PlannedFilter> filters, uint64_t budget_bytes,
                            double replacement_gain) {
  return Planner(filters, budget_bytes, replacement_gain).Run();
}

uint64_t BytesOf(const PlannedFilter& filter, size_t count) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; i++) bytes += filter.steps[i].bytes;
  return bytes;
}

double PassingShare(const PlannedFilter& filter, size_t count) {
  double share = 1;
  for (size_t i = 0; i < count; i++) share *= filter.steps[i].rate;
  return share;
}

double NeedlessReads(std::span<const PlannedFilter> filters, std::span<const size_t> num_resident) {
  double reads = 0;
  for (size_t i = 0; i < filters.size(); i++) {
    reads += filters[i].lookups * PassingShare(filters[i], num_resident[i]);
  }
  return reads;
}

}  // namespace winnow
