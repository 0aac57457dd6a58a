// Whether the upper halves of the vector registers count as in use. Code that leaves them so makes
// every change between SSE and AVX instructions slow on some processors, in all that the thread
// does next.
#ifndef WINNOW_TESTS_SUPPORT_VECTOR_STATE_H_
#define WINNOW_TESTS_SUPPORT_VECTOR_STATE_H_

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace winnow {

class VectorState {
 public:
#if defined(__x86_64__)
  static bool UpperHalvesAreInUse() {
    uint32_t low = 0;
    uint32_t high = 0;
    // The state components in use (Intel SDM, XGETBV with ECX = 1).
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return (low & kUpperHalves) != 0;
  }
  // False: the processor cannot tell, or tells nothing that vzeroupper changes.
  static bool Clear() {
    uint32_t eax = 0;
    uint32_t ebx = 0;
    uint32_t ecx = 0;
    uint32_t edx = 0;
    constexpr uint32_t kOsSavesAvx = 1u << 27 | 1u << 28;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kOsSavesAvx) != kOsSavesAvx) {
      return false;
    }
    constexpr uint32_t kTellsUse = 1u << 2;
    if (__get_cpuid_count(0xd, 1, &eax, &ebx, &ecx, &edx) == 0 || (eax & kTellsUse) == 0) {
      return false;
    }
    asm volatile("vzeroupper");
    return !UpperHalvesAreInUse();
  }

 private:
  static constexpr uint32_t kUpperHalves = 1u << 2 | 1u << 6;  // of ymm, of zmm 0 to 15
#else
  static bool UpperHalvesAreInUse() { return false; }
  static bool Clear() { return false; }
#endif
};

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_VECTOR_STATE_H_
