// An array of bits that many threads set and read at once. Internal.

#ifndef WINNOW_FILTER_INTERNAL_ATOMIC_BITS_H_
#define WINNOW_FILTER_INTERNAL_ATOMIC_BITS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow::filter::internal {

// Bit i is bit i % 64 of word i / 64. Accesses are relaxed: a reader is sure to see a bit that was
// set before something which that reader has acquired.
class AtomicBits {
 public:
  // All bits zero. ResourceExhausted if there is no such memory.
  static absl::StatusOr<AtomicBits> Create(uint64_t num_words);

  AtomicBits(AtomicBits&&) = default;
  AtomicBits& operator=(AtomicBits&&) = default;

  // Sets a bit; true if it was zero.
  bool Set(uint64_t bit) {
    std::atomic<uint64_t>& word = words_[bit >> 6];
    const uint64_t mask = uint64_t{1} << (bit & 63);
    // A read first: a bit that is set already then costs no exclusive access to the line.
    if ((word.load(std::memory_order_relaxed) & mask) != 0) return false;
    return (word.fetch_or(mask, std::memory_order_relaxed) & mask) == 0;
  }

  bool Get(uint64_t bit) const {
    return (words_[bit >> 6].load(std::memory_order_relaxed) >> (bit & 63) & 1) != 0;
  }

  uint64_t num_words() const { return num_words_; }
  uint64_t num_bits() const { return num_words_ * 64; }
  uint64_t word(uint64_t i) const { return words_[i].load(std::memory_order_relaxed); }
  void set_word(uint64_t i, uint64_t value) { words_[i].store(value, std::memory_order_relaxed); }

  // Linear in the number of words, as all that follow.
  uint64_t CountOnes() const;
  void Clear();
  // Sets the bits that `other`, of the same size, has set.
  void Or(const AtomicBits& other);

 private:
  AtomicBits(std::unique_ptr<std::atomic<uint64_t>[]> words, uint64_t num_words)
      : words_(std::move(words)), num_words_(num_words) {}

  std::unique_ptr<std::atomic<uint64_t>[]> words_;
  uint64_t num_words_;
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_INTERNAL_ATOMIC_BITS_H_
