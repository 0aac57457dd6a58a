// Memory mapped from the system on huge pages, where it grants them. Internal.

#ifndef WINNOW_FILTER_HUGE_PAGES_H_
#define WINNOW_FILTER_HUGE_PAGES_H_

#include <cstddef>

#include "winnow/filter/resident_memory.h"

namespace winnow::filter::internal {

inline constexpr size_t kHugePageBytes = ResidentMemory::kHugePageBytes;

// Zeros, at a multiple of `alignment`. Both are multiples of a huge page. Null if there is no
// memory. Small pages are what one gets where there are no huge ones.
char* MapHugePages(size_t bytes, size_t alignment);
// What MapHugePages gave.
void UnmapPages(char* begin, size_t bytes);
// Gives the memory of whole huge pages back, but keeps the addresses: zeros again when touched.
void DropPages(char* begin, size_t bytes);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_HUGE_PAGES_H_
