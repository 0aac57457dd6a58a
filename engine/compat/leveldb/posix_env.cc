// Env::Default(): the operating system, for the programs' own use. Databases on it use Winnow's
// file system directly; this Env is that file system behind LevelDB's interface.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <memory>
#include <thread>

#include "engine/base/start_thread.h"
#include "engine/base/status.h"
#include "engine/compat/leveldb/conversions.h"
#include "engine/file_system/posix_io.h"
#include "engine/file_system/posix_writable_file.h"
#include "filter/base/mutex.h"
#include "leveldb/env.h"

namespace leveldb {

namespace {

// As large as LevelDB's own: programs that count on buffered appends find them.
constexpr winnow::PosixWritableFile::BufferSizes kAppendBuffer{.first_bytes = size_t{64} << 10,
                                                               .largest_bytes = size_t{64} << 10};

// As LevelDB's own Env reports: a missing file, or an I/O error whatever else it was.
Status EnvStatus(const absl::Status& status) {
  if (status.ok() || absl::IsNotFound(status)) return ToStatus(status);
  return Status::IOError(ToSlice(winnow::ToStd(status.message())));
}

Status ReadAt(const winnow::RandomAccessFile& file, uint64_t offset, size_t n, Slice* result,
              char* scratch) {
  // The result is empty on an error: programs that look at it first see no stale bytes.
  const absl::StatusOr<size_t> length = file.Read(offset, n, scratch);
  *result = Slice(scratch, length.value_or(0));
  return EnvStatus(length.status());
}

// Reads forward from the start; a file that grows is read to its new end.
class PosixSequentialFile final : public SequentialFile {
 public:
  explicit PosixSequentialFile(std::unique_ptr<winnow::RandomAccessFile> file)
      : file_(std::move(file)) {}
  Status Read(size_t n, Slice* result, char* scratch) override {
    const Status status = ReadAt(*file_, offset_, n, result, scratch);
    offset_ += result->size();
    return status;
  }
  // May go beyond the end, where the next read returns nothing, as lseek(2) would have it.
  Status Skip(uint64_t n) override {
    offset_ += n;
    return Status();
  }

 private:
  const std::unique_ptr<winnow::RandomAccessFile> file_;
  uint64_t offset_ = 0;
};

// Thread-safe as the store's file is: each read brings its offset.
class PosixRandomAccessFile final : public RandomAccessFile {
 public:
  explicit PosixRandomAccessFile(std::unique_ptr<winnow::RandomAccessFile> file)
      : file_(std::move(file)) {}
  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    return ReadAt(*file_, offset, n, result, scratch);
  }

 private:
  const std::unique_ptr<winnow::RandomAccessFile> file_;
};

// The store's file keeps its first error, so that a program that goes on after a failed append
// learns of it from each later call too.
class PosixWritableFile final : public WritableFile {
 public:
  explicit PosixWritableFile(std::unique_ptr<winnow::WritableFile> file) : file_(std::move(file)) {}
  Status Append(const Slice& data) override { return EnvStatus(file_->Append(ToView(data))); }
  Status Flush() override { return EnvStatus(file_->Flush()); }
  Status Sync() override { return EnvStatus(file_->Sync()); }
  Status Close() override { return EnvStatus(file_->Close()); }

 private:
  const std::unique_ptr<winnow::WritableFile> file_;
};

// Its destructor releases the lock, so that UnlockFile only has to delete it.
class PosixLock final : public FileLock {
 public:
  explicit PosixLock(std::unique_ptr<winnow::FileLock> lock) : lock_(std::move(lock)) {}

 private:
  const std::unique_ptr<winnow::FileLock> lock_;
};

struct CloseStream {
  void operator()(std::FILE* stream) const { std::fclose(stream); }
};
using Stream = std::unique_ptr<std::FILE, CloseStream>;

// One line for each message, with the time before it.
class StdioLogger final : public Logger {
 public:
  explicit StdioLogger(Stream stream) : stream_(std::move(stream)) {}
  void Logv(const char* format, std::va_list arguments) override {
    // The message is put out in one go under the lock, so that lines of several threads do not mix;
    // the flush makes it survive the process.
    const auto now = std::chrono::system_clock::now();
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm local{};
    localtime_r(&seconds, &local);
    char time[32];
    std::strftime(time, sizeof(time), "%Y/%m/%d-%H:%M:%S", &local);
    winnow::MutexLock lock(&mutex_);
    std::fprintf(stream_.get(), "%s ", time);
    std::vfprintf(stream_.get(), format, arguments);
    std::fputc('\n', stream_.get());
    std::fflush(stream_.get());
  }

 private:
  winnow::Mutex mutex_;
  const Stream stream_;
};

// Runs functions one after the other in a thread that starts with the first. Where the system has
// no thread to give they wait, and each further one tries again: LevelDB's interface has no way to
// say that a function could not be taken.
class BackgroundQueue {
 public:
  void Add(void (*function)(void*), void* argument) {
    winnow::MutexLock lock(&mutex_);
    tasks_.emplace_back(function, argument);
    if (!started_) {
      std::thread thread;
      if (!winnow::StartThread(&thread, [this] { Run(); }).ok()) return;
      thread.detach();
      started_ = true;
    }
    added_.Signal();
  }

 private:
  // LevelDB's promise to programs: one thread, and functions in the order in which they were added.
  // It never ends, like the Env that owns it; detached, it does not hold up the process's exit. No
  // database uses it.
  [[noreturn]] void Run() {
    for (;;) {
      std::pair<void (*)(void*), void*> task;
      {
        winnow::MutexLock lock(&mutex_);
        while (tasks_.empty()) added_.Wait(&mutex_);
        task = tasks_.front();
        tasks_.pop_front();
      }
      // Without the lock: the function may add others.
      task.first(task.second);
    }
  }

