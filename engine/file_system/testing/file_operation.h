// One call to a file system, as tests record it, fail it and print it.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_TESTING_FILE_OPERATION_H_
#define WINNOW_ENGINE_FILE_SYSTEM_TESTING_FILE_OPERATION_H_

#include <cstdint>
#include <string>

namespace winnow {

struct FileOperation {
  enum class Kind {
    // Recorded: these change what is, or will be, on disk.
    kCreate,
    kAppend,
    kFlush,
    kSync,
    kClose,
    kLink,
    kRename,
    kRemove,
    kCreateDirectory,  // one for each directory that did not exist
    kRemoveDirectory,
    kSyncDirectory,
    // Shown to error hooks only.
    kOpenForReading,
    kRead,
    kList,
    kInspect,  // Exists, IsDirectory, FileSize
    kLock,
  };

  Kind kind;
  std::string path;
  std::string target;   // kLink, kRename: the new path
  std::string data;     // kAppend: the bytes
  uint64_t offset = 0;  // kAppend, kRead: where in the file
  uint64_t length = 0;  // kAppend, kRead: how many bytes

  // One line: "append /db/000003.log: 130 bytes at offset 32".
  std::string ToString() const;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_TESTING_FILE_OPERATION_H_
