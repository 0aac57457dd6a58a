// The files of a database, looked at one by one: for commands that need no open database.
#ifndef WINNOW_TOOLS_WINNOW_STORE_FILES_H_
#define WINNOW_TOOLS_WINNOW_STORE_FILES_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/internal_key.h"
#include "engine/log/log_reader.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/version/file_names.h"
#include "tools/flags/arguments.h"
#include "tools/winnow/output.h"

namespace winnow::cli {

// Paths of the files of one type in a database directory, by ascending number. A process that has
// the database open may remove them at any time.
absl::StatusOr<std::vector<std::string>> ListFiles(const std::string& directory, FileType type);

// The files that a command line names, or else all of that type in --db. NotFound if --db has none.
absl::StatusOr<std::vector<std::string>> FilesToShow(const Arguments& arguments, FileType type);

// With the filter in `filter_file`, a path, in place of its own; empty: with its own. With a
// `ledger`, which outlives the reader, as units that can leave (SstableReader::filter_units).
absl::StatusOr<std::unique_ptr<SstableReader>> OpenSstable(const std::string& path,
                                                           const std::string& filter_file = "",
                                                           FilterLedger* ledger = nullptr);
// False if the manifest in force can be read and does not name this SSTable of its directory.
bool IsNamedByManifest(const std::string& directory, const std::string& path);

// Opens a write-ahead log or a manifest, whose number is taken from its header, or from its name
// where the header is damaged or not written yet. Ends before damage.
absl::StatusOr<std::unique_ptr<LogReader>> OpenLog(const std::string& path);
// The number that the header states, or else the name; the header's error if neither does.
absl::StatusOr<uint64_t> LogNumber(const std::string& path);
// The number in the name of a log, a manifest, or of one of them that was set aside.
std::optional<uint64_t> NumberInName(const std::string& path);

// Calls `visit` with each record and its offset until it gives false. The first error gets
// "PATH: at offset N" before it.
absl::Status ForEachRecord(
    LogReader& log, const std::string& path,
    const std::function<absl::StatusOr<bool>(std::string_view payload, uint64_t offset)>& visit);

// Opens each of the logs that the command line names (FilesToShow) and prints it: its path and
// size, each record with `print`, and how it ends.
absl::Status PrintLogs(
    const Arguments& arguments, FileType type, Output& output,
    const std::function<absl::Status(std::string_view payload, uint64_t offset)>& print);

// One sentence: "closed cleanly", "torn last record at offset 123: REASON".
std::string DescribeLogEnd(const LogEnd& end);

// "put", "delete"; "unknown" for what this version does not write.
std::string_view EntryTypeName(EntryType type);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_STORE_FILES_H_
