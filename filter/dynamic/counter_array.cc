#include "winnow/filter/internal/counter_array.h"

#include <algorithm>
#include <bit>
#include <new>

#include "filter/dynamic/parameters.h"

namespace winnow::filter::internal {

// Sixteen counters of four bits to a word. Four bits are Summary Cache's choice (Fan et al., 2000):
// with the best number of probes a given counter exceeds 15 with a probability below 1.4e-15.
absl::StatusOr<CounterArray> CounterArray::Create(uint64_t num_counters) {
  // Words are bounded before they are multiplied by eight; NumWords itself could wrap only within
  // 15 of 2^64, which no caller asks for.
  const uint64_t num_words = NumWords(num_counters);
  if (num_words > kMaxFilterBytes / sizeof(uint64_t)) return OutOfMemory(num_words, 8);
  std::unique_ptr<uint64_t[]> words(new (std::nothrow) uint64_t[num_words]());
  if (words == nullptr) return OutOfMemory(num_words, 8);
  return CounterArray(std::move(words), num_counters);
}

// Sixteen counters at a time: the or of each one's four bits, gathered in its lowest bit.
uint64_t CounterArray::CountNonZero() const {
  uint64_t count = 0;
  for (uint64_t i = 0; i < num_words(); ++i) {
    uint64_t word = words_[i];
    word |= word >> 1;
    word |= word >> 2;
    count += static_cast<uint64_t>(std::popcount(word & 0x1111111111111111));
  }
  return count;
}

void CounterArray::Clear() { std::fill_n(words_.get(), num_words(), uint64_t{0}); }

// Counter by counter, in words of sixteen. Those of the last word that do not exist are zero in
// both arrays and stay so, since every combination of 0 and 0 is 0.
// O(counters), one at a time: saturating addition inside a packed word is not worth its code for
// what runs once for a union.
template <typename Combine>
void CounterArray::CombineWith(const CounterArray& other, Combine combine) {
  for (uint64_t i = 0; i < num_words(); ++i) {
    uint64_t combined = 0;
    for (uint64_t shift = 0; shift < 64; shift += 4) {
      const uint64_t count = combine(words_[i] >> shift & 15, other.words_[i] >> shift & 15);
      combined |= count << shift;
    }
    words_[i] = combined;
  }
}

// A sum beyond the top sticks there, as Increment does: a counter never falls below what it counts.
void CounterArray::AddCounters(const CounterArray& other) {
  CombineWith(other, [](uint64_t a, uint64_t b) { return std::min<uint64_t>(a + b, kSaturated); });
}

void CounterArray::TakeMaximum(const CounterArray& other) {
  CombineWith(other, [](uint64_t a, uint64_t b) { return std::max(a, b); });
}

void CounterArray::TakeMinimum(const CounterArray& other) {
  CombineWith(other, [](uint64_t a, uint64_t b) { return std::min(a, b); });
}

}  // namespace winnow::filter::internal
