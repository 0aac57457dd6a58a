#include "engine/version/file_names.h"

#include <charconv>

#include "absl/strings/str_format.h"
#include "engine/base/status.h"

namespace winnow {

namespace {

constexpr std::string_view kManifestPrefix = "MANIFEST-";

std::string Join(std::string_view directory, const std::string& name) {
  return absl::StrCat(ToAbsl(directory), "/", name);
}

bool ParseNumber(std::string_view text, uint64_t* number) {
  if (text.empty()) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseNumbered(std::string_view name, std::string_view suffix, uint64_t* number) {
  return name.ends_with(suffix) && ParseNumber(name.substr(0, name.size() - suffix.size()), number);
}

}  // namespace

std::string LockFileName(std::string_view directory) { return Join(directory, "LOCK"); }
std::string CurrentFileName(std::string_view directory) { return Join(directory, "CURRENT"); }
std::string ManifestFileName(std::string_view directory, uint64_t number) {
  return Join(directory, absl::StrFormat("MANIFEST-%06d", number));
}
std::string LogFileName(std::string_view directory, uint64_t number) {
  return Join(directory, absl::StrFormat("%06d.log", number));
}
std::string TableFileName(std::string_view directory, uint64_t number) {
  return Join(directory, absl::StrFormat("%06d.sst", number));
}

bool ParseFileName(std::string_view name, FileType* type, uint64_t* number) {
  *number = 0;
  if (name == "LOCK") {
    *type = FileType::kLock;
  } else if (name == "CURRENT") {
    *type = FileType::kCurrent;
  } else if (name.ends_with(".tmp") &&
             (name == "CURRENT.tmp" || ParseNumbered(name, ".sst.tmp", number))) {
    *type = FileType::kTemporary;
  } else if (name.starts_with(kManifestPrefix) &&
             ParseNumber(name.substr(kManifestPrefix.size()), number)) {
    *type = FileType::kManifest;
  } else if (ParseNumbered(name, ".log", number)) {
    *type = FileType::kLog;
  } else if (ParseNumbered(name, ".sst", number)) {
    *type = FileType::kTable;
  } else {
    return false;
  }
  return true;
}

}  // namespace winnow
