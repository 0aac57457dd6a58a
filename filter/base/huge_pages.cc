#include "filter/base/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace winnow::filter::internal {

void AdviseHugePages(void* memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
  // Refused where huge pages are switched off; small pages do as well.
  (void)::madvise(memory, bytes, MADV_HUGEPAGE);
#endif
}

char* MapPages(size_t bytes) {
  void* const region =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return region == MAP_FAILED ? nullptr : static_cast<char*>(region);
}

char* MapHugePages(size_t bytes) {
  // mmap aligns to small pages only: maps a huge page more than is wanted and gives the ends back.
  const size_t reserved = bytes + kHugePageBytes;
  char* const begin = MapPages(reserved);
  if (begin == nullptr) return nullptr;
  const size_t misaligned = reinterpret_cast<uintptr_t>(begin) % kHugePageBytes;
  const size_t head = misaligned == 0 ? 0 : kHugePageBytes - misaligned;
  if (head > 0) ::munmap(begin, head);
  if (const size_t tail = reserved - head - bytes; tail > 0) ::munmap(begin + head + bytes, tail);
  AdviseHugePages(begin + head, bytes);
  return begin + head;
}

void UnmapPages(char* begin, size_t bytes) { ::munmap(begin, bytes); }

void DropPages(char* begin, size_t bytes) { (void)::madvise(begin, bytes, MADV_DONTNEED); }

}  // namespace winnow::filter::internal
