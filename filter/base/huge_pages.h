// Memory mapped from the system on huge pages, where it grants them. Internal.

#ifndef WINNOW_FILTER_BASE_HUGE_PAGES_H_
#define WINNOW_FILTER_BASE_HUGE_PAGES_H_

#include <cstddef>

#include "winnow/filter/resident_memory.h"

namespace winnow::filter::internal {

inline constexpr size_t kHugePageBytes = ResidentMemory::kHugePageBytes;

// `bytes` and what is missing to whole huge pages.
inline size_t WholeHugePages(size_t bytes) {
  return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

// Advises the system to use huge pages where the memory lies. It may refuse: small pages work as
// well.
void AdviseHugePages(void* memory, size_t bytes);

// `bytes`, whole huge pages, of zeros at a multiple of one. Null if there is no memory.
char* MapHugePages(size_t bytes);
// The same on small pages, even where the system grants huge ones unasked: what is dropped of them
// goes back by small pages.
char* MapSmallPages(size_t bytes);
// `bytes` of zeros on small pages. Null if there is no memory.
char* MapPages(size_t bytes);
// What either gave.
void UnmapPages(char* begin, size_t bytes);
// Gives the memory of whole pages back, but keeps the addresses: zeros again when touched.
void DropPages(char* begin, size_t bytes);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_BASE_HUGE_PAGES_H_
