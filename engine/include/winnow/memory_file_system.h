// A file system in memory that records what is done to it, so that a test can ask: what would be
// on disk if the machine had crashed right here?
//
//   std::unique_ptr<winnow::MemoryFileSystem> memory = winnow::NewMemoryFileSystem();
//   ... open a database on it, write, close ...
//   for (size_t n = 0; n <= memory->num_operations(); n++) {
//     auto crashed = memory->StateAfterCrash(n, winnow::CrashChoice::RandomSubset(seed));
//     ... open a database on *crashed and compare ...
//   }
//
// Crashes follow POSIX without mercy. A file's bytes are durable after Sync of the file only. Its
// directory entry is durable after SyncDirectory of its parent only, and that of the parent after
// SyncDirectory of the grandparent. What has not been synced may survive in any combination, in
// any order, with the one exception that a rename is atomic.
#ifndef WINNOW_MEMORY_FILE_SYSTEM_H_
#define WINNOW_MEMORY_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "winnow/file_system.h"

namespace winnow {

// One call to the file system.
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
    // Shown to the error hook only.
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

// Which part of the unsynced work a crash leaves on disk. What was synced is always there.
struct CrashChoice {
  enum class Kind {
    kKeepNothingUnsynced,
    // The process is killed, the operating system lives: everything handed to it is kept. Appends
    // to a kBuffered file since its last Flush are lost; an unclosed kLog file ends in zeros.
    kKeepAll,
    // Everything is kept but the last append, of which only a part arrived.
    kTornLastAppend,
    // Each 512-byte or 4-KiB piece of unsynced data, each growth of a file's length and each
    // change of a directory is kept or lost by itself. Lost pieces below the length read as zeros
    // or as garbage.
    kRandomSubset,
  };

  static CrashChoice KeepNothingUnsynced() { return {Kind::kKeepNothingUnsynced, 0, 0}; }
  static CrashChoice KeepAll() { return {Kind::kKeepAll, 0, 0}; }
  // `fraction` in [0, 1]: the part of the last append's bytes that is kept.
  static CrashChoice TornLastAppend(double fraction) {
    return {Kind::kTornLastAppend, fraction, 0};
  }
  // The same seed on the same operations gives the same state.
  static CrashChoice RandomSubset(uint64_t seed) { return {Kind::kRandomSubset, 0, seed}; }

  // "keep nothing", "random subset, seed 7", ...
  std::string ToString() const;

  Kind kind = Kind::kKeepNothingUnsynced;
  double torn_fraction = 0;
  uint64_t seed = 0;
};

// Thread-safe. Must outlive the files and locks that it hands out. Relative paths start at "/".
class MemoryFileSystem : public FileSystem {
 public:
  // Called before each operation, without any lock held; may be called by several threads at once.
  // An error makes the operation fail with it, undone and unrecorded.
  using ErrorHook = std::function<absl::Status(const FileOperation&)>;

  // The recorded operations so far, and each of them by its index.
  virtual size_t num_operations() const = 0;
  virtual FileOperation operation(size_t index) const = 0;

  // The file system as it is found after a crash right after the first `num_operations` recorded
  // operations. All that is in it is durable, nothing is locked, and its own recording starts.
  virtual std::unique_ptr<MemoryFileSystem> StateAfterCrash(size_t num_operations,
                                                            const CrashChoice& choice) const = 0;

  // Recording is on at first and keeps every appended byte; large tests switch it off. Either
  // change forgets the operations so far and takes the present state as durable.
  virtual void set_recording(bool recording) = 0;

  // Replaces the hook; null removes it. Must not race with calls that would run the old hook.
  virtual void set_error_hook(ErrorHook hook) = 0;
};

// An empty file system with recording on.
std::unique_ptr<MemoryFileSystem> NewMemoryFileSystem();

}  // namespace winnow

#endif  // WINNOW_MEMORY_FILE_SYSTEM_H_
