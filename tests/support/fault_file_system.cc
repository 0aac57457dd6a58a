#include "tests/support/fault_file_system.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow {

using Kind = FileOperation::Kind;
using Effect = FaultRule::Effect;

FaultRule FaultRule::On(std::set<Kind> which, std::string pattern) const {
  FaultRule rule = *this;
  rule.kinds = std::move(which);
  rule.path_pattern = std::move(pattern);
  return rule;
}

FaultRule FaultRule::From(uint64_t first_one, uint64_t number) const {
  FaultRule rule = *this;
  rule.first = first_one;
  rule.count = number;
  return rule;
}

FaultRule FaultRule::Sometimes(double how_often) const {
  FaultRule rule = *this;
  rule.probability = how_often;
  return rule;
}

absl::Status InjectedIoError() { return absl::UnavailableError("injected: Input/output error"); }
absl::Status InjectedFullDisk() {
  return absl::ResourceExhaustedError("injected: No space left on device");
}
absl::Status InjectedDescriptorLimit() {
  return absl::ResourceExhaustedError("injected: Too many open files");
}

// A file that is read, perhaps wrongly.
class FaultFileSystem::ReadFile final : public RandomAccessFile {
 public:
  ReadFile(FaultFileSystem* faults, std::string path,
           std::shared_ptr<const RandomAccessFile> target,
           std::shared_ptr<const RandomAccessFile> opened_before)
      : faults_(*faults),
        path_(std::move(path)),
        target_(std::move(target)),
        opened_before_(std::move(opened_before)) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    const Fault fault = faults_.Meet({Kind::kRead, path_, {}, {}, offset, length});
    WINNOW_RETURN_IF_ERROR(fault.error);
    WINNOW_ASSIGN_OR_RETURN(const size_t got, target_->Read(offset, length, buffer));
    if (got > 0) WINNOW_RETURN_IF_ERROR(Damage(fault, offset, got, buffer));
    return got;
  }
  uint64_t size() const override { return target_->size(); }
  void Hint(AccessPattern pattern) override {}

 private:
  absl::Status Damage(const Fault& fault, uint64_t offset, size_t length, char* buffer) const {
    switch (fault.effect) {
      case Effect::kBitFlip: {
        char& byte = buffer[fault.random % length];
        byte = static_cast<char>(byte ^ (1 << (fault.random >> 32) % 8));
        break;
      }
      case Effect::kZeroedPage: {
        const size_t begin = fault.random % length / 512 * 512;
        std::memset(buffer + begin, 0, std::min<size_t>(512, length - begin));
        break;
      }
      case Effect::kMisdirectedBlock: {
        // As many bytes from as near a place as the file has, so that their length is right.
        const uint64_t elsewhere = offset >= length ? offset - length : offset + length;
        return target_->Read(elsewhere, length, buffer).status();
      }
      case Effect::kStaleBlock:
        if (opened_before_ != nullptr) {
          return opened_before_->Read(offset, length, buffer).status();
        }
        std::memset(buffer, 0, length);
        break;
      case Effect::kError:
      case Effect::kTornAppend:
      case Effect::kDroppedPages:
      case Effect::kSlow:
        break;
    }
    return absl::OkStatus();
  }

  FaultFileSystem& faults_;
  const std::string path_;
  const std::shared_ptr<const RandomAccessFile> target_;
  const std::shared_ptr<const RandomAccessFile> opened_before_;
};

// A file that is written. As every WritableFile it is given up after an error, but for a log, whose
// earlier bytes may still be synced after an append failed.
class FaultFileSystem::WriteFile final : public WritableFile {
 public:
  WriteFile(FaultFileSystem* faults, std::string path, WritableFileOptions::Mode mode,
            std::unique_ptr<WritableFile> target)
      : faults_(*faults), path_(std::move(path)), mode_(mode), target_(std::move(target)) {}

