// Whether a resource of a long run keeps growing.
#ifndef WINNOW_TESTS_ENGINE_SOAK_GROWTH_H_
#define WINNOW_TESTS_ENGINE_SOAK_GROWTH_H_

#include <cstdint>
#include <vector>

namespace winnow::soak {

// Of `samples` taken at equal distances under a load that repeats itself: true if the highest of
// the last third is above the highest of the middle third by more than a quarter and by more than
// `slack`. The first third is for warming up. Fewer than six samples say nothing.
bool GrowsWithoutBound(const std::vector<uint64_t>& samples, uint64_t slack);

}  // namespace winnow::soak

#endif  // WINNOW_TESTS_ENGINE_SOAK_GROWTH_H_
