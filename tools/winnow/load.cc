// winnow load: many keys and values from text.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "filter/base/out_of_memory.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/input_file.h"
#include "tools/winnow/progress.h"
#include "tools/winnow/record_reader.h"
#include "tools/winnow/sorted_tables.h"

namespace winnow::cli {
namespace {

// A batch is written once it holds this much.
constexpr uint32_t kBatchEntries = 1000;
constexpr size_t kLoadBatchBytes = size_t{1} << 20;

struct LoadSettings {
  RecordFormat format = RecordFormat::kTabSeparated;
  TextForm form = TextForm::kEscaped;
  bool skip_bad = false;
  bool sorted = false;
};

absl::StatusOr<LoadSettings> ReadSettings(const Arguments& arguments) {
  LoadSettings settings;
  WINNOW_ASSIGN_OR_RETURN(settings.format, RecordFormatOf(arguments));
  WINNOW_ASSIGN_OR_RETURN(settings.form, FormOfFlags(arguments));
  settings.sorted = arguments.Has("sorted");
  settings.skip_bad = arguments.Has("skip-bad");
  return settings;
}

// Takes lines, writes batches, counts.
class Loader {
 public:
  // `tables`, which may be null, takes the entries in the place of batches.
  Loader(const OpenedDatabase& opened, SortedTables* tables, const LoadSettings& settings,
         uint64_t total_bytes)
      : db_(*opened.db),
        family_(opened.family),
        tables_(tables),
        settings_(settings),
        parser_(settings.format, settings.form),
        progress_(total_bytes) {}

  absl::Status LoadFile(const InputFile& file) {
    LineReader lines(file.descriptor(), file.name());
    const auto load = [&](std::string_view line) -> absl::Status {
      WINNOW_RETURN_IF_ERROR(LoadLine(line, lines));
      progress_.Update(entries_, finished_input_bytes_ + lines.bytes_read());
      return absl::OkStatus();
    };
    WINNOW_RETURN_IF_ERROR(lines.ForEach(load));
    finished_input_bytes_ += lines.bytes_read();
    return absl::OkStatus();
  }

  // Writes what is left.
  absl::Status Finish() {
    if (tables_ == nullptr) {
      WINNOW_RETURN_IF_ERROR(WriteBatchOut());
      // A bulk load ends in SSTables with their filters, not in a log that every later command
      // replays.
      return db_.Flush(family_);
    }
    const absl::Status finished = tables_->Finish();
    TakeCountsOfTables();
    return finished;
  }

  absl::Status WriteBatchOut() {
    if (batch_.num_updates() == 0) return absl::OkStatus();
    WINNOW_RETURN_IF_ERROR(db_.Write(WriteOptions(), batch_));
    entries_ += batch_.num_updates();
    bytes_ += batch_entry_bytes_;
    batch_.Clear();
    batch_entry_bytes_ = 0;
    return absl::OkStatus();
  }

  // Clears the progress line and says what was loaded.
  void Report(bool json, Output& output) {
    progress_.Clear();
    const double seconds = progress_.seconds();
    if (json) {
      output.Write(ToLine(Json{{"entries", entries_},
                               {"bytes", bytes_},
                               {"skipped_lines", skipped_},
                               {"seconds", seconds},
                               {"entries_per_second", static_cast<double>(entries_) / seconds},
                               {"ingested_tables", tables_ == nullptr ? 0 : tables_->tables()}}));
      return;
    }
    std::string line = absl::StrFormat(
        "%s, %s in %s: %s entries/s, %s/s", report::HumanCount(entries_, "entry", "entries"),
        report::HumanBytes(static_cast<double>(bytes_)), report::HumanSeconds(seconds),
        report::HumanCount(PerSecond(entries_, seconds)),
        report::HumanBytes(static_cast<double>(bytes_) / seconds));
    if (tables_ != nullptr) {
      absl::StrAppend(&line, "; ingested as ",
                      report::HumanCount(tables_->tables(), "table", "tables"));
    } else if (settings_.sorted) {
      absl::StrAppend(&line, "; written as without --sorted, since there were entries already");
    }
    if (skipped_ > 0)
      absl::StrAppend(&line, "; ", report::HumanCount(skipped_, "bad line", "bad lines"),
                      " skipped");
    Complain("load", line);
  }

 private:
  absl::Status LoadLine(std::string_view line, const LineReader& lines) {
    if (line.empty()) return absl::OkStatus();
    const absl::StatusOr<Record> record = CatchOutOfMemory([&] { return parser_.Parse(line); });
    if (absl::IsResourceExhausted(record.status())) return lines.InContext(record.status());
    if (!record.ok()) return BadLine(lines, record.status());
    if (tables_ != nullptr) return AddToTables(*record, lines);
    WINNOW_RETURN_IF_ERROR(lines.InContext(CatchOutOfMemory([&] {
      batch_.Put(family_, record->key, record->value);
      return absl::OkStatus();
    })));
    batch_entry_bytes_ += record->key.size() + record->value.size();
    if (batch_.num_updates() < kBatchEntries && batch_.size_bytes() < kLoadBatchBytes) {
      return absl::OkStatus();
    }
    return WriteBatchOut();
  }

