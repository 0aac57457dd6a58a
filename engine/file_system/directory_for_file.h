// A directory where a database looks for a file: it never makes one of such a name.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_DIRECTORY_FOR_FILE_H_
#define WINNOW_ENGINE_FILE_SYSTEM_DIRECTORY_FOR_FILE_H_

#include <string>

#include "winnow/file_system.h"

namespace winnow {

// False in doubt: the next call on the path says what is wrong with it. What has a size is a file;
// LevelDB's Envs may take that for a directory without children.
inline bool IsDirectoryForFile(FileSystem& file_system, const std::string& path) {
  return !file_system.FileSize(path).ok() && file_system.IsDirectory(path).value_or(false);
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_DIRECTORY_FOR_FILE_H_
