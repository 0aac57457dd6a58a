#include "engine/version/file_names.h"

#include <charconv>

#include "engine/base/number_text.h"
#include "engine/base/status.h"

namespace winnow {

namespace {

constexpr std::string_view kManifestPrefix = "MANIFEST-";
constexpr std::string_view kOldInfoLog = "LOG.old";
constexpr std::string_view kStatistics = "STATISTICS";
constexpr std::string_view kOldStatistics = "STATISTICS.old";

std::string Join(std::string_view directory, const std::string& name) {
  return absl::StrCat(ToAbsl(directory), "/", name);
}

// Names are written with so many, and more only where the number needs them.
constexpr size_t kFewestDigits = 6;

// Digits only, the whole text: signs and spaces are foreign files, which are left alone.
bool ParseDigits(std::string_view text, uint64_t* number) {
  // Numbers of more than 64 bits are an error here, those over the limit refused below.
  uint64_t parsed;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  if (parsed >= kFileNumberLimit) return false;
  *number = parsed;
  return true;
}

// With fewer digits it is a user's file: 2024.log, say.
bool ParseNumber(std::string_view text, uint64_t* number) {
  return text.size() >= kFewestDigits && ParseDigits(text, number);
}

bool ParseNumbered(std::string_view name, std::string_view suffix, uint64_t* number) {
  return name.ends_with(suffix) && ParseNumber(name.substr(0, name.size() - suffix.size()), number);
}

// LOG.old.2 and so on; the number is an age, not one of the database's numbers.
bool IsOlderInfoLog(std::string_view name) {
  uint64_t age;
  return name.starts_with(kOldInfoLog) && name.substr(kOldInfoLog.size()).starts_with('.') &&
         ParseDigits(name.substr(kOldInfoLog.size() + 1), &age) && age >= 2;
}

}  // namespace

std::string LockFileName(std::string_view directory) { return Join(directory, "LOCK"); }
std::string CurrentFileName(std::string_view directory) { return Join(directory, "CURRENT"); }
std::string ManifestFileName(std::string_view directory, uint64_t number) {
  return Join(directory, absl::StrCat("MANIFEST-", SixDigits(number)));
}
std::string LogFileName(std::string_view directory, uint64_t number) {
  return Join(directory, absl::StrCat(SixDigits(number), ".log"));
}
std::string SstableFileName(std::string_view directory, uint64_t number) {
  return Join(directory, SstableName(number));
}
std::string SstableName(uint64_t number) { return absl::StrCat(SixDigits(number), ".sst"); }

std::string FilterFileName(std::string_view directory, uint64_t number) {
  return Join(directory, FilterName(number));
}
std::string FilterName(uint64_t number) { return absl::StrCat(SixDigits(number), ".flt"); }

std::string InfoLogFileName(std::string_view directory, uint64_t age) {
  if (age < 2) return Join(directory, age == 0 ? "LOG" : std::string(kOldInfoLog));
  return Join(directory, absl::StrCat(ToAbsl(kOldInfoLog), ".", age));
}

std::string StatisticsFileName(std::string_view directory) {
  return Join(directory, std::string(kStatistics));
}
std::string OldStatisticsFileName(std::string_view directory) {
  return Join(directory, std::string(kOldStatistics));
}

// Exact: what is none of the store's names is left alone by opening, checkpoints and DB::Destroy.
bool ParseFileName(std::string_view name, FileType* type, uint64_t* number) {
  // Names without a number have 0, which no numbered file has: the counter begins at 1.
  *number = 0;
  if (name == "LOCK") {
    *type = FileType::kLock;
  } else if (name == "CURRENT") {
    *type = FileType::kCurrent;
  } else if (name == "LOG" || name == kOldInfoLog || IsOlderInfoLog(name)) {
    *type = FileType::kInfoLog;
  } else if (name == kStatistics || name == kOldStatistics) {
    *type = FileType::kStatistics;
  } else if (name.ends_with(".tmp") &&
             // Only those temporary names that the store writes: opening removes temporary files,
             // and the user's own notes.tmp must not be among them.
             (name == "CURRENT.tmp" || name == "STATISTICS.tmp" ||
              ParseNumbered(name, ".sst.tmp", number))) {
    *type = FileType::kTemporary;
  } else if (name.starts_with(kManifestPrefix) &&
             ParseNumber(name.substr(kManifestPrefix.size()), number)) {
    *type = FileType::kManifest;
  } else if (ParseNumbered(name, ".log", number)) {
    *type = FileType::kLog;
  } else if (ParseNumbered(name, ".sst", number)) {
    *type = FileType::kSstable;
  } else if (ParseNumbered(name, ".flt", number)) {
    *type = FileType::kFilterFile;
  } else {
    return false;
  }
  return true;
}

}  // namespace winnow
