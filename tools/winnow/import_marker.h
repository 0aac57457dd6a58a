// The file in a database's directory that says that `winnow import` has not come to its end.
#ifndef WINNOW_TOOLS_WINNOW_IMPORT_MARKER_H_
#define WINNOW_TOOLS_WINNOW_IMPORT_MARKER_H_

namespace winnow::cli {

inline constexpr char kImportMarkerName[] = "IMPORT";

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_IMPORT_MARKER_H_
