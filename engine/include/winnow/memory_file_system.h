// A file system in memory, for tests and for data that need not outlive the process.
//
//   std::unique_ptr<winnow::FileSystem> memory = winnow::NewMemoryFileSystem();
//   winnow::Options options;
//   options.file_system = memory.get();
//   auto db = winnow::DB::Open(options, "/db");
#ifndef WINNOW_MEMORY_FILE_SYSTEM_H_
#define WINNOW_MEMORY_FILE_SYSTEM_H_

#include <memory>

#include "winnow/file_system.h"

namespace winnow {

// An empty file system. Its calls give the same results and the same error codes as those of
// PosixFileSystem(), except that nothing is ever unavailable: the only limit is memory.
//
//   * Relative paths start at "/". Locks exclude other holders of the same object.
//   * Sync and SyncDirectory succeed and mean nothing: all is lost when the object is destroyed.
//   * Bytes of a kBuffered file are seen by readers after Flush, Sync or Close, those of a kLog
//     file at once.
//
// Thread-safe. Must outlive the files and locks that it hands out.
std::unique_ptr<FileSystem> NewMemoryFileSystem();

}  // namespace winnow

#endif  // WINNOW_MEMORY_FILE_SYSTEM_H_
