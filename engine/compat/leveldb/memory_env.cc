// NewMemEnv: LevelDB's statuses and texts, which its own tests compare.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "engine/compat/leveldb/conversions.h"
#include "filter/base/mutex.h"
#include "leveldb/env.h"
#include "leveldb/helpers/memenv.h"

namespace leveldb {

namespace {

// Shared by the Env and by whoever has it open: a file that is removed or renamed stays readable.
class Contents {
 public:
  // *result points into `scratch`: the bytes may move when something is appended.
  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const {
    winnow::MutexLock lock(&mutex_);
    // LevelDB's own files in memory say so, where pread(2) would read nothing.
    if (offset > bytes_.size()) return Status::IOError("Offset greater than file size.");
    const size_t length = std::min(n, bytes_.size() - static_cast<size_t>(offset));
    if (length > 0) std::memcpy(scratch, bytes_.data() + offset, length);
    *result = Slice(scratch, length);
    return Status::OK();
  }
  void Append(const Slice& data) {
    winnow::MutexLock lock(&mutex_);
    bytes_.append(data.data(), data.size());
  }
  void Truncate() {
    winnow::MutexLock lock(&mutex_);
    bytes_.clear();
  }
  uint64_t size() const {
    winnow::MutexLock lock(&mutex_);
    return bytes_.size();
  }

 private:
  mutable winnow::Mutex mutex_;
  std::string bytes_ ABSL_GUARDED_BY(mutex_);
};

class MemorySequentialFile final : public SequentialFile {
 public:
  explicit MemorySequentialFile(std::shared_ptr<const Contents> contents)
      : contents_(std::move(contents)) {}
  Status Read(size_t n, Slice* result, char* scratch) override {
    const Status status = contents_->Read(offset_, n, result, scratch);
    if (status.ok()) offset_ += result->size();
    return status;
  }
  // Not beyond the end.
  Status Skip(uint64_t n) override {
    const uint64_t size = contents_->size();
    if (offset_ > size) return Status::IOError("pos_ > file_->Size()");
    offset_ += std::min(n, size - offset_);
    return Status::OK();
  }

 private:
  const std::shared_ptr<const Contents> contents_;
  uint64_t offset_ = 0;
};

class MemoryRandomAccessFile final : public RandomAccessFile {
 public:
  explicit MemoryRandomAccessFile(std::shared_ptr<const Contents> contents)
      : contents_(std::move(contents)) {}
  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    return contents_->Read(offset, n, result, scratch);
  }

 private:
  const std::shared_ptr<const Contents> contents_;
};

class MemoryWritableFile final : public WritableFile {
 public:
  explicit MemoryWritableFile(std::shared_ptr<Contents> contents)
      : contents_(std::move(contents)) {}
  Status Append(const Slice& data) override {
    contents_->Append(data);
    return Status::OK();
  }
  // Readers see an append at once, and nothing in memory outlives the process: there is nothing to
  // hand over, or to make durable.
  Status Close() override { return Status::OK(); }
  Status Flush() override { return Status::OK(); }
  Status Sync() override { return Status::OK(); }

 private:
  const std::shared_ptr<Contents> contents_;
};

// Of a name and not of a file: there need be no file to lock.
class NamedLock final : public FileLock {
 public:
  explicit NamedLock(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
};

// As LevelDB's: an Env in memory keeps no messages.
class SilentLogger final : public Logger {
 public:
  void Logv(const char* format, std::va_list arguments) override {}
};

// Clock, threads and sleep are the base Env's. There are files alone: a slash is a character like
// others, and any directory can be made, removed and listed.
class MemoryEnv final : public EnvWrapper {
 public:
  explicit MemoryEnv(Env* base) : EnvWrapper(base) {}

