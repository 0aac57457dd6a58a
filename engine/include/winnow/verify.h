// What DB::Verify (winnow/db.h) and VerifyBackup (winnow/backup.h) report.
#ifndef WINNOW_VERIFY_H_
#define WINNOW_VERIFY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace winnow {

// One problem with one file.
struct VerifyProblem {
  std::string path;
  // Where in the file, in bytes from its start. Unset: not known, or the file as a whole.
  std::optional<uint64_t> offset;
  // DataLoss: the file is damaged or missing, or an opening has set it aside, with writes that the
  // database lacks; the message then names the command that brings them back. Any other error: it,
  // or this part of it, could not be checked (ResourceExhausted: no memory, no descriptors;
  // Unavailable: the file system failed). The message says everything by itself: "PATH: at offset
  // N: REASON".
  absl::Status status;
};

}  // namespace winnow

#endif  // WINNOW_VERIFY_H_
