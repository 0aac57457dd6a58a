// Random numbers that nothing else which is known of this process tells. Internal.

#ifndef WINNOW_GUARD_SYSTEM_RANDOM_H_
#define WINNOW_GUARD_SYSTEM_RANDOM_H_

#include <chrono>
#include <cstdint>
#include <exception>
#include <random>

namespace winnow::guard::internal {

// 64 bits of the system's source of randomness.
inline uint64_t SystemRandom() {
  try {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  } catch (const std::exception&) {
    // There is none: time and an address tell threads and processes apart.
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    return static_cast<uint64_t>(now) ^ reinterpret_cast<uintptr_t>(&now);
  }
}

}  // namespace winnow::guard::internal

#endif  // WINNOW_GUARD_SYSTEM_RANDOM_H_
