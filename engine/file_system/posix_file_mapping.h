// Files in memory by mmap(2).
#ifndef WINNOW_ENGINE_FILE_SYSTEM_POSIX_FILE_MAPPING_H_
#define WINNOW_ENGINE_FILE_SYSTEM_POSIX_FILE_MAPPING_H_

#include <cstdint>
#include <memory>

#include "winnow/file_system.h"

namespace winnow {

// The process's mappings of files at one time: a fourth of what Linux grants it by default
// (vm.max_map_count, 65,530), since threads, libraries and the allocator need some as well, and
// fare worse without.
inline constexpr int kMostFileMappings = 16'384;

// The first `bytes` of the file, read-only. Null if the file has not as many now, which would be a
// SIGBUS later, and where there is no room for another mapping.
std::unique_ptr<FileMapping> MapPosixFile(int descriptor, uint64_t bytes);

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_POSIX_FILE_MAPPING_H_
