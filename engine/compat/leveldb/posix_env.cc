// Env::Default(): the operating system, for the programs' own use. Databases on it use Winnow's
// file system directly.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <thread>

#include "filter/base/mutex.h"
#include "engine/compat/leveldb/conversions.h"
#include "leveldb/env.h"

namespace leveldb {

namespace {

Status ErrnoStatus(const std::string& name, int error) {
  const char* reason = std::strerror(error);
  return error == ENOENT ? Status::NotFound(name, reason) : Status::IOError(name, reason);
}

struct CloseStream {
  void operator()(std::FILE* stream) const { std::fclose(stream); }
};
using Stream = std::unique_ptr<std::FILE, CloseStream>;

class StdioSequentialFile final : public SequentialFile {
 public:
  StdioSequentialFile(std::string name, Stream stream)
      : name_(std::move(name)), stream_(std::move(stream)) {}
  Status Read(size_t n, Slice* result, char* scratch) override {
    const size_t length = std::fread(scratch, 1, n, stream_.get());
    *result = Slice(scratch, length);
    return length < n && std::ferror(stream_.get()) != 0 ? ErrnoStatus(name_, errno) : Status();
  }
  Status Skip(uint64_t n) override {
    if (fseeko(stream_.get(), static_cast<off_t>(n), SEEK_CUR) != 0) {
      return ErrnoStatus(name_, errno);
    }
    return Status();
  }

 private:
  const std::string name_;
  const Stream stream_;
};

class StdioWritableFile final : public WritableFile {
 public:
  StdioWritableFile(std::string name, Stream stream)
      : name_(std::move(name)), stream_(std::move(stream)) {}
  Status Append(const Slice& data) override {
    if (stream_ == nullptr) return Status::IOError(name_, "is closed");
    return Check(std::fwrite(data.data(), 1, data.size(), stream_.get()) == data.size());
  }
  Status Flush() override {
    if (stream_ == nullptr) return Status::IOError(name_, "is closed");
    return Check(std::fflush(stream_.get()) == 0);
  }
  Status Sync() override {
    const Status flushed = Flush();
    if (!flushed.ok()) return flushed;
    return Check(fdatasync(fileno(stream_.get())) == 0);
  }
  Status Close() override {
    return stream_ == nullptr ? Status() : Check(std::fclose(stream_.release()) == 0);
  }

 private:
  Status Check(bool worked) const { return worked ? Status() : ErrnoStatus(name_, errno); }

  const std::string name_;
  Stream stream_;
};

class PosixRandomAccessFile final : public RandomAccessFile {
 public:
  explicit PosixRandomAccessFile(std::unique_ptr<winnow::RandomAccessFile> file)
      : file_(std::move(file)) {}
  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    *result = Slice();
    const absl::StatusOr<size_t> length = file_->Read(offset, n, scratch);
    if (!length.ok()) return ToStatus(length.status());
    *result = Slice(scratch, *length);
    return Status();
  }

 private:
  const std::unique_ptr<winnow::RandomAccessFile> file_;
};

class PosixLock final : public FileLock {
 public:
  explicit PosixLock(std::unique_ptr<winnow::FileLock> lock) : lock_(std::move(lock)) {}