  absl::Status Append(std::string_view data) override {
    WINNOW_RETURN_IF_ERROR(first_error_);
    WINNOW_RETURN_IF_ERROR(append_error_);
    const uint64_t offset = target_->size();
    const Fault fault = faults_.Meet({Kind::kAppend, path_, {}, {}, offset, data.size()});
    if (fault.effect == Effect::kTornAppend && data.size() > 1) {
      // What arrived is part of the file, although the call failed.
      target_->Append(data.substr(0, 1 + fault.random % (data.size() - 1))).IgnoreError();
    }
    absl::Status status = fault.error;
    if (status.ok()) status = target_->Append(data);
    if (!status.ok()) {
      (mode_ == WritableFileOptions::Mode::kLog ? append_error_ : first_error_) = status;
    }
    return status;
  }
  absl::Status Flush() override {
    return Step(Kind::kFlush, [&] { return target_->Flush(); });
  }
  absl::Status Sync() override {
    WINNOW_RETURN_IF_ERROR(first_error_);
    const Fault fault = faults_.Meet({Kind::kSync, path_, {}, {}, 0, 0});
    if (fault.effect == Effect::kDroppedPages) {
      pages_were_dropped_ = true;
      return fault.error;  // the next call succeeds
    }
    if (!fault.error.ok()) return first_error_ = fault.error;
    return pages_were_dropped_ ? target_->Flush() : target_->Sync();
  }
  absl::Status Close() override {
    if (closed_) return absl::OkStatus();
    absl::Status status = Step(Kind::kClose, [&] { return target_->Close(); });
    status.Update(append_error_);
    closed_ = true;
    return status;
  }
  uint64_t size() const override { return target_->size(); }

 private:
  template <typename Call>
  absl::Status Step(Kind kind, const Call& call) {
    WINNOW_RETURN_IF_ERROR(first_error_);
    first_error_ = faults_.Meet({kind, path_, {}, {}, 0, 0}).error;
    if (first_error_.ok()) first_error_ = call();
    return first_error_;
  }

  FaultFileSystem& faults_;
  const std::string path_;
  const WritableFileOptions::Mode mode_;
  const std::unique_ptr<WritableFile> target_;
  absl::Status first_error_;
  absl::Status append_error_;
  bool pages_were_dropped_ = false;
  bool closed_ = false;
};

FaultFileSystem::FaultFileSystem(FileSystem* target, uint64_t seed)
    : target_(*target), random_(seed) {}

size_t FaultFileSystem::Add(FaultRule rule) {
  const std::lock_guard lock(mutex_);
  rules_.push_back({std::move(rule), 0, 0, "", false});
  return rules_.size() - 1;
}

void FaultFileSystem::Clear() {
  const std::lock_guard lock(mutex_);
  for (State& state : rules_) state.cleared = true;
}

uint64_t FaultFileSystem::fired(size_t rule) const {
  const std::lock_guard lock(mutex_);
  return rules_.at(rule).fired;
}

uint64_t FaultFileSystem::matched(size_t rule) const {
  const std::lock_guard lock(mutex_);
  return rules_.at(rule).matched;
}

std::string FaultFileSystem::first_fired(size_t rule) const {
  const std::lock_guard lock(mutex_);
  return rules_.at(rule).first_fired;
}

void FaultFileSystem::set_has_links(bool has_links) {
  const std::lock_guard lock(mutex_);
  has_links_ = has_links;
}

FaultFileSystem::Fault FaultFileSystem::Meet(const FileOperation& operation) {
  Fault fault;
  std::chrono::microseconds delay = {};
  {
    const std::lock_guard lock(mutex_);
    for (State& state : rules_) {
      const FaultRule& rule = state.rule;
      if (state.cleared) continue;
      if (!rule.kinds.empty() && !rule.kinds.contains(operation.kind)) continue;
      if (::fnmatch(rule.path_pattern.c_str(), operation.path.c_str(), 0) != 0) continue;
      const uint64_t number = state.matched++;
      if (number < rule.first || number - rule.first >= rule.count) continue;
      const uint64_t random = random_();
      if (static_cast<double>(random_() >> 11) * 0x1p-53 >= rule.probability) continue;
      if (state.fired++ == 0) state.first_fired = operation.ToString();
      delay = rule.delay;
      fault = {rule.effect, rule.error, random};
      break;
    }
  }
  if (delay.count() > 0) std::this_thread::sleep_for(delay);
  if (!fault.error.ok()) {
    fault.error =
        absl::Status(fault.error.code(), absl::StrCat(operation.path, ": ", fault.error.message()));
  }
  return fault;
}

