#include "engine/table/row_latches.h"

#include <algorithm>
#include <numeric>

#include "winnow/filter/hash.h"

namespace winnow {

uint16_t RowLatches::LatchOf(std::string_view row) {
  // A collision only makes two rows wait for each other, so that a fixed seed will do.
  return static_cast<uint16_t>(filter::HashKey(row, /*seed=*/0) % kNumLatches);
}

RowLatchGuard::RowLatchGuard(RowLatches& latches, uint16_t latch)
    : latches_(latches), single_(latch), is_single_(true) {
  latches_.latches_[single_].Lock();
}

RowLatchGuard::RowLatchGuard(RowLatches& latches, std::vector<uint16_t> wanted)
    : latches_(latches), is_single_(false), held_(std::move(wanted)) {
  // Each once: a second Lock by the same thread would wait for itself.
  std::sort(held_.begin(), held_.end());
  held_.erase(std::unique(held_.begin(), held_.end()), held_.end());
  LockHeld();
}

RowLatchGuard::RowLatchGuard(RowLatches& latches)
    : latches_(latches), is_single_(false), held_(RowLatches::kNumLatches) {
  // Waits for every writer that is at work, and holds up all that come: for what happens seldom.
  std::iota(held_.begin(), held_.end(), uint16_t{0});
  LockHeld();
}

RowLatchGuard::~RowLatchGuard() {
  if (is_single_) {
    latches_.latches_[single_].Unlock();
    return;
  }
  for (const uint16_t latch : held_) latches_.latches_[latch].Unlock();
}

void RowLatchGuard::LockHeld() {
  for (const uint16_t latch : held_) latches_.latches_[latch].Lock();
}

}  // namespace winnow
