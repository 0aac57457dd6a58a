#include "engine/base/page_buffer.h"

#include <sys/mman.h>

namespace winnow {

PageBuffer::PageBuffer(size_t bytes) {
  if (bytes == 0) return;
  // No page is touched here: each is paid for, and zeroed, when it is first written to.
  void* const pages =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  // data() stays null, and the caller does without the buffer.
  if (pages == MAP_FAILED) return;
  data_ = static_cast<char*>(pages);
  size_ = bytes;
}

PageBuffer::~PageBuffer() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace winnow