  absl::Status AddToTables(const Record& record, const LineReader& lines) {
    const absl::Status put = tables_->Put(record.key, record.value);
    if (absl::IsInvalidArgument(put)) {
      return BadLine(lines, absl::DataLossError("with --sorted, keys must ascend, each once"));
    }
    TakeCountsOfTables();
    // Not of this line: the table is of earlier ones.
    return put;
  }

  void TakeCountsOfTables() {
    entries_ = tables_->entries();
    bytes_ = tables_->bytes();
  }

  absl::Status BadLine(const LineReader& lines, const absl::Status& reason) {
    const std::string message =
        absl::StrCat(lines.name(), ":", lines.line_number(), ": ", reason.message());
    if (!settings_.skip_bad) {
      return absl::DataLossError(absl::StrCat(message, "; --skip-bad skips such lines"));
    }
    progress_.Clear();
    Complain("load", absl::StrCat(message, " (skipped)"));
    skipped_++;
    return absl::OkStatus();
  }

  DB& db_;
  ColumnFamily* const family_;
  SortedTables* const tables_;
  const LoadSettings settings_;
  RecordParser parser_;
  Progress progress_;
  WriteBatch batch_;
  uint64_t batch_entry_bytes_ = 0;
  // What the database has acknowledged: whoever resumes after an error goes on from here.
  uint64_t entries_ = 0;
  uint64_t bytes_ = 0;
  uint64_t skipped_ = 0;
  uint64_t finished_input_bytes_ = 0;
};

absl::StatusOr<ExitCode> RunLoad(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const LoadSettings settings, ReadSettings(arguments));
  WINNOW_ASSIGN_OR_RETURN(const std::vector<InputFile> files, OpenInputs(arguments.positionals()));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kWriteOrCreate));

  std::optional<SortedTables> tables;
  if (settings.sorted) {
    // Where there are entries, those of the input may lie among them, and go to level 0.
    WINNOW_ASSIGN_OR_RETURN(const bool is_empty, IsEmpty(*opened.db, opened.family));
    WINNOW_ASSIGN_OR_RETURN(const std::string path, DatabasePath(arguments));
    WINNOW_ASSIGN_OR_RETURN(const std::string file_bytes,
                            opened.db->GetOption(opened.family, "target_file_bytes"));
    Options options;
    WINNOW_RETURN_IF_ERROR(SetOption(&options, "target_file_bytes", file_bytes));
    if (is_empty) tables.emplace(*opened.db, opened.family, path, options.target_file_bytes);
  }
  Loader loader(opened, tables.has_value() ? &*tables : nullptr, settings, TotalBytes(files));
  absl::Status loaded;
  for (const InputFile& file : files) {
    loaded = loader.LoadFile(file);
    if (!loaded.ok()) break;
  }
  // What stands before a bad line is kept.
  loaded.Update(loader.Finish());
  loaded.Update(opened.db->Close());
  loader.Report(arguments.Has("json"), output);
  if (!loaded.ok()) return loaded;
  return ExitCode::kOk;
}

}  // namespace

Command LoadCommand() {
  return {
      .name = "load",
      .positionals = {"[FILE...]", 0, kAnyNumber},
      .database = DatabaseUse::kWrite,
      .summary = "write the entries of text files, or of standard input",
      .details = R"(
Lines are KEY<TAB>VALUE with the escapes that `winnow scan` prints (\t \n \\ \xNN), or
with --format=jsonl objects with members key or key_hex and value or value_hex. Empty lines
are skipped; of equal keys the last one wins. The database is created if it is missing.
At a bad line loading stops with FILE:LINE and the reason; the lines before it are in the
database. Keys hold up to 1 MiB, values up to 1 GiB. The total is reported on standard error.
With --sorted, lines that come in the order of their keys' bytes, each key once, become tables
that are ingested, without log and memtables, if the column family is empty. They are written on
as many threads as the machine has, 8 at most, out of up to 512 MiB of entries in memory.)",
      .json = R"(
{"entries":N,"bytes":N,"skipped_lines":N,"seconds":S,"entries_per_second":R,
    "ingested_tables":N})",
      .examples = R"(
  printf 'apple\tred\nplum\tblue\n' | winnow load --db=/tmp/fruit
  winnow load --db=/tmp/fruit --filter=cuckoo:0.1% more.tsv
  LC_ALL=C sort -u fruit.tsv | winnow load --db=/tmp/fruit --sorted
  zcat dump.jsonl.gz | winnow load --db=/tmp/fruit --format=jsonl --skip-bad)",
      .flags = {{"format", "FORMAT", "tsv (default) or jsonl"},
                {"raw", "", "tsv without escapes: a backslash is a backslash"},
                {"sorted", "", "the lines are in order: write tables and ingest them"},
                {"skip-bad", "", "report bad lines, count them and go on"}},
      .run = RunLoad,
  };
}

}  // namespace winnow::cli
