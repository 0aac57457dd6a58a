#include "winnow/filter/internal/atomic_bits.h"

#include <bit>
#include <new>
#include <utility>

#include "filter/dynamic/parameters.h"

namespace winnow::filter::internal {

// The whole-array functions below are not atomic: while other threads set bits they see each word
// as it is when they come to it, which is enough for an estimate, and for a copy that may hold more
// keys than were there when it began.

absl::StatusOr<AtomicBits> AtomicBits::Create(uint64_t num_words) {
  if (num_words > kMaxFilterBytes / sizeof(uint64_t)) return OutOfMemory(num_words, 8);
  // The size may come from bytes that somebody sent: too much of it is an error to return, not an
  // exception.
  std::unique_ptr<std::atomic<uint64_t>[]> words(new (std::nothrow)
                                                     std::atomic<uint64_t>[num_words]());
  if (words == nullptr) return OutOfMemory(num_words, 8);
  return AtomicBits(std::move(words), num_words);
}

uint64_t AtomicBits::CountOnes() const {
  uint64_t ones = 0;
  for (uint64_t i = 0; i < num_words_; ++i) ones += static_cast<uint64_t>(std::popcount(word(i)));
  return ones;
}

void AtomicBits::Clear() {
  // Plain stores: the caller has the filter for itself, as its header demands, so no bit that
  // another thread sets can be lost here.
  for (uint64_t i = 0; i < num_words_; ++i) set_word(i, 0);
}

void AtomicBits::Or(const AtomicBits& other) {
  for (uint64_t i = 0; i < num_words_; ++i) {
    // Not load and store: bits that others set meanwhile would be lost.
    words_[i].fetch_or(other.word(i), std::memory_order_relaxed);
  }
}

}  // namespace winnow::filter::internal
