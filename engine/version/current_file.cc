#include "engine/version/current_file.h"

#include "absl/strings/str_format.h"
#include "engine/base/checksum.h"
#include "engine/base/status.h"
#include "engine/version/file_names.h"

namespace winnow {

namespace {

constexpr uint64_t kLargestCurrentFile = 256;

std::string CurrentText(uint64_t manifest_number) {
  const std::string name = absl::StrFormat("MANIFEST-%06d", manifest_number);
  return absl::StrFormat("%s %016x\n", name, Checksum(name, 0));
}

}  // namespace

absl::Status WriteCurrentFile(FileSystem& file_system, const std::string& directory,
                              uint64_t manifest_number) {
  return WriteFileAtomically(file_system, CurrentFileName(directory), CurrentText(manifest_number));
}

absl::StatusOr<uint64_t> ReadCurrentFile(FileSystem& file_system, const std::string& directory) {
  const std::string path = CurrentFileName(directory);
  auto text = ReadFile(file_system, path, kLargestCurrentFile);
  if (absl::IsResourceExhausted(text.status())) return CorruptionError(path, "file is too large");
  if (!text.ok()) return text.status();
  FileType type;
  uint64_t number;
  const std::string_view name = std::string_view(*text).substr(0, text->find(' '));
  if (!ParseFileName(name, &type, &number) || type != FileType::kManifest ||
      *text != CurrentText(number)) {
    return CorruptionError(path, 0, "text is not 'MANIFEST-<number> <checksum>'");
  }
  return number;
}

}  // namespace winnow
