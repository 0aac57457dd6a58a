// The files of a program's own Env, as the store sees them.
#include <algorithm>
#include <cstring>

#include "engine/compat/leveldb/conversions.h"
#include "leveldb/env.h"

namespace leveldb {

namespace {

// Without "IO error: ", which stands in front again once a program sees it.
std::string TextBehindKind(const Status& status) {
  const std::string text = status.ToString();
  const size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

class ReadableFile final : public winnow::RandomAccessFile {
 public:
  // The size is that of opening: LevelDB's files do not know theirs.
  ReadableFile(std::unique_ptr<leveldb::RandomAccessFile> file, uint64_t size)
      : file_(std::move(file)), size_(size) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    // Winnow reads short only at the end of a file; an Env may do so anywhere.
    size_t done = 0;
    while (done < length) {
      Slice piece;
      const Status status = file_->Read(offset + done, length - done, &piece, buffer + done);
      if (!status.ok()) return FromStatus(status);
      if (piece.empty()) break;
      const size_t bytes = std::min(piece.size(), length - done);
      // An Env may answer from memory of its own.
      if (piece.data() != buffer + done) std::memmove(buffer + done, piece.data(), bytes);
      done += bytes;
    }
    return done;
  }
  uint64_t size() const override { return size_; }

 private:
  const std::unique_ptr<leveldb::RandomAccessFile> file_;
  const uint64_t size_;
};

class AppendedFile final : public winnow::WritableFile {
 public:
  AppendedFile(std::unique_ptr<leveldb::WritableFile> file,
               const winnow::WritableFileOptions& options)
      : file_(std::move(file)),
        flush_always_(options.mode == winnow::WritableFileOptions::Mode::kLog) {}

  absl::Status Append(std::string_view data) override {
    // Bytes behind others that are missing would be taken for something else.
    if (!status_.ok()) return status_;
    // A log's append must be in the hands of the operating system when it returns, or writes that
    // were acknowledged would die with the process; LevelDB's files may buffer until Flush.
    Keep(file_->Append(ToSlice(data))).IgnoreError();  // it stays
    if (status_.ok() && flush_always_) Keep(file_->Flush()).IgnoreError();
    if (status_.ok()) size_ += data.size();
    return status_;
  }
  absl::Status Flush() override { return Keep(file_->Flush()); }
  absl::Status Sync() override { return Keep(file_->Sync()); }
  absl::Status Close() override {
    if (!closed_) Keep(file_->Close()).IgnoreError();
    closed_ = true;
    return status_;
  }
  uint64_t size() const override { return size_; }

 private:
  // The first error stays.
  // Whatever succeeds afterwards does not make the file whole.
  absl::Status Keep(const Status& status) {
    status_.Update(FromStatus(status));
    return status_;
  }

  const std::unique_ptr<leveldb::WritableFile> file_;
  const bool flush_always_;
  bool closed_ = false;
  absl::Status status_;
  uint64_t size_ = 0;
};

class HeldLock final : public winnow::FileLock {
 public:
  HeldLock(Env* env, leveldb::FileLock* lock) : env_(env), lock_(lock) {}
  // Frees the lock too: what LockFile has made UnlockFile deletes.
  ~HeldLock() override { env_->UnlockFile(lock_); }

 private:
  Env* const env_;
  leveldb::FileLock* const lock_;
};

class EnvFileSystem final : public winnow::FileSystem {
 public:
  // What Winnow's interface has beyond LevelDB's is left to the defaults: no links (checkpoints and
  // backups copy), no advice to the kernel.
  explicit EnvFileSystem(Env* env) : env_(env) {}

