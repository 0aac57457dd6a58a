// The keys of the filter benchmark: 16 bytes, a number and zeros. Even numbers are in the filters,
// odd ones are not and lie between them.

#ifndef WINNOW_BENCH_FILTER_KEY_STREAM_H_
#define WINNOW_BENCH_FILTER_KEY_STREAM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace winnow::bench {

// SplitMix64's bijection.
inline uint64_t Scramble(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

inline uint64_t Reduce(uint64_t uniform, uint64_t bound) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(uniform) * bound) >> 64);
}

struct Key {
  explicit Key(uint64_t number = 0) {
    std::memset(bytes.data() + sizeof(number), '0', bytes.size() - sizeof(number));
    SetNumber(number);
  }

  // Cheaper than to assign another key.
  void SetNumber(uint64_t number) {
    const uint64_t big_endian = __builtin_bswap64(number);
    std::memcpy(bytes.data(), &big_endian, sizeof(big_endian));
  }

  std::string_view view() const { return {bytes.data(), bytes.size()}; }

  std::array<char, 16> bytes;
};

// Where the filters lie: `num_filters` in memory, of which `num_distinct` were built; the others
// are copies, which the caches cannot tell from others.
struct Size {
  const char* place;
  uint64_t keys_per_filter;
  uint64_t num_distinct;
  uint64_t num_filters;

  // The even numbers of the keys in a filter begin here.
  uint64_t FirstKey(uint64_t filter) const { return 2 * (filter % num_distinct) * keys_per_filter; }
};

// A random filter.
inline uint64_t FilterOf(uint64_t random, const Size& size) {
  return Reduce(random, size.num_filters);
}

// The number of a random key that is in the filter with the probability given.
inline uint64_t NumberFor(uint64_t random, const Size& size, uint64_t filter,
                          uint64_t present_percent) {
  const uint64_t is_absent = random % 128 * 100 >= present_percent * 128 ? 1 : 0;
  return size.FirstKey(filter) + 2 * Reduce(random, size.keys_per_filter) + is_absent;
}

}  // namespace winnow::bench

#endif  // WINNOW_BENCH_FILTER_KEY_STREAM_H_