absl::Status FaultFileSystem::Allow(Kind kind, const std::string& path, const std::string& target) {
  return Meet({kind, path, target, {}, 0, 0}).error;
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> FaultFileSystem::OpenRandomAccess(
    const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow(Kind::kOpenForReading, path));
  WINNOW_ASSIGN_OR_RETURN(std::shared_ptr<const RandomAccessFile> file,
                          target_.OpenRandomAccess(path));
  const std::lock_guard lock(mutex_);
  std::swap(file, opened_last_);
  return std::unique_ptr<RandomAccessFile>(
      std::make_unique<ReadFile>(this, path, opened_last_, std::move(file)));
}

absl::StatusOr<std::unique_ptr<WritableFile>> FaultFileSystem::Create(
    const std::string& path, const WritableFileOptions& options) {
  WINNOW_RETURN_IF_ERROR(Allow(Kind::kCreate, path));
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, target_.Create(path, options));
  return std::unique_ptr<WritableFile>(
      std::make_unique<WriteFile>(this, path, options.mode, std::move(file)));
}

absl::Status FaultFileSystem::Link(const std::string& from, const std::string& to) {
  {
    const std::lock_guard lock(mutex_);
    if (!has_links_) return FileSystem::Link(from, to);
  }
  WINNOW_RETURN_IF_ERROR(Allow(Kind::kLink, from, to));
  return target_.Link(from, to);
}

absl::Status FaultFileSystem::Rename(const std::string& from, const std::string& to) {
  WINNOW_RETURN_IF_ERROR(Allow(Kind::kRename, from, to));
  return target_.Rename(from, to);
}

absl::Status FaultFileSystem::Remove(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow(Kind::kRemove, path));
  return target_.Remove(path);
}

absl::Status FaultFileSystem::CreateDirectories(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow(Kind::kCreateDirectory, path));
  return target_.CreateDirectories(path);
}

absl::Status FaultFileSystem::RemoveDirectory(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow(Kind::kRemoveDirectory, path));
  return target_.RemoveDirectory(path);
}

absl::StatusOr<std::vector<std::string>> FaultFileSystem::List(const std::string& directory) {
  WINNOW_RETURN_IF_ERROR(Allow(Kind::kList, directory));
  return target_.List(directory);
}

absl::StatusOr<bool> FaultFileSystem::Exists(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow(Kind::kInspect, path));
  return target_.Exists(path);
}

absl::StatusOr<bool> FaultFileSystem::IsDirectory(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow(Kind::kInspect, path));
  return target_.IsDirectory(path);
}

absl::StatusOr<uint64_t> FaultFileSystem::FileSize(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow(Kind::kInspect, path));
  return target_.FileSize(path);
}

absl::StatusOr<FileIdentity> FaultFileSystem::Identify(const std::string& path) {
  return target_.Identify(path);
}

absl::Status FaultFileSystem::SyncFile(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow(Kind::kSync, path));
  return target_.SyncFile(path);
}

absl::Status FaultFileSystem::SyncDirectory(const std::string& directory) {
  WINNOW_RETURN_IF_ERROR(Allow(Kind::kSyncDirectory, directory));
  return target_.SyncDirectory(directory);
}

absl::StatusOr<std::unique_ptr<FileLock>> FaultFileSystem::Lock(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow(Kind::kLock, path));
  return target_.Lock(path);
}

}  // namespace winnow