  winnow::Mutex mutex_;
  winnow::CondVar added_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::pair<void (*)(void*), void*>> tasks_ ABSL_GUARDED_BY(mutex_);
};

class PosixEnv final : public Env {
 public:
  Status NewSequentialFile(const std::string& name, SequentialFile** result) override {
    // Positioned reads behind both: a sequential file keeps its offset itself.
    return Give<PosixSequentialFile>(files_.OpenRandomAccess(name), result);
  }
  Status NewRandomAccessFile(const std::string& name, RandomAccessFile** result) override {
    return Give<PosixRandomAccessFile>(files_.OpenRandomAccess(name), result);
  }
  // Buffered: what must survive the process is flushed, and the power failure synced, by the
  // program.
  Status NewWritableFile(const std::string& name, WritableFile** result) override {
    return Give<PosixWritableFile>(files_.Create(name, winnow::WritableFileOptions()), result);
  }
  // The store itself never appends to a file that it finds, so its interface has no such call.
  Status NewAppendableFile(const std::string& name, WritableFile** result) override {
    *result = nullptr;
    auto opened = winnow::OpenDescriptor(name, O_WRONLY | O_CREAT | O_APPEND);
    if (!opened.ok()) return EnvStatus(opened.status());
    *result = new PosixWritableFile(
        std::make_unique<winnow::PosixWritableFile>(*std::move(opened), name, kAppendBuffer));
    return Status();
  }
  // The interface has no error here; what cannot be looked at counts as missing.
  bool FileExists(const std::string& name) override {
    const absl::StatusOr<bool> exists = files_.Exists(name);
    return exists.ok() && *exists;
  }
  Status GetChildren(const std::string& directory, std::vector<std::string>* result) override {
    result->clear();
    auto names = files_.List(directory);
    if (names.ok()) *result = *std::move(names);
    // What readdir(3) gives, and LevelDB passes on.
    if (names.ok()) result->insert(result->end(), {".", ".."});
    return EnvStatus(names.status());
  }
  Status RemoveFile(const std::string& name) override { return EnvStatus(files_.Remove(name)); }
  // One directory, which must not exist; the store's own call makes parents too and takes one that
  // exists.
  Status CreateDir(const std::string& name) override {
    if (mkdir(name.c_str(), 0755) == 0) return Status();
    return EnvStatus(winnow::PosixError(name, "create directory", errno));
  }
  Status RemoveDir(const std::string& name) override {
    return EnvStatus(files_.RemoveDirectory(name));
  }
  Status GetFileSize(const std::string& name, uint64_t* bytes) override {
    const absl::StatusOr<uint64_t> size = files_.FileSize(name);
    // 0 on an error: programs may look at it first.
    *bytes = size.value_or(0);
    return EnvStatus(size.status());
  }
  Status RenameFile(const std::string& from, const std::string& to) override {
    return EnvStatus(files_.Rename(from, to));
  }
  Status LockFile(const std::string& name, FileLock** lock) override {
    return Give<PosixLock>(files_.Lock(name), lock);
  }
  Status UnlockFile(FileLock* lock) override {
    delete lock;
    return Status();
  }
  void Schedule(void (*function)(void* arg), void* arg) override { queue_.Add(function, arg); }
  // Detached: LevelDB's interface has no way to wait for it. A function that gets no thread of its
  // own runs with those of Schedule.
  void StartThread(void (*function)(void* arg), void* arg) override {
    std::thread thread;
    if (!winnow::StartThread(&thread, [function, arg] { function(arg); }).ok()) {
      queue_.Add(function, arg);
      return;
    }
    thread.detach();
  }
  Status GetTestDirectory(std::string* path) override {
    const char* chosen = std::getenv("TEST_TMPDIR");
    *path = chosen != nullptr && *chosen != '\0' ? std::string(chosen)
                                                 : "/tmp/leveldbtest-" + std::to_string(geteuid());
    CreateDir(*path);  // it may exist
    return Status();
  }
  Status NewLogger(const std::string& name, Logger** result) override {
    *result = nullptr;
    // "e": not handed on to programs that this one starts.
    Stream stream(std::fopen(name.c_str(), "we"));
    if (stream == nullptr) return EnvStatus(winnow::PosixError(name, "open", errno));
    *result = new StdioLogger(std::move(stream));
    return Status();
  }
  // Wall time, as LevelDB's: programs print it. It may go back.
  uint64_t NowMicros() override {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count());
  }
  void SleepForMicroseconds(int micros) override {
    std::this_thread::sleep_for(std::chrono::microseconds(micros));
  }

 private:
  // Hands what the store opened over to a program, as LevelDB does: a raw pointer that it deletes.
  template <typename Wrapper, typename Opened, typename Result>
  static Status Give(absl::StatusOr<std::unique_ptr<Opened>> opened, Result** result) {
    *result = nullptr;
    if (!opened.ok()) return EnvStatus(opened.status());
    *result = new Wrapper(*std::move(opened));
    return Status();
  }

  winnow::FileSystem& files_ = *winnow::PosixFileSystem();
  BackgroundQueue queue_;
};

}  // namespace

Env* Env::Default() {
  static PosixEnv* const instance = new PosixEnv;  // never destroyed: used until exit
  return instance;
}

}  // namespace leveldb
