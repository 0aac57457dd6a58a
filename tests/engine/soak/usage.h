// What a process and the files of its database take at one moment, and whether that comes back.
#ifndef WINNOW_TESTS_ENGINE_SOAK_USAGE_H_
#define WINNOW_TESTS_ENGINE_SOAK_USAGE_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace winnow::soak {

// A sanitizer keeps what was freed for a while, and its shadow takes terabytes of address space.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

struct Usage {
  uint64_t resident_bytes = 0;
  uint64_t descriptors = 0;
  uint64_t disk_bytes = 0;
};

// Of this process, and of a directory's files; 0 where that cannot be told.
uint64_t ResidentBytes();
uint64_t OpenDescriptors();
uint64_t BytesIn(const std::string& directory);

// The most that was resident since the process began or the second of these was called, which does
// nothing where the system does not grant it.
uint64_t HighestResidentBytes();
void ForgetHighestResidentBytes();

// Without what malloc keeps for later, which is not the store's.
Usage MeasureUsage(const std::string& directory);

// The larger of each.
Usage MostOf(const Usage& a, const Usage& b);

// What of the usage at its most has not come back, as texts. A third of what was taken may stay:
// pieces of memory that lie between others, the handles of dropped families, a log that is reserved
// ahead.
std::vector<std::string> WhatStays(const Usage& before, const Usage& most, const Usage& after);

// Where nothing is due any more. Large files are removed by whichever thread was the last to need
// them, and not at once: measures until nothing stays, or `patience` is over.
Usage MeasureOnceReturned(const Usage& before, const Usage& most, const std::string& directory,
                          std::chrono::seconds patience = std::chrono::seconds(60));

}  // namespace winnow::soak

#endif  // WINNOW_TESTS_ENGINE_SOAK_USAGE_H_
