// A file that says of a directory that what is being copied into it is not whole yet.
#ifndef WINNOW_TOOLS_WINNOW_UNFINISHED_MARKER_H_
#define WINNOW_TOOLS_WINNOW_UNFINISHED_MARKER_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow::cli {

// `path` as an absolute one without links, so that the same directory has the same text.
std::string CanonicalPath(const std::string& path);

// Survives the process that wrote it, so that the same command can go on or begin anew.
class UnfinishedMarker {
 public:
  // The file `name` in `directory`; `source` says what is copied, `work` what a person calls it.
  UnfinishedMarker(const std::string& directory, const std::string& name, std::string work,
                   std::string source);

  // True if an earlier copy from this source was interrupted. FailedPrecondition: from another.
  absl::StatusOr<bool> Exists() const;
  absl::Status Write() const;
  absl::Status Remove() const;

 private:
  const std::string directory_;
  const std::string path_;
  const std::string work_;
  const std::string source_;
};

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_UNFINISHED_MARKER_H_
