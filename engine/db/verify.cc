// DB::Verify: what a reader could find wrong, found at once.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/recovery/set_aside.h"
#include "engine/sstable/filter_file.h"
#include "engine/version/file_names.h"
#include "engine/version/version_order.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

// Problems are its result and not its error: it goes on to the end.
absl::StatusOr<std::vector<VerifyProblem>> DBImpl::Verify() {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<VerifyProblem>> {
    WINNOW_RETURN_IF_ERROR(CheckRead(default_family_, ""));
    std::vector<VerifyProblem> problems;
    VerifyTables(&problems);
    // An opening for writing has set the logs aside that it could not replay whole; one for reading
    // leaves them as they are.
    if (options_.read_only) {
      for (const std::string& loss : recovery_losses_) {
        problems.push_back({path_, std::nullopt, absl::DataLossError(loss)});
      }
    }
    WINNOW_ASSIGN_OR_RETURN(const std::vector<VerifyProblem> set_aside,
                            FindFilesSetAside(*file_system_, path_));
    problems.insert(problems.end(), set_aside.begin(), set_aside.end());
    return problems;
  });
}

namespace {

// A table can be whole in itself and yet not the one that the manifest means.
std::string DifferenceFromManifest(const SstableFile& file) {
  const FileMetadata& metadata = file.metadata();
  const uint64_t num_entries = file.reader()->figures().num_entries;
  if (num_entries != metadata.num_entries) {
    return absl::StrCat("holds ", num_entries, " entries, the manifest says ",
                        metadata.num_entries);
  }
  if (const std::optional<KeyTimes>& times = metadata.key_times; times.has_value()) {
    const auto properties = file.reader()->ReadProperties();
    if (properties.ok() && properties->key_times != times) {
      return absl::StrCat(
          "has the times of keys '",
          properties->key_times.has_value() ? properties->key_times->DebugString() : "",
          "', the manifest says '", times->DebugString(), "'");
    }
  }
  // They are no entries, and counted apart.
  std::vector<RangeTombstone> tombstones;
  file.reader()->AppendRangeTombstones(&tombstones);
  if (tombstones.size() != metadata.num_range_deletions) {
    return absl::StrCat("holds ", tombstones.size(), " range deletions, the manifest says ",
                        metadata.num_range_deletions);
  }
  return "";
}

absl::StatusOr<std::vector<SstableProblem>> ReadFilterFile(FileSystem& file_system,
                                                           const std::string& path,
                                                           uint64_t file_id, uint64_t table_id) {
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file,
                          file_system.OpenRandomAccess(path));
  WINNOW_ASSIGN_OR_RETURN(const auto filter_file,
                          FilterFile::Open(std::move(file), path, file_id, table_id));
  return filter_file->Verify();
}

// Opened anew: every byte of it is read, by units. What it says of the keys is checked with the
// table, which it is asked for. NotFound: it was there when the table was opened, and is not now.
absl::StatusOr<std::vector<SstableProblem>> CheckFilterFile(FileSystem& file_system,
                                                            const std::string& path,
                                                            const SstableFile& table) {
  const absl::Status refused = MissingIsDamage(table.filter_file_status());
  auto problems = ReadFilterFile(file_system, path, table.named_filter_file().file_id,
                                 table.metadata().file_id);
  // What was wrong when it was opened says more than that it is gone or right by now.
  if (!refused.ok() && (!problems.ok() || problems->empty())) return refused;
  return problems;
}

}  // namespace

// Reads every block of every table in use, with the views held, so that no compaction can remove a
// file in the middle.
void DBImpl::VerifyTables(std::vector<VerifyProblem>* problems) {
  const auto add = [&](VerifyProblem problem) {
    events_.AddIfCorruption(problem.status);
    problems->push_back(std::move(problem));
  };
  struct FamilyView {
    std::shared_ptr<const ReadView> view;
    KeyTimeParser key_time_parser;
    SignedEntryParser signed_entry_parser;
  };
  std::vector<FamilyView> views;
  {
    DatabaseLock lock(&mutex_);
    for (const auto& [id, family] : families_.all()) {
      if (family->is_dropped()) continue;
      views.push_back(
          {family->views.Shared(), family->key_time_parser(), family->signed_entry_parser()});
    }
  }
  SstableReadOptions read_once;
  read_once.fill_cache = false;
  read_once.readahead_bytes = live_options_.compaction_readahead_bytes();
  for (const auto& [view, key_time_parser, signed_entry_parser] : views) {
    // Each table may be what it was when it was written, and yet lie where it hides newer entries.
    CheckVersionOrder(*view->version, read_once,
                      [&](const SstableFile& file, const std::string& problem) {
                        const std::string path = SstableFileName(path_, file.number());
                        add({path, std::nullopt, CorruptionError(path, problem)});
                      });
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : view->version->files(level)) {
        const std::string path = SstableFileName(path_, file->number());
        if (file->reader() == nullptr) {
          // Listeners hear of it as damage whatever the reason: what it holds cannot be read.
          events_.AddIfCorruption(absl::DataLossError(file->open_status().message()));
          problems->push_back({path, std::nullopt, MissingIsDamage(file->open_status())});
          continue;
        }
        // The one that the manifest names, whether or not it could be used: where it could not, the
        // table's own filter is asked, and the reader verifies that.
        const uint64_t filter_number = file->named_filter_file().number;
        const std::string filter_path = FilterFileName(path_, filter_number);
        const auto filter_problems = filter_number == 0
                                         ? std::vector<SstableProblem>()
                                         : CheckFilterFile(*file_system_, filter_path, *file);
        // Another process that writes removes it with its table, or once that has another filter.
        const bool may_be_gone = options_.read_only && absl::IsNotFound(filter_problems.status());
        if (!filter_problems.ok() && !may_be_gone) {
          add({filter_path, std::nullopt, MissingIsDamage(filter_problems.status())});
        }
        for (const SstableProblem& problem :
             filter_problems.value_or(std::vector<SstableProblem>())) {
          add({filter_path, problem.offset, problem.ToStatus(filter_path)});
        }
        // Past the caches, from the file: what is in memory may be right where the disk is not.
        for (const SstableProblem& problem :
             file->reader()->Verify(key_time_parser, signed_entry_parser)) {
          add({path, problem.offset, problem.ToStatus(path)});
        }
        if (const std::string difference = DifferenceFromManifest(*file); !difference.empty()) {
          add({path, std::nullopt, CorruptionError(path, difference)});
        }
      }
    }
  }
}

}  // namespace winnow
