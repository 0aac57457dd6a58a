// Results written to a file.
#ifndef WINNOW_TOOLS_REPORT_REPORT_FILE_H_
#define WINNOW_TOOLS_REPORT_REPORT_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace winnow::report {

// Replaces the file `path` as a whole: an older one stays until `bytes` are written and synced, and
// passes its permissions on.
// What is no regular file (a device, a pipe) is written into as it is, and so is a descriptor of
// this process (/dev/stdout, /dev/fd/N), whatever is behind it. Unavailable, with the path and the
// system's reason.
absl::Status WriteWholeFile(const std::string& path, std::string_view bytes);

// The same; does nothing if `path` is empty, which is a flag that was not given.
absl::Status WriteReportFile(const std::string& path, std::string_view contents);

}  // namespace winnow::report

#endif  // WINNOW_TOOLS_REPORT_REPORT_FILE_H_
