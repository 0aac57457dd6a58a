#include "engine/version/current_file.h"

#include "engine/base/checksum.h"
#include "engine/base/number_text.h"
#include "engine/base/status.h"
#include "engine/version/file_names.h"

namespace winnow {

namespace {

// Far more than the text ever has: a file of another size is damage, and is not read into memory.
constexpr uint64_t kLargestCurrentFile = 256;

//   MANIFEST-000005 0123456789abcdef\n
//   name            checksum of the name
//
// The checksum is there because a torn or zeroed CURRENT may still look like a name
// ("MANIFEST-00000"), and following it would open the wrong state or none.
std::string CurrentText(uint64_t manifest_number) {
  const std::string name = absl::StrCat("MANIFEST-", SixDigits(manifest_number));
  return absl::StrCat(name, " ", AllHexDigits(Checksum(name, 0)), "\n");
}

}  // namespace

absl::Status WriteCurrentFile(FileSystem& file_system, const std::string& directory,
                              uint64_t manifest_number) {
  // The commit point of a new manifest: before the rename is durable the old manifest is in force,
  // after it the new one. The caller has synced the manifest before.
  return WriteFileAtomically(file_system, CurrentFileName(directory), CurrentText(manifest_number));
}

absl::StatusOr<uint64_t> ReadCurrentFile(FileSystem& file_system, const std::string& directory) {
  const std::string path = CurrentFileName(directory);
  const auto text = ReadFile(file_system, path, kLargestCurrentFile);
  // The code stands for descriptors and memory that ran out, too: those are no damage.
  if (absl::IsResourceExhausted(text.status())) {
    const auto bytes = file_system.FileSize(path);
    if (bytes.ok() && *bytes > kLargestCurrentFile) {
      return CorruptionError(path, "file is too large");
    }
  }
  if (!text.ok()) return text.status();
  FileType type;
  uint64_t number;
  const std::string_view name = std::string_view(*text).substr(0, text->find(' '));
  if (!ParseFileName(name, &type, &number) || type != FileType::kManifest ||
      // Comparing with the text that would be written refuses every other spelling (leading zeros,
      // a missing newline) along with wrong checksums.
      *text != CurrentText(number)) {
    return CorruptionError(path, 0, "text is not 'MANIFEST-<number> <checksum>'");
  }
  return number;
}

}  // namespace winnow
