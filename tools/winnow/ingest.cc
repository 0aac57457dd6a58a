// winnow sst-build, winnow ingest: SSTables that are written outside of a database and brought in.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/status.h"
#include "engine/db/database_directory.h"
#include "engine/file_system/durable_files.h"
#include "engine/file_system/file_system_of.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/input_file.h"
#include "tools/winnow/progress.h"
#include "tools/winnow/record_reader.h"

namespace winnow::cli {
namespace {

absl::Status BuildFrom(const InputFile& file, RecordFormat format, TextForm form,
                       SstWriter* writer) {
  LineReader lines(file.descriptor(), file.name());
  RecordParser parser(format, form);
  return lines.ForEach([&](std::string_view line) -> absl::Status {
    if (line.empty()) return absl::OkStatus();
    const absl::StatusOr<Record> record = parser.Parse(line);
    if (!record.ok()) {
      return lines.InContext(absl::IsInvalidArgument(record.status())
                                 ? absl::DataLossError(record.status().message())
                                 : record.status());
    }
    const absl::Status put = writer->Put(record->key, record->value);
    // Of the input, and not of the command line.
    return lines.InContext(
        absl::IsInvalidArgument(put)
            ? absl::DataLossError(
                  "keys must ascend, each once: sort the lines by their keys' bytes")
            : put);
  });
}

// That of this command alone for as long as it lives: of two with one --out each would else write
// into the file of the other, or remove it.
class OutputLock {
 public:
  static absl::StatusOr<OutputLock> Take(FileSystem& file_system, const std::string& path) {
    OutputLock lock(file_system, path + ".lock");
    absl::StatusOr<std::unique_ptr<FileLock>> taken = file_system.Lock(lock.path_);
    if (absl::IsFailedPrecondition(taken.status())) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": another command is writing it (", lock.path_, ")"));
    }
    if (!taken.ok()) return taken.status();
    lock.lock_ = *std::move(taken);
    return lock;
  }
  OutputLock(OutputLock&&) = default;
  ~OutputLock() {
    if (lock_ != nullptr) file_system_->Remove(path_).IgnoreError();
  }

 private:
  OutputLock(FileSystem& file_system, std::string path)
      : file_system_(&file_system), path_(std::move(path)) {}

  FileSystem* file_system_;
  std::string path_;
  std::unique_ptr<FileLock> lock_;
};

absl::Status CheckOutput(const Arguments& arguments, FileSystem& file_system,
                         const std::string& path) {
  if (arguments.Has("force")) return CheckIsNoFileOfDatabase(file_system, path);
  const absl::Status is_new = CheckNewFile(file_system, path);
  if (!absl::IsAlreadyExists(is_new)) return is_new;
  return absl::AlreadyExistsError(absl::StrCat(is_new.message(), "; --force replaces it"));
}

absl::StatusOr<ExitCode> RunSstBuild(const Arguments& arguments, Output& output) {
  const std::optional<std::string> path = arguments.Text("out");
  if (!path.has_value() || path->empty()) {
    return absl::InvalidArgumentError("name the table to write: --out=FILE");
  }
  WINNOW_ASSIGN_OR_RETURN(const RecordFormat format, RecordFormatOf(arguments));
  WINNOW_ASSIGN_OR_RETURN(const TextForm form, FormOfFlags(arguments));
  WINNOW_ASSIGN_OR_RETURN(const Options options,
                          DatabaseOptions(arguments, Access::kWriteOrCreate));
  WINNOW_ASSIGN_OR_RETURN(const std::vector<InputFile> files, OpenInputs(arguments.positionals()));
  const Progress clock(0);
  FileSystem& file_system = *FileSystemOf(options);
  WINNOW_RETURN_IF_ERROR(CheckOutput(arguments, file_system, *path));
  WINNOW_ASSIGN_OR_RETURN(const OutputLock lock, OutputLock::Take(file_system, *path));
  // The one that held it may have made the table by now.
  WINNOW_RETURN_IF_ERROR(CheckOutput(arguments, file_system, *path));
  // A table under its name is whole; what a command that was killed has left is not.
  const std::string temporary_path = *path + ".unfinished";
  file_system.Remove(temporary_path).IgnoreError();
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<SstWriter> writer,
                          SstWriter::Create(options, temporary_path, &file_system));
  for (const InputFile& file : files) {
    WINNOW_RETURN_IF_ERROR(BuildFrom(file, format, form, writer.get()));
  }
  if (writer->num_entries() == 0) {
    return absl::DataLossError("the input has no entries: no table was written");
  }
  WINNOW_ASSIGN_OR_RETURN(const SstFileInfo table, writer->Finish());
  WINNOW_RETURN_IF_ERROR(file_system.Rename(temporary_path, *path));
  WINNOW_RETURN_IF_ERROR(file_system.SyncDirectory(ParentDirectory(*path)));
  return PrintAnswer(
      arguments,
      Json{{"path", *path},
           {"entries", table.num_entries},
           {"bytes", table.file_bytes},
           {"filter_kind", table.filter_kind}},
      absl::StrCat(*path, ": ", report::HumanCount(table.num_entries, "entry", "entries"), ", ",
                   report::HumanBytes(static_cast<double>(table.file_bytes)), ", filter ",
                   table.filter_kind, "; ", report::HumanSeconds(clock.seconds())),
      output);
}

