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

Status Env::NewAppendableFile(const std::string& name, WritableFile** result) {
  *result = nullptr;
  return Status::NotSupported("NewAppendableFile", name);
}
Status Env::RemoveFile(const std::string& name) { return DeleteFile(name); }
Status Env::DeleteFile(const std::string& name) { return RemoveFile(name); }
Status Env::RemoveDir(const std::string& name) { return DeleteDir(name); }
Status Env::DeleteDir(const std::string& name) { return RemoveDir(name); }

void Log(Logger* logger, const char* format, ...) {
  if (logger == nullptr) return;
  std::va_list arguments;
  va_start(arguments, format);
  logger->Logv(format, arguments);
  va_end(arguments);
}

Status WriteStringToFile(Env* env, const Slice& data, const std::string& name) {
  WritableFile* created = nullptr;
  Status status = env->NewWritableFile(name, &created);
  if (!status.ok()) return status;
  const std::unique_ptr<WritableFile> file(created);
  status = file->Append(data);
  if (status.ok()) status = file->Close();
  if (!status.ok()) env->RemoveFile(name);
  return status;
}

Status ReadFileToString(Env* env, const std::string& name, std::string* data) {
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
    if (!status.ok() || piece.empty()) return status;
    data->append(piece.data(), piece.size());
  }
}

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