  Status NewSequentialFile(const std::string& name, SequentialFile** result) override {
    return OpenFile<MemorySequentialFile>(name, result);
  }
  Status NewRandomAccessFile(const std::string& name, RandomAccessFile** result) override {
    return OpenFile<MemoryRandomAccessFile>(name, result);
  }
  // Who has the file open sees it emptied, and what is written now.
  Status NewWritableFile(const std::string& name, WritableFile** result) override {
    const std::shared_ptr<Contents> contents = FindOrCreate(name);
    contents->Truncate();
    *result = new MemoryWritableFile(contents);
    return Status::OK();
  }
  Status NewAppendableFile(const std::string& name, WritableFile** result) override {
    *result = new MemoryWritableFile(FindOrCreate(name));
    return Status::OK();
  }
  bool FileExists(const std::string& name) override { return Find(name) != nullptr; }
  // By prefix: there are no directories.
  Status GetChildren(const std::string& directory, std::vector<std::string>* result) override {
    result->clear();
    const std::string prefix = directory + "/";
    winnow::MutexLock lock(&mutex_);
    for (auto it = files_.lower_bound(prefix);
         it != files_.end() && it->first.compare(0, prefix.size(), prefix) == 0; ++it) {
      result->push_back(it->first.substr(prefix.size()));
    }
    return Status::OK();
  }
  // Whoever has it open keeps the contents, as on POSIX.
  Status RemoveFile(const std::string& name) override {
    winnow::MutexLock lock(&mutex_);
    return files_.erase(name) == 1 ? Status::OK() : Missing(name);
  }
  Status CreateDir(const std::string& name) override { return Status::OK(); }
  Status RemoveDir(const std::string& name) override { return Status::OK(); }
  Status GetFileSize(const std::string& name, uint64_t* bytes) override {
    const std::shared_ptr<Contents> contents = Find(name);
    if (contents == nullptr) return Missing(name);
    *bytes = contents->size();
    return Status::OK();
  }
  // Replaces a file of that name in one step, which is what databases rely on for CURRENT.
  Status RenameFile(const std::string& from, const std::string& to) override {
    winnow::MutexLock lock(&mutex_);
    const auto found = files_.find(from);
    if (found == files_.end()) return Missing(from);
    // Out of the map first: both names may be one.
    const std::shared_ptr<Contents> contents = std::move(found->second);
    files_.erase(found);
    files_[to] = contents;
    return Status::OK();
  }
  // LevelDB's locks nothing, and two databases on the same files would destroy each other's.
  Status LockFile(const std::string& name, FileLock** result) override {
    *result = nullptr;
    winnow::MutexLock lock(&mutex_);
    // The words of LevelDB's POSIX Env.
    if (!locked_.insert(name).second) {
      return Status::IOError("lock " + name, "already held by process");
    }
    *result = new NamedLock(name);
    return Status::OK();
  }
  Status UnlockFile(FileLock* lock) override {
    const std::unique_ptr<NamedLock> named(static_cast<NamedLock*>(lock));
    winnow::MutexLock guard(&mutex_);
    locked_.erase(named->name());
    return Status::OK();
  }
  Status GetTestDirectory(std::string* path) override {
    *path = "/test";
    return Status::OK();
  }
  Status NewLogger(const std::string& name, Logger** result) override {
    *result = new SilentLogger;
    return Status::OK();
  }

 private:
  static Status Missing(const std::string& name) { return Status::IOError(name, "File not found"); }

  template <typename File, typename Result>
  Status OpenFile(const std::string& name, Result** result) {
    *result = nullptr;
    const std::shared_ptr<Contents> contents = Find(name);
    if (contents == nullptr) return Missing(name);
    *result = new File(contents);
    return Status::OK();
  }
  // A share, since the name may be removed as soon as the mutex is released.
  std::shared_ptr<Contents> Find(const std::string& name) {
    winnow::MutexLock lock(&mutex_);
    const auto found = files_.find(name);
    return found == files_.end() ? nullptr : found->second;
  }
  // In one step: of two threads that create a file of this name both get the same.
  std::shared_ptr<Contents> FindOrCreate(const std::string& name) {
    winnow::MutexLock lock(&mutex_);
    std::shared_ptr<Contents>& contents = files_[name];
    if (contents == nullptr) contents = std::make_shared<Contents>();
    return contents;
  }

  winnow::Mutex mutex_;
  std::map<std::string, std::shared_ptr<Contents>> files_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> locked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

Env* NewMemEnv(Env* base_env) { return new MemoryEnv(base_env); }

}  // namespace leveldb