// "FILE", which is of the family that the flags name, or "FAMILY=FILE". A file whose name has an
// equals sign is taken for what it is where no family is called as its name begins.
absl::StatusOr<IngestFile> FileOfWord(const std::string& word, const OpenedDatabase& opened,
                                      const std::string& database_path) {
  const size_t equals = word.find('=');
  const bool is_path = word.starts_with("./") || word.starts_with("/");
  if (equals == std::string::npos || is_path) return IngestFile{word, opened.family};
  absl::StatusOr<ColumnFamily*> family =
      FindFamily(*opened.db, database_path, word.substr(0, equals));
  if (family.ok()) return IngestFile{word.substr(equals + 1), *family};
  if (FileSystemAsTyped()->Exists(word).value_or(false)) return IngestFile{word, opened.family};
  return family.status();
}

// A moved file is the database's, whatever names it has besides; who can still open it by one could
// change it.
void WarnOfNamesLeft(const std::vector<IngestFile>& files) {
  for (const IngestFile& file : files) {
    if (!FileSystemAsTyped()->Exists(file.path).value_or(false)) continue;
    std::fprintf(stderr, "winnow: warning: %s is ingested, and could not be removed\n",
                 Printable(file.path).c_str());
  }
}

absl::StatusOr<ExitCode> RunIngest(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kWriteOrCreate));
  std::vector<IngestFile> files;
  WINNOW_ASSIGN_OR_RETURN(const std::string database_path, DatabasePath(arguments));
  for (const std::string& word : arguments.positionals()) {
    WINNOW_ASSIGN_OR_RETURN(files.emplace_back(), FileOfWord(word, opened, database_path));
  }
  IngestOptions options;
  options.move = arguments.Has("move");
  options.behind = arguments.Has("behind");
  options.verify = !arguments.Has("no-verify");
  WINNOW_ASSIGN_OR_RETURN(const IngestInfo info, opened.db->Ingest(files, options));
  WINNOW_RETURN_IF_ERROR(opened.db->Close());
  if (options.move) WarnOfNamesLeft(files);
  return PrintAnswer(arguments,
                     Json{{"files", files.size()},
                          {"entries", info.num_entries},
                          {"bytes", info.bytes},
                          {"sequence", info.sequence},
                          {"levels", info.levels}},
                     absl::StrCat(options.move ? "moved in: " : "copied in: ",
                                  report::HumanCount(files.size(), "file", "files"), ", ",
                                  report::HumanCount(info.num_entries, "entry", "entries"), ", ",
                                  report::HumanBytes(static_cast<double>(info.bytes)),
                                  ", to level ", absl::StrJoin(info.levels, ", ")),
                     output);
}

}  // namespace

Command SstBuildCommand() {
  return {
      .name = "sst-build",
      .positionals = {"[FILE...]", 0, kAnyNumber},
      .database = DatabaseUse::kNone,
      .summary = "make a table for `winnow ingest` out of sorted text",
      .details = R"(
Reads what `winnow load` reads, KEY<TAB>VALUE lines or with --format=jsonl objects, sorted by
the bytes of their keys, each key once, and writes one SSTable with its filter. No database is
needed. At a bad line, or one that is out of order, nothing is written.
For a family with a time to live --set=ttl_seconds=N notes when each value was written: now.
Without it, they never expire.)",
      .json = R"({"path":TEXT,"entries":N,"bytes":N,"filter_kind":TEXT})",
      .examples = R"(
  LC_ALL=C sort fruit.tsv | winnow sst-build --out=fruit.sst
  winnow sst-build --out=fruit.sst --filter=cuckoo:0.1% --set=compression=zstd sorted.tsv)",
      .flags = {{"out", "FILE", "the table to write; it must not exist, unless with --force"},
                {"force", "", "replace FILE if there is one, once the new table is whole"},
                {"format", "FORMAT", "tsv (default) or jsonl"},
                {"raw", "", "tsv without escapes: a backslash is a backslash"},
                {"hex", "", "keys and values as hexadecimal digits"},
                {"filter", "SPEC", "the table's filter (default: blocked_bloom:10)"},
                {"filter-key", "PART",
                 "part of the key that the filter knows, as prefix:8 or whole+prefix:8\n"
                 "(default: whole)"},
                {"set", "NAME=VALUE", "an option of the store; repeatable", /*repeatable=*/true}},
      .run = RunSstBuild,
  };
}

Command IngestCommand() {
  return {
      .name = "ingest",
      .positionals = {"[FAMILY=]FILE...", 1, kAnyNumber},
      .database = DatabaseUse::kWrite,
      .summary = "bring in tables that `winnow sst-build` made",
      .details = R"(
All of the files or none, without passing through the log. Their entries are newer than all
that is in the database, with --behind older. FAMILY=FILE brings a file into that column
family, which must be there, any other into the one of --family; readers see the files of all
families at one moment. (A file whose name begins so is ./FAMILY=...) Files of one family whose
key ranges overlap are refused: ingest them one after the other, the newest last. The database
is created if it is missing.
--behind needs --set=allow_ingest_behind=true here and wherever the database is opened, and
files over whose ranges nothing has been ingested so before: they go to the last level.)",
      .json = R"({"files":N,"entries":N,"bytes":N,"sequence":N,"levels":[N,...]})",
      .examples = R"(
  winnow ingest --db=/tmp/fruit fruit.sst
  winnow ingest --db=/tmp/fruit --move part-*.sst
  winnow ingest --db=/tmp/shop users=users.sst orders=orders.sst)",
      .flags = {{"move", "", "the files become the database's and lose their names"},
                {"behind", "", "older than everything in the database, instead of newer"},
                {"no-verify", "", "do not read the files whole before"}},
      .run = RunIngest,
  };
}

}  // namespace winnow::cli