 private:
  const std::unique_ptr<winnow::FileLock> lock_;
};

// One line for each message, with the time before it.
class StdioLogger final : public Logger {
 public:
  explicit StdioLogger(Stream stream) : stream_(std::move(stream)) {}
  void Logv(const char* format, std::va_list arguments) override {
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

// Runs functions one after the other in a thread that starts with the first.
class BackgroundQueue {
 public:
  void Add(void (*function)(void*), void* argument) {
    winnow::MutexLock lock(&mutex_);
    if (!started_) {
      started_ = true;
      std::thread([this] { Run(); }).detach();
    }
    tasks_.emplace_back(function, argument);
    added_.Signal();
  }

 private:
  [[noreturn]] void Run() {
    for (;;) {
      std::pair<void (*)(void*), void*> task;
      {
        winnow::MutexLock lock(&mutex_);
        while (tasks_.empty()) added_.Wait(&mutex_);
        task = tasks_.front();
        tasks_.pop_front();
      }
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
    return OpenStream<StdioSequentialFile>(name, "rbe", result);
  }
  Status NewWritableFile(const std::string& name, WritableFile** result) override {
    return OpenStream<StdioWritableFile>(name, "wbe", result);
  }
  Status NewAppendableFile(const std::string& name, WritableFile** result) override {
    return OpenStream<StdioWritableFile>(name, "abe", result);
  }
  Status NewRandomAccessFile(const std::string& name, RandomAccessFile** result) override {
    *result = nullptr;
    auto opened = files_.OpenRandomAccess(name);
    if (!opened.ok()) return ToStatus(opened.status());
    *result = new PosixRandomAccessFile(*std::move(opened));
    return Status();
  }
  bool FileExists(const std::string& name) override { return access(name.c_str(), F_OK) == 0; }
  Status GetChildren(const std::string& directory, std::vector<std::string>* result) override {
    result->clear();
    auto names = files_.List(directory);
    if (names.ok()) *result = *std::move(names);
    return ToStatus(names.status());
  }
  Status RemoveFile(const std::string& name) override { return Check(name, unlink(name.c_str())); }
  Status CreateDir(const std::string& name) override {
    return Check(name, mkdir(name.c_str(), 0755));
  }
  Status RemoveDir(const std::string& name) override { return Check(name, rmdir(name.c_str())); }
  Status GetFileSize(const std::string& name, uint64_t* bytes) override {
    *bytes = 0;
    struct stat file {};
    const Status status = Check(name, stat(name.c_str(), &file));
    if (status.ok()) *bytes = static_cast<uint64_t>(file.st_size);
    return status;
  }
  Status RenameFile(const std::string& from, const std::string& to) override {
    return Check(from, std::rename(from.c_str(), to.c_str()));
  }
  Status LockFile(const std::string& name, FileLock** lock) override {
    *lock = nullptr;
    auto taken = files_.Lock(name);
    if (!taken.ok()) return ToStatus(taken.status());
    *lock = new PosixLock(*std::move(taken));
    return Status();
  }
  Status UnlockFile(FileLock* lock) override {
    delete lock;
    return Status();
  }
  void Schedule(void (*function)(void* arg), void* arg) override { queue_.Add(function, arg); }
  void StartThread(void (*function)(void* arg), void* arg) override {
    std::thread(function, arg).detach();
  }
  Status GetTestDirectory(std::string* path) override {
    const char* chosen = std::getenv("TEST_TMPDIR");
    *path = chosen != nullptr && *chosen != '\0' ? std::string(chosen)
                                                 : "/tmp/leveldbtest-" + std::to_string(geteuid());
    mkdir(path->c_str(), 0755);  // it may exist
    return Status();
  }
  Status NewLogger(const std::string& name, Logger** result) override {
    *result = nullptr;
    Stream stream(std::fopen(name.c_str(), "we"));
    if (stream == nullptr) return ErrnoStatus(name, errno);
    *result = new StdioLogger(std::move(stream));
    return Status();
  }
  uint64_t NowMicros() override {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count());
  }
  void SleepForMicroseconds(int micros) override {
    std::this_thread::sleep_for(std::chrono::microseconds(micros));
  }

 private:
  static Status Check(const std::string& name, int result) {
    return result == 0 ? Status() : ErrnoStatus(name, errno);
  }
  template <typename File, typename Result>
  static Status OpenStream(const std::string& name, const char* mode, Result** result) {
    *result = nullptr;
    Stream stream(std::fopen(name.c_str(), mode));
    if (stream == nullptr) return ErrnoStatus(name, errno);
    *result = new File(name, std::move(stream));
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
