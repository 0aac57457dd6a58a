// Results written to a file.
#ifndef WINNOW_TOOLS_REPORT_REPORT_FILE_H_
#define WINNOW_TOOLS_REPORT_REPORT_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace winnow::report {

// Replaces the file `path` as a whole: an older one stays until `contents` is written. Does nothing
// if `path` is empty, which is a flag that was not given. Unavailable, with the path and the
// system's reason.
absl::Status WriteReportFile(const std::string& path, std::string_view contents);

}  // namespace winnow::report

#endif  // WINNOW_TOOLS_REPORT_REPORT_FILE_H_
