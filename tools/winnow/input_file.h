// Files, or standard input, that a command reads.
#ifndef WINNOW_TOOLS_WINNOW_INPUT_FILE_H_
#define WINNOW_TOOLS_WINNOW_INPUT_FILE_H_

#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow::cli {

// An input file, closed at the end; standard input stays open.
class InputFile {
 public:
  // NotFound, with the reason, if it cannot be opened.
  static absl::StatusOr<InputFile> Open(const std::string& path);
  static InputFile StandardInput() { return InputFile(STDIN_FILENO, "standard input"); }

  InputFile(InputFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), name_(std::move(other.name_)) {}
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile() {
    if (descriptor_ > STDIN_FILENO) close(descriptor_);
  }

  int descriptor() const { return descriptor_; }
  const std::string& name() const { return name_; }
  // 0 for what is no regular file.
  uint64_t size_bytes() const;
  // Appends what is left of it, until `*bytes` has `most`. Unavailable if reading fails.
  absl::Status Append(uint64_t most, std::string* bytes) const;

 private:
  InputFile(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

  int descriptor_;
  std::string name_;
};

// Opens each path; "-", or no path at all, is standard input.
absl::StatusOr<std::vector<InputFile>> OpenInputs(const std::vector<std::string>& paths);

// The sizes of all that are regular files.
uint64_t TotalBytes(const std::vector<InputFile>& files);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_INPUT_FILE_H_
