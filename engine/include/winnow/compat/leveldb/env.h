// LevelDB's view of the operating system: files, locks, threads and time.
#ifndef WINNOW_COMPAT_LEVELDB_ENV_H_
#define WINNOW_COMPAT_LEVELDB_ENV_H_

#include <cstdarg>
#include <cstdint>
#include <string>
#include <vector>

#include "leveldb/export.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace leveldb {

class FileLock;
class Logger;
class RandomAccessFile;
class SequentialFile;
class WritableFile;

// Thread-safe. Functions that make an object store it in *result, which is the caller's to delete,
// or null on an error. A missing file is NotFound, other errors are IOError.
class Env {
 public:
  Env();
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;
  virtual ~Env();

  // The operating system's; never to be deleted.
  static Env* Default();

  virtual Status NewSequentialFile(const std::string& name, SequentialFile** result) = 0;
  virtual Status NewRandomAccessFile(const std::string& name, RandomAccessFile** result) = 0;
  // Replaces a file that exists.
  virtual Status NewWritableFile(const std::string& name, WritableFile** result) = 0;
  // Keeps what is in a file that exists. By default NotSupported.
  virtual Status NewAppendableFile(const std::string& name, WritableFile** result);
  virtual bool FileExists(const std::string& name) = 0;
  // Names, not paths, in no order; "." and ".." may be among them, and Default()'s are.
  virtual Status GetChildren(const std::string& directory, std::vector<std::string>* result) = 0;
  // Each of these pairs has two names for one thing; the default of either calls the other, so that
  // implementations of either age work.
  virtual Status RemoveFile(const std::string& name);
  virtual Status DeleteFile(const std::string& name);
  virtual Status RemoveDir(const std::string& name);
  virtual Status DeleteDir(const std::string& name);
  virtual Status CreateDir(const std::string& name) = 0;
  virtual Status GetFileSize(const std::string& name, uint64_t* bytes) = 0;
  virtual Status RenameFile(const std::string& from, const std::string& to) = 0;
  // IOError at once if somebody holds the lock.
  virtual Status LockFile(const std::string& name, FileLock** lock) = 0;
  virtual Status UnlockFile(FileLock* lock) = 0;
  // Runs function(arg) once, in a background thread.
  virtual void Schedule(void (*function)(void* arg), void* arg) = 0;
  // Runs function(arg) in a thread of its own.
  virtual void StartThread(void (*function)(void* arg), void* arg) = 0;
  virtual Status GetTestDirectory(std::string* path) = 0;
  virtual Status NewLogger(const std::string& name, Logger** result) = 0;
  virtual uint64_t NowMicros() = 0;
  virtual void SleepForMicroseconds(int micros) = 0;
};

// Read from front to back by one thread at a time.
class SequentialFile {
 public:
  SequentialFile() = default;
  SequentialFile(const SequentialFile&) = delete;
  SequentialFile& operator=(const SequentialFile&) = delete;
  virtual ~SequentialFile();

  // Up to n bytes; *result may point into `scratch`, which has room for n. Fewer only at the end.
  virtual Status Read(size_t n, Slice* result, char* scratch) = 0;
  virtual Status Skip(uint64_t n) = 0;
};

// Read anywhere, by many threads.
class RandomAccessFile {
 public:
  RandomAccessFile() = default;
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;
  virtual ~RandomAccessFile();

  virtual Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const = 0;
};

// Appended to by one thread at a time.
class WritableFile {
 public:
  WritableFile() = default;
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;
  virtual ~WritableFile();

  virtual Status Append(const Slice& data) = 0;
  virtual Status Close() = 0;
  virtual Status Flush() = 0;
  virtual Status Sync() = 0;
};

// Takes messages. Thread-safe.
class Logger {
 public:
  Logger() = default;
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;
  virtual ~Logger();

  virtual void Logv(const char* format, std::va_list arguments) = 0;
};

// A lock held, from LockFile to UnlockFile.
class FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  virtual ~FileLock();
};

// A message for `logger`, which may be null.
void Log(Logger* logger, const char* format, ...) __attribute__((__format__(__printf__, 2, 3)));

Status WriteStringToFile(Env* env, const Slice& data, const std::string& name);
Status ReadFileToString(Env* env, const std::string& name, std::string* data);

// Hands every call on to another Env: for programs that change a few of them.
class EnvWrapper : public Env {
 public:
  // `target` must outlive the wrapper.
  explicit EnvWrapper(Env* target) : target_(target) {}
  ~EnvWrapper() override;

  Env* target() const { return target_; }

  Status NewSequentialFile(const std::string& name, SequentialFile** result) override;
  Status NewRandomAccessFile(const std::string& name, RandomAccessFile** result) override;
  Status NewWritableFile(const std::string& name, WritableFile** result) override;
  Status NewAppendableFile(const std::string& name, WritableFile** result) override;
  bool FileExists(const std::string& name) override;
  Status GetChildren(const std::string& directory, std::vector<std::string>* result) override;
  Status RemoveFile(const std::string& name) override;
  Status CreateDir(const std::string& name) override;
  Status RemoveDir(const std::string& name) override;
  Status GetFileSize(const std::string& name, uint64_t* bytes) override;
  Status RenameFile(const std::string& from, const std::string& to) override;
  Status LockFile(const std::string& name, FileLock** lock) override;
  Status UnlockFile(FileLock* lock) override;
  void Schedule(void (*function)(void* arg), void* arg) override;
  void StartThread(void (*function)(void* arg), void* arg) override;
  Status GetTestDirectory(std::string* path) override;
  Status NewLogger(const std::string& name, Logger** result) override;
  uint64_t NowMicros() override;
  void SleepForMicroseconds(int micros) override;

 private:
  Env* target_;
};

}  // namespace leveldb

#endif  // WINNOW_COMPAT_LEVELDB_ENV_H_
