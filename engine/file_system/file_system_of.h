// The file system that options name.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_FILE_SYSTEM_OF_H_
#define WINNOW_ENGINE_FILE_SYSTEM_FILE_SYSTEM_OF_H_

#include "winnow/file_system.h"
#include "winnow/options.h"

namespace winnow {

// The operating system's if they name none.
inline FileSystem* FileSystemOf(const Options& options) {
  return options.file_system != nullptr ? options.file_system : PosixFileSystem();
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_FILE_SYSTEM_OF_H_
