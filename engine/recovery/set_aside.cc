#include "engine/recovery/set_aside.h"

#include <algorithm>

#include "engine/base/status.h"
#include "engine/file_system/durable_files.h"
#include "engine/version/file_names.h"

namespace winnow {
namespace {

// True, and the type of what was renamed, if `name` is one of the store's names with this suffix.
bool ParseWithSuffix(std::string_view name, std::string_view suffix, FileType* type) {
  uint64_t number;
  return name.ends_with(suffix) &&
         ParseFileName(name.substr(0, name.size() - suffix.size()), type, &number);
}

// Empty for files that were not set aside.
std::string WhatItIs(const std::string& directory, const std::string& name) {
  const std::string path = absl::StrCat(directory, "/", name);
  const std::string replay =
      absl::StrCat("`winnow replay ", path, " --db=", directory, "` writes them again");
  FileType type;
  if (IsLogSetAside(name, kDamagedLogSuffix)) {
    return absl::StrCat("an opening replayed this log only as far as it is sound; if records are ",
                        "intact behind the damage, ", replay);
  }
  if (IsLogSetAside(name, kUnreadLogSuffix)) {
    return absl::StrCat(
        "an opening did not replay the records of this log, since some before it are missing; ",
        replay);
  }
  if (!ParseWithSuffix(name, kOrphanSuffix, &type)) return "";
  return absl::StrCat(
      "kept by an opening in mode salvage, which had no use for it; `winnow ",
      type == FileType::kSstable ? absl::StrCat("sst --keys ", path)
                                 : absl::StrCat("manifest ", path),
      "` shows what it holds, `winnow repair --db=", directory,
      "` takes it in where something is missing; move it away once it is not needed");
}

}  // namespace

bool IsLogSetAside(std::string_view name, std::string_view suffix) {
  FileType type;
  return ParseWithSuffix(name, suffix, &type) && type == FileType::kLog;
}

absl::StatusOr<std::vector<VerifyProblem>> FindFilesSetAside(FileSystem& file_system,
                                                             const std::string& directory) {
  WINNOW_ASSIGN_OR_RETURN(std::vector<std::string> names, file_system.List(directory));
  // A listing has no order; what is reported to people and scripts has one.
  std::sort(names.begin(), names.end());
  std::vector<VerifyProblem> problems;
  for (const std::string& name : names) {
    const std::string what = WhatItIs(directory, name);
    if (what.empty()) continue;
    const std::string path = absl::StrCat(directory, "/", name);
    // DataLoss, since the database may lack what such a file holds until somebody has decided about
    // it.
    problems.push_back({path, std::nullopt, CorruptionError(path, what)});
  }
  return problems;
}

// Nothing in lost/ is ever replaced: what has the same name there may be the better file.
absl::StatusOr<std::string> FreePathInLost(FileSystem& file_system, const std::string& directory,
                                           const std::string& name) {
  const std::string lost = absl::StrCat(directory, "/", ToAbsl(kLostDirectory));
  WINNOW_RETURN_IF_ERROR(CreateDirectoryDurably(file_system, lost));
  std::string path = absl::StrCat(lost, "/", name);
  // Nobody takes the name between this look and its use: callers hold the lock of the database.
  for (int i = 2;; i++) {
    WINNOW_ASSIGN_OR_RETURN(const bool taken, file_system.Exists(path));
    if (!taken) return path;
    path = absl::StrCat(lost, "/", name, ".", i);
  }
}

// Not durable before lost/ is synced, which the caller does once for many names.
absl::StatusOr<std::string> LinkIntoLost(FileSystem& file_system, const std::string& directory,
                                         const std::string& name) {
  WINNOW_ASSIGN_OR_RETURN(std::string target, FreePathInLost(file_system, directory, name));
  WINNOW_RETURN_IF_ERROR(LinkOrCopy(file_system, absl::StrCat(directory, "/", name), target));
  return target;
}

}  // namespace winnow