  absl::StatusOr<std::unique_ptr<winnow::RandomAccessFile>> OpenRandomAccess(
      const std::string& path) override {
    uint64_t size = 0;
    leveldb::RandomAccessFile* opened = nullptr;
    Status status = env_->GetFileSize(path, &size);
    // Some Envs report a missing file as IOError. Recovery must tell the two apart: what is missing
    // may be right, what cannot be read never is.
    if (!status.ok() && !env_->FileExists(path)) return absl::NotFoundError(status.ToString());
    if (status.ok()) status = env_->NewRandomAccessFile(path, &opened);
    if (!status.ok()) return FromStatus(status);
    return std::make_unique<ReadableFile>(std::unique_ptr<leveldb::RandomAccessFile>(opened), size);
  }
  absl::StatusOr<std::unique_ptr<winnow::WritableFile>> Create(
      const std::string& path, const winnow::WritableFileOptions& options) override {
    leveldb::WritableFile* created = nullptr;
    const Status status = env_->NewWritableFile(path, &created);
    if (!status.ok()) return FromStatus(status);
    return std::make_unique<AppendedFile>(std::unique_ptr<leveldb::WritableFile>(created), options);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return FromStatus(env_->RenameFile(from, to));
  }
  absl::Status Remove(const std::string& path) override {
    const Status status = env_->RemoveFile(path);
    if (!status.ok() && !env_->FileExists(path)) return absl::NotFoundError(status.ToString());
    return FromStatus(status);
  }
  // An Env makes one directory, not its parents: as in LevelDB that is all a database needs. One
  // that exists is an error for some.
  absl::Status CreateDirectories(const std::string& path) override {
    const Status status = env_->CreateDir(path);
    if (status.ok() || IsDirectory(path).value_or(false)) return absl::OkStatus();
    // A parent that is missing is no database that is.
    return status.IsNotFound() ? absl::UnavailableError(TextBehindKind(status))
                               : FromStatus(status);
  }
  absl::Status RemoveDirectory(const std::string& path) override {
    return FromStatus(env_->RemoveDir(path));
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    std::vector<std::string> names;
    const Status status = env_->GetChildren(directory, &names);
    if (!status.ok()) return FromStatus(status);
    // Some Envs list what readdir gives them.
    std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
    return names;
  }
  // An Env in memory may know files but no directories, and list whatever it is asked for. An error
  // that passes, such as a want of descriptors, is no answer: what is there would be taken for
  // gone.
  absl::StatusOr<bool> Exists(const std::string& path) override {
    if (env_->FileExists(path)) return true;
    std::vector<std::string> names;
    const Status listed = env_->GetChildren(path, &names);
    if (!listed.ok() && !listed.IsNotFound()) return FromStatus(listed);
    return listed.ok() && !names.empty();
  }
  absl::StatusOr<bool> IsDirectory(const std::string& path) override {
    std::vector<std::string> names;
    const Status listed = env_->GetChildren(path, &names);
    if (listed.ok()) return !names.empty() || env_->FileExists(path);
    if (listed.IsNotFound() || !env_->FileExists(path) || IsReadable(path)) return false;
    return FromStatus(listed);
  }
  absl::StatusOr<uint64_t> FileSize(const std::string& path) override {
    uint64_t size = 0;
    const Status status = env_->GetFileSize(path, &size);
    if (!status.ok()) return FromStatus(status);
    return size;
  }
  // LevelDB's interface has no such call: an Env that needs it does it by itself.
  absl::Status SyncDirectory(const std::string& directory) override { return absl::OkStatus(); }

  absl::StatusOr<std::unique_ptr<winnow::FileLock>> Lock(const std::string& path) override {
    leveldb::FileLock* lock = nullptr;
    const Status status = env_->LockFile(path, &lock);
    // LevelDB has one status for a lock that is held and for one that cannot be taken. Held is the
    // likely reason, and the text has the other. Programs look how it begins.
    if (status.IsIOError()) return absl::FailedPreconditionError(TextBehindKind(status));
    if (!status.ok()) return FromStatus(status);
    return std::make_unique<HeldLock>(env_, lock);
  }

 private:
  // As files are, and directories are not: the errors of an Env do not tell them apart.
  bool IsReadable(const std::string& path) {
    SequentialFile* file = nullptr;
    if (!env_->NewSequentialFile(path, &file).ok()) return false;
    const std::unique_ptr<SequentialFile> opened(file);
    char scratch;
    Slice byte;
    return opened->Read(1, &byte, &scratch).ok();
  }

  Env* const env_;
};

}  // namespace

std::unique_ptr<winnow::FileSystem> WrapEnv(Env* env) {
  return std::make_unique<EnvFileSystem>(env);
}

}  // namespace leveldb
