// What every Env shares: defaults, whole files, messages, the wrapper.
#include "leveldb/env.h"

#include <memory>

namespace leveldb {

Env::Env() = default;
Env::~Env() = default;
SequentialFile::~SequentialFile() = default;
RandomAccessFile::~RandomAccessFile() = default;
WritableFile::~WritableFile() = default;
Logger::~Logger() = default;
FileLock::~FileLock() = default;

// Envs from before LevelDB had this call lack it; a database here never needs it.
Status Env::NewAppendableFile(const std::string& name, WritableFile** result) {
  *result = nullptr;
  return Status::NotSupported("NewAppendableFile", name);
}
// LevelDB renamed these four. An Env of either age overrides one of each pair, and both names work;
// one that overrides neither would call itself for ever, as it would with LevelDB.
Status Env::RemoveFile(const std::string& name) { return DeleteFile(name); }
Status Env::DeleteFile(const std::string& name) { return RemoveFile(name); }
Status Env::RemoveDir(const std::string& name) { return DeleteDir(name); }
Status Env::DeleteDir(const std::string& name) { return RemoveDir(name); }

void Log(Logger* logger, const char* format, ...) {
  // As LevelDB's: callers need not ask whether there is a logger.
  if (logger == nullptr) return;
  std::va_list arguments;
  va_start(arguments, format);
  logger->Logv(format, arguments);
  va_end(arguments);
}

// Without a sync: the file survives the process, not a power failure. Half a file is removed.
Status WriteStringToFile(Env* env, const Slice& data, const std::string& name) {
  WritableFile* created = nullptr;
  // Replaces a file that exists.
  Status status = env->NewWritableFile(name, &created);
  if (!status.ok()) return status;
  const std::unique_ptr<WritableFile> file(created);
  status = file->Append(data);
  if (status.ok()) status = file->Close();
  if (!status.ok()) env->RemoveFile(name);
  return status;
}

Status ReadFileToString(Env* env, const std::string& name, std::string* data) {
  // In pieces, and without asking for the size: files of /proc say that they have none.
  constexpr size_t kPieceBytes = 64 * 1024;
  data->clear();
  SequentialFile* opened = nullptr;
  Status status = env->NewSequentialFile(name, &opened);
  if (!status.ok()) return status;
  const std::unique_ptr<SequentialFile> file(opened);
  std::string scratch(kPieceBytes, '\0');
  for (;;) {
    Slice piece;
    status = file->Read(scratch.size(), &piece, scratch.data());
    // The end is an empty piece; a short one may be followed by more. It need not lie in `scratch`.
    if (!status.ok() || piece.empty()) return status;
    data->append(piece.data(), piece.size());
  }
}

// DeleteFile and DeleteDir are not handed on: their defaults call the new names, which are. A
// wrapper that changes one of a pair thereby changes both.
EnvWrapper::~EnvWrapper() = default;

Status EnvWrapper::NewSequentialFile(const std::string& name, SequentialFile** result) {
  return target_->NewSequentialFile(name, result);
}
Status EnvWrapper::NewRandomAccessFile(const std::string& name, RandomAccessFile** result) {
  return target_->NewRandomAccessFile(name, result);
}
Status EnvWrapper::NewWritableFile(const std::string& name, WritableFile** result) {
  return target_->NewWritableFile(name, result);
}
Status EnvWrapper::NewAppendableFile(const std::string& name, WritableFile** result) {
  return target_->NewAppendableFile(name, result);
}
bool EnvWrapper::FileExists(const std::string& name) { return target_->FileExists(name); }
Status EnvWrapper::GetChildren(const std::string& directory, std::vector<std::string>* result) {
  return target_->GetChildren(directory, result);
}
Status EnvWrapper::RemoveFile(const std::string& name) { return target_->RemoveFile(name); }
Status EnvWrapper::CreateDir(const std::string& name) { return target_->CreateDir(name); }
Status EnvWrapper::RemoveDir(const std::string& name) { return target_->RemoveDir(name); }
Status EnvWrapper::GetFileSize(const std::string& name, uint64_t* bytes) {
  return target_->GetFileSize(name, bytes);
}
Status EnvWrapper::RenameFile(const std::string& from, const std::string& to) {
  return target_->RenameFile(from, to);
}
Status EnvWrapper::LockFile(const std::string& name, FileLock** lock) {
  return target_->LockFile(name, lock);
}
Status EnvWrapper::UnlockFile(FileLock* lock) { return target_->UnlockFile(lock); }
// For programs: databases run their own threads and look at their own clock, and so ask an Env for
// files and locks only.
void EnvWrapper::Schedule(void (*function)(void* arg), void* arg) {
  target_->Schedule(function, arg);
}
void EnvWrapper::StartThread(void (*function)(void* arg), void* arg) {
  target_->StartThread(function, arg);
}
Status EnvWrapper::GetTestDirectory(std::string* path) { return target_->GetTestDirectory(path); }
Status EnvWrapper::NewLogger(const std::string& name, Logger** result) {
  return target_->NewLogger(name, result);
}
uint64_t EnvWrapper::NowMicros() { return target_->NowMicros(); }
void EnvWrapper::SleepForMicroseconds(int micros) { target_->SleepForMicroseconds(micros); }

}  // namespace leveldb
