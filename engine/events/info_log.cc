#include "engine/events/info_log.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "engine/base/status.h"
#include "engine/version/file_names.h"

namespace winnow {

InfoLog::InfoLog(InfoLogPlace place, const InfoLogLimits& limits)
    : place_(std::move(place)), limits_(limits) {
  RemoveTooOld();
  Rotate();
}

InfoLog::~InfoLog() {
  if (file_ != nullptr) file_->Close().IgnoreError();
}

std::string InfoLog::FileName(int age) const {
  return InfoLogFileName(place_.directory, static_cast<uint64_t>(age));
}

void InfoLog::SetLimits(const InfoLogLimits& limits) {
  limits_ = limits;
  RemoveTooOld();  // no rotation would come to those beyond the new number any more
}

// By what is there: nobody knows how many were kept before.
void InfoLog::RemoveTooOld() {
  std::set<std::string> kept;
  for (int age = 0; age < limits_.num_files; age++) kept.insert(FileName(age));
  const auto names = place_.file_system->List(place_.directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    FileType type;
    uint64_t number;
    if (!ParseFileName(name, &type, &number) || type != FileType::kInfoLog) continue;
    const std::string path = absl::StrCat(place_.directory, "/", name);
    if (!kept.contains(path)) place_.file_system->Remove(path).IgnoreError();
  }
}

// No failure is reported: a database must not stop because its log cannot be written. Where the new
// file cannot be created `file_` stays null, and lines are dropped until the next attempt.
void InfoLog::Rotate() {
  if (file_ != nullptr) file_->Close().IgnoreError();
  file_.reset();
  bytes_until_retry_ = limits_.file_bytes;
  FileSystem& file_system = *place_.file_system;
  // An older name that is not there is no error; anything else shows when LOG is created.
  if (limits_.num_files == 1) file_system.Remove(FileName(0)).IgnoreError();
  // From the oldest on, so that each rename has made room for the next. The first replaces the one
  // that has become too old.
  for (int age = limits_.num_files - 1; age > 0; age--) {
    if (!file_system.Exists(FileName(age - 1)).value_or(false)) continue;
    file_system.Rename(FileName(age - 1), FileName(age)).IgnoreError();
  }
  auto created = file_system.Create(FileName(0), WritableFileOptions());
  if (created.ok()) file_ = *std::move(created);
}

void InfoLog::Write(std::chrono::system_clock::time_point time, std::string_view text) {
  // A line that starts with a time starts a message: whatever is in a text, it cannot look like
  // one.
  const std::string line = absl::StrCat(
      absl::FormatTime("%Y-%m-%d %H:%M:%E6S", absl::FromChrono(time), absl::UTCTimeZone()), " ",
      absl::StrReplaceAll(ToAbsl(text), {{"\n", "\n  "}}), "\n");
  if (file_ == nullptr) {
    // A disk that was full may have room again; not asked with each line.
    bytes_until_retry_ -= std::min(bytes_until_retry_, line.size());
    if (bytes_until_retry_ > 0) return;
    Rotate();
  } else if (file_->size() > 0 && file_->size() + line.size() > limits_.file_bytes) {
    // A line longer than a whole file gets one to itself.
    Rotate();
  }
  // After a failed append the file's end is unknown, and further lines would go behind half of one.
  if (file_ != nullptr && !file_->Append(line).ok()) file_.reset();
}

void InfoLog::Flush() {
  if (file_ != nullptr && !file_->Flush().ok()) file_.reset();
}

}  // namespace winnow
