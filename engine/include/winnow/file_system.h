// Where a database keeps its files: every byte that the store reads or writes passes through this
// interface, so that tests can record, crash and damage it.
//
//   std::unique_ptr<winnow::FileSystem> memory = winnow::NewMemoryFileSystem();
//   winnow::Options options;
//   options.file_system = memory.get();            // must outlive the database
//   auto db = winnow::DB::Open(options, "/test");
#ifndef WINNOW_FILE_SYSTEM_H_
#define WINNOW_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

// A file's bytes in memory, which are those of the system's cache of it. They stay there until this
// is destroyed, though the file be closed or removed. Thread-safe. What is read may end the process
// (SIGBUS) where the disk fails or somebody has cut the file.
class FileMapping {
 public:
  virtual ~FileMapping() = default;
  // All of the file.
  virtual std::string_view bytes() const = 0;
  // Tells the operating system what will be read soon; only a hint.
  virtual void WillNeed(uint64_t offset, size_t length) const {}
};

// An immutable file, read at any offset. Thread-safe.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;

  // Reads up to `length` bytes from `offset` into `buffer` and returns how many were read; fewer
  // than `length` only at the end of the file. Interrupted and short system calls are retried
  // inside. Errors: Unavailable for an I/O error, with path, offset and errno text.
  virtual absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const = 0;

  // Size in bytes when the file was opened.
  virtual uint64_t size() const = 0;

  // Tells the operating system what comes next; only a hint.
  enum class AccessPattern { kNormal, kRandom, kSequential };
  virtual void Hint(AccessPattern pattern) {}

  // These bytes will be read soon: the operating system may fetch them meanwhile. Does not wait for
  // them; only a hint.
  virtual void Prefetch(uint64_t offset, size_t length) const {}

  // For who reads at many places at once, Options::io_uring_reads: a descriptor by which pread(2)
  // reads what Read does. It stays open as long as `*holder`, or, if that is null, as this object.
  // -1 where there is none (always, unless overridden): Read is used then.
  virtual int Descriptor(std::shared_ptr<const void>* holder) const { return -1; }

  // The file mapped into memory, for Options::mmap_reads. Null where that cannot be had (always,
  // unless overridden): Read is used then.
  virtual std::unique_ptr<FileMapping> Map() const { return nullptr; }
};

// A file being written from its start, by one thread at a time.
class WritableFile {
 public:
  virtual ~WritableFile() = default;  // closes without reporting errors

  // Appends. Once a call has failed the file's tail is unknown: nothing more may be appended, and
  // later calls return the same error.
  virtual absl::Status Append(std::string_view data) = 0;

  // Hands all appended bytes to the operating system, so that they survive the process being
  // killed (not a power failure).
  virtual absl::Status Flush() = 0;

  // Makes all appended bytes survive a power failure. After an error the file must be given up:
  // a second sync that succeeds proves nothing (Rebello et al., ATC 2020). After an Append that
  // failed, a file of mode kLog may still sync what was appended before; others return the error.
  virtual absl::Status Sync() = 0;

  // Flushes and closes. Must be called to learn of late errors. A second call does nothing.
  virtual absl::Status Close() = 0;

  // Bytes appended so far.
  virtual uint64_t size() const = 0;
};

// How a WritableFile will be used.
struct WritableFileOptions {
  // kBuffered collects appends in memory until Flush (tables, manifests). kLog hands every append
  // to the operating system before it returns, as cheaply as the platform allows (write-ahead
  // logs); after a crash such a file may end in zero bytes that were never appended.
  enum class Mode { kBuffered, kLog };
  Mode mode = Mode::kBuffered;
};

// Which file a path names: two paths name one file if device and number are equal. A file that is
// replaced by another of the same name, or removed and created again, becomes another one.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t number = 0;
  uint64_t bytes = 0;  // its size, which is no part of its identity
};

// An exclusive lock on a path; destroying it releases the lock.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// All paths are absolute or relative to the process; "/" separates. Thread-safe. Errors carry the
// path and the system's text: NotFound, AlreadyExists, PermissionDenied, ResourceExhausted (disk
// full, no file descriptors), Unavailable (I/O error), InvalidArgument (not a directory ...).
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenRandomAccess(
      const std::string& path) = 0;

  // Creates the file, truncating one that exists.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> Create(
      const std::string& path, const WritableFileOptions& options) = 0;

  // Makes `to` a further name of the file `from`. Unimplemented where the system cannot do that
  // (always, unless overridden): copy then. AlreadyExists. Durable once the directory has been
  // synced.
  virtual absl::Status Link(const std::string& from, const std::string& to);

  // Replaces `to` atomically. Durable once the directory has been synced.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status Remove(const std::string& path) = 0;
  // Creates the directory and missing parents; existing is fine.
  virtual absl::Status CreateDirectories(const std::string& path) = 0;
  virtual absl::Status RemoveDirectory(const std::string& path) = 0;  // must be empty
  // Names (not paths) of files and directories inside, in no order, without "." and "..".
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& directory) = 0;
  virtual absl::StatusOr<bool> Exists(const std::string& path) = 0;
  virtual absl::StatusOr<bool> IsDirectory(const std::string& path) = 0;
  virtual absl::StatusOr<uint64_t> FileSize(const std::string& path) = 0;
  // An open database looks every second whether its lock and its log are still where it put them.
  // Unimplemented where the system cannot tell (always, unless overridden): nobody looks then.
  virtual absl::StatusOr<FileIdentity> Identify(const std::string& path);
  // Makes the present bytes of a file survive a power failure, whoever has written them.
  // Unimplemented where the system cannot do that (always, unless overridden): copy the file then.
  virtual absl::Status SyncFile(const std::string& path);
  // Makes creations, renames and removals inside the directory survive a power failure.
  // ResourceExhausted: nothing was synced, for want of a descriptor; it may be tried again.
  virtual absl::Status SyncDirectory(const std::string& directory) = 0;

  // Takes an exclusive lock on `path`, creating the file. A second holder, in this process or
  // another, gets FailedPrecondition naming the holder's process id. The operating system's file
  // system locks the directory of a file named LOCK with it, where it can: removing that file lets
  // nobody in.
  virtual absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;
};

// The operating system's file system. Never null; never destroyed.
//
// Nothing here changes what signals do. Under a limit on file sizes (RLIMIT_FSIZE, `ulimit -f`) the
// system ends a process that writes beyond it by SIGXFSZ; a program that ignores that signal gets
// ResourceExhausted, as from a full disk. No file gets the number of a standard stream that is
// closed.
FileSystem* PosixFileSystem();

// Reads a whole file of at most `max_bytes` (larger: ResourceExhausted, nothing read).
absl::StatusOr<std::string> ReadFile(FileSystem& file_system, const std::string& path,
                                     uint64_t max_bytes);

// Writes `path` so that after a crash it holds either its old content or `data`: writes and syncs
// `path`.tmp, renames it, syncs the directory.
absl::Status WriteFileAtomically(FileSystem& file_system, const std::string& path,
                                 std::string_view data);

}  // namespace winnow

#endif  // WINNOW_FILE_SYSTEM_H_
