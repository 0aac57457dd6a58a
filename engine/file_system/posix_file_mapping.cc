#include "engine/file_system/posix_file_mapping.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <string_view>

#include "engine/file_system/posix_io.h"

namespace winnow {
namespace {

// Relaxed: it counts, and publishes nothing.
std::atomic<int> num_mappings{0};

class PosixFileMapping final : public FileMapping {
 public:
  PosixFileMapping(char* data, size_t size) : data_(data), size_(size) {}
  ~PosixFileMapping() override {
    ::munmap(data_, size_);
    num_mappings.fetch_sub(1, std::memory_order_relaxed);
  }

  std::string_view bytes() const override { return {data_, size_}; }

  // From the start of a page, as madvise(2) wants it. The result is ignored: what was not read
  // ahead is read when it is needed.
  void WillNeed(uint64_t offset, size_t length) const override {
    const uint64_t start = RoundDownToPage(std::min<uint64_t>(offset, size_));
    const uint64_t end = std::min<uint64_t>(offset + length, size_);
    if (start < end) ::madvise(data_ + start, end - start, MADV_WILLNEED);
  }

 private:
  char* const data_;
  const size_t size_;
};

}  // namespace

std::unique_ptr<FileMapping> MapPosixFile(int descriptor, uint64_t bytes) {
  struct stat information;
  // mmap refuses an empty file; and of one that was cut since it was opened, touching what lies
  // behind its end would be SIGBUS.
  if (bytes == 0 || ::fstat(descriptor, &information) != 0 ||
      static_cast<uint64_t>(information.st_size) < bytes) {
    return nullptr;
  }
  // Counted first and taken back if it was too many: threads at once may refuse each other the last
  // one, but never exceed the limit.
  if (num_mappings.fetch_add(1, std::memory_order_relaxed) >= kMostFileMappings) {
    num_mappings.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  void* const data = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  std::unique_ptr<FileMapping> mapping;
  if (data != MAP_FAILED) {
    // Single blocks are read, here and there: a fault that has to wait for the disk brings its own
    // page alone, and not the 128 KiB around it.
    ::madvise(data, bytes, MADV_RANDOM);
    mapping.reset(new (std::nothrow) PosixFileMapping(static_cast<char*>(data), bytes));
    if (mapping == nullptr) ::munmap(data, bytes);
  }
  if (mapping == nullptr) num_mappings.fetch_sub(1, std::memory_order_relaxed);
  return mapping;
}

}  // namespace winnow
