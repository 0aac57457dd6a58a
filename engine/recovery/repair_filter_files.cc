#include "engine/recovery/repair_filter_files.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/recovery/found_files.h"
#include "engine/sstable/filter_file.h"
#include "engine/version/file_names.h"
#include "engine/version/sstable_file.h"

namespace winnow {

namespace {

// Header and every byte behind it. The first problem decides: all of the file goes with it.
absl::Status CheckOnce(FileSystem& file_system, const std::string& path,
                       const FileMetadata& table) {
  WINNOW_ASSIGN_OR_RETURN(auto opened, file_system.OpenRandomAccess(path));
  const FilterFileMetadata& named = table.filter_file;
  WINNOW_RETURN_IF_ERROR(CheckFileSize(*opened, path, named.file_bytes));
  WINNOW_ASSIGN_OR_RETURN(const auto file,
                          FilterFile::Open(std::move(opened), path, named.file_id, table.file_id));
  const std::vector<SstableProblem> problems = file->Verify();
  return problems.empty() ? absl::OkStatus() : problems.front().ToStatus(path);
}

// Once more if something is wrong: an error that passes is no damage.
absl::Status Check(FileSystem& file_system, const std::string& path, const FileMetadata& table) {
  const absl::Status status = CheckOnce(file_system, path, table);
  return status.ok() ? status : CheckOnce(file_system, path, table);
}

}  // namespace

absl::StatusOr<bool> GiveUpDamagedFilterFiles(FileSystem& file_system, const std::string& directory,
                                              VersionEdit* state, RepairReport* report) {
  bool gave_up = false;
  for (FamilyEdit& family : state->families) {
    for (FamilyEdit::AddedFile& added : family.added) {
      FileMetadata& table = added.file;
      if (table.filter_file.number == 0) continue;
      const std::string path = FilterFileName(directory, table.filter_file.number);
      const absl::Status status = Check(file_system, path, table);
      if (status.ok() || absl::IsFailedPrecondition(status)) continue;
      if (!absl::IsDataLoss(status) && !absl::IsNotFound(status)) return status;
      report->notes.push_back(absl::StrCat(status.message(), "; ",
                                           SstableFileName(directory, table.number),
                                           " answers with its own filter"));
      table.filter_file = FilterFileMetadata();
      gave_up = true;
    }
  }
  return gave_up;
}

std::vector<std::string> UnusedFilterFiles(std::span<const std::string> found,
                                           const VersionEdit& state) {
  std::set<std::string> used;
  for (const FamilyEdit& family : state.families) {
    for (const FamilyEdit::AddedFile& added : family.added) {
      const uint64_t number = added.file.filter_file.number;
      if (number != 0) used.insert(FilterName(number));
    }
  }
  std::vector<std::string> unused;
  for (const std::string& name : found) {
    if (!used.contains(name)) unused.push_back(name);
  }
  return unused;
}

}  // namespace winnow
