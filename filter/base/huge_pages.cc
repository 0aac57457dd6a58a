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

// mmap aligns to small pages only: maps a huge page more than is wanted and gives the ends back.
static char* MapAtHugePage(size_t bytes) {
  const size_t reserved = bytes + kHugePageBytes;
  char* const begin = MapPages(reserved);
  if (begin == nullptr) return nullptr;
  const size_t misaligned = reinterpret_cast<uintptr_t>(begin) % kHugePageBytes;
  const size_t head = misaligned == 0 ? 0 : kHugePageBytes - misaligned;
  if (head > 0) ::munmap(begin, head);
  if (const size_t tail = reserved - head - bytes; tail > 0) ::munmap(begin + head + bytes, tail);
  return begin + head;
}

char* MapHugePages(size_t bytes) {
  char* const begin = MapAtHugePage(bytes);
  if (begin != nullptr) AdviseHugePages(begin, bytes);
  return begin;
}

// For what is given back page by page: a part of a huge page cannot go without splitting it.
char* MapSmallPages(size_t bytes) {
  char* const begin = MapAtHugePage(bytes);
#ifdef MADV_NOHUGEPAGE
  if (begin != nullptr) (void)::madvise(begin, bytes, MADV_NOHUGEPAGE);  // there may be none
#endif
  return begin;
}

void UnmapPages(char* begin, size_t bytes) { ::munmap(begin, bytes); }

// The range stays mapped: its next write brings new pages, of zeros.
void DropPages(char* begin, size_t bytes) { (void)::madvise(begin, bytes, MADV_DONTNEED); }

}  // namespace winnow::filter::internal
