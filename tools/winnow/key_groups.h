// The keys that a command is to look up: words of the command line, or lines of a file.
#ifndef WINNOW_TOOLS_WINNOW_KEY_GROUPS_H_
#define WINNOW_TOOLS_WINNOW_KEY_GROUPS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/flags/arguments.h"
#include "tools/winnow/input_file.h"
#include "tools/winnow/record_reader.h"
#include "tools/winnow/text_encoding.h"

namespace winnow::cli {

// Gives them in groups, so that only the keys and values of one are held at a time. Used by one
// thread.
class KeyGroups {
 public:
  static constexpr size_t kKeysPerGroup = 256;
  static const FlagSpec kFileFlag;

  // InvalidArgument: neither words nor a file, both, or a word that is no text of bytes. NotFound:
  // no such file.
  static absl::StatusOr<KeyGroups> Open(const Arguments& arguments);

  // The next keys; none at the end. DataLoss names a line that is no text of bytes.
  absl::StatusOr<std::vector<std::string>> Next();

 private:
  KeyGroups() = default;

  std::vector<std::string> words_;  // decoded
  size_t num_given_ = 0;            // of words_
  std::vector<InputFile> files_;    // one at most
  std::optional<LineReader> lines_;
  TextForm form_ = TextForm::kEscaped;  // of lines
};

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_KEY_GROUPS_H_
