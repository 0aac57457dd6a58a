#include "tests/support/resident_memory_hook.h"

#include <atomic>

#include "winnow/filter/resident_memory.h"

using winnow::filter::ResidentMemory;

// By the names that the compilers of Linux give them.
extern "C" {
void __real__ZN6winnow6filter14ResidentMemoryC1Em(ResidentMemory* piece, size_t bytes);
void __wrap__ZN6winnow6filter14ResidentMemoryC1Em(ResidentMemory* piece, size_t bytes);
void __real__ZN6winnow6filter14ResidentMemoryD1Ev(ResidentMemory* piece);
void __wrap__ZN6winnow6filter14ResidentMemoryD1Ev(ResidentMemory* piece);
}

namespace winnow {
namespace {

std::atomic<size_t> held{0};
std::atomic<size_t> most_held{0};
std::atomic<size_t> largest{0};

void RaiseTo(std::atomic<size_t>* most, size_t to) {
  size_t seen = most->load(std::memory_order_relaxed);
  while (to > seen && !most->compare_exchange_weak(seen, to)) {
  }
}

}  // namespace

size_t HeldResidentMemory() { return held.load(); }
size_t MostHeldResidentMemory() { return most_held.load(); }
size_t LargestResidentMemory() { return largest.load(); }
void ResetMostHeldResidentMemory() {
  most_held = held.load();
  largest = 0;
}

}  // namespace winnow

void __wrap__ZN6winnow6filter14ResidentMemoryC1Em(ResidentMemory* piece, size_t bytes) {
  __real__ZN6winnow6filter14ResidentMemoryC1Em(piece, bytes);
  if (piece->size() < winnow::kWatchedBytes) return;
  winnow::RaiseTo(&winnow::most_held, winnow::held.fetch_add(bytes) + bytes);
  winnow::RaiseTo(&winnow::largest, bytes);
}

// What was moved away has no bytes any more.
void __wrap__ZN6winnow6filter14ResidentMemoryD1Ev(ResidentMemory* piece) {
  if (piece->size() >= winnow::kWatchedBytes) winnow::held.fetch_sub(piece->size());
  __real__ZN6winnow6filter14ResidentMemoryD1Ev(piece);
}
