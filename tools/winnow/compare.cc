// winnow compare: what other filters would cost and save in a database, before anything is changed.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "engine/base/status.h"
#include "engine/trace/trace_file.h"
#include "engine/version/file_names.h"
#include "nlohmann/json.hpp"
#include "tools/report/amount_text.h"
#include "tools/report/html_page.h"
#include "tools/report/report_file.h"
#include "tools/report/svg_chart.h"
#include "tools/report/text_table.h"
#include "tools/winnow/amounts.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/filter_comparison.h"
#include "tools/winnow/progress.h"
#include "tools/winnow/store_files.h"

namespace winnow::cli {
namespace {

constexpr uint64_t kDefaultLookups = 100000;
constexpr uint64_t kMostLookups = 10000000;
constexpr size_t kAnchorsOfTable = 1000;

struct ComparedTable {
  uint64_t number = 0;
  int level = 0;
  uint64_t entries = 0;
  std::string smallest_key;
  std::unique_ptr<SstableReader> reader;
};

// Newest first, opened. Of the tables that this family has now. Under a budget of filter memory
// each has those units of its filter that the database has in memory.
absl::StatusOr<std::vector<ComparedTable>> TablesOf(DB& db, ColumnFamily* family,
                                                    const std::string& directory,
                                                    FilterLedger* ledger) {
  WINNOW_ASSIGN_OR_RETURN(const std::string rows, db.GetProperty(family, "winnow.sstables-json"));
  std::vector<ComparedTable> tables;
  for (const nlohmann::json& row : nlohmann::json::parse(rows)) {
    ComparedTable& table = tables.emplace_back();
    table.number = row.at("file_number").get<uint64_t>();
    table.level = row.at("level").get<int>();
    table.entries = row.at("entries").get<uint64_t>();
    const auto filter_file = row.find("filter_file");
    const auto in_memory = row.find("filter_units_in_memory");
    WINNOW_ASSIGN_OR_RETURN(
        table.reader,
        OpenSstable(
            SstableFileName(directory, table.number),
            filter_file == row.end() ? "" : FilterFileName(directory, filter_file->get<uint64_t>()),
            in_memory == row.end() ? nullptr : ledger));
    if (FilterUnits* const units = table.reader->filter_units();
        in_memory != row.end() && units != nullptr) {
      units->DropTo(in_memory->get<size_t>());
    }
  }
  std::sort(tables.begin(), tables.end(), [](const ComparedTable& a, const ComparedTable& b) {
    return a.level != b.level ? a.level < b.level : a.number > b.number;
  });
  if (tables.empty()) {
    return absl::NotFoundError(
        absl::StrCat(directory, " has no SSTables: all its data is still in the write-ahead log"));
  }
  return tables;
}

absl::StatusOr<std::vector<ComparedFilter>> CandidatesOf(const Arguments& arguments) {
  const std::optional<std::string> filters = arguments.Text("filters");
  if (!filters.has_value()) {
    return absl::InvalidArgumentError("name the candidates: --filters=ribbon:1%,cuckoo:12");
  }
  std::vector<ComparedFilter> candidates(1);
  candidates[0].name = "now";
  candidates[0].is_present_one = true;
  for (const std::string& text : std::vector<std::string>(absl::StrSplit(*filters, ','))) {
    ComparedFilter& candidate = candidates.emplace_back();
    WINNOW_ASSIGN_OR_RETURN(candidate.spec, filter::ParseFilterSpec(text));
    if (candidate.spec.range_bits != 0) {
      return absl::InvalidArgumentError(
          "--filters: keys are looked up here, and no ranges: leave out what is behind '+'");
    }
    candidate.name = filter::ToString(candidate.spec);
  }
  return candidates;
}

// Keys of a table that others of it are behind: its smallest one, and all of its anchors but the
// last, which may itself be behind them all.
std::vector<std::string> KeysInside(const ComparedTable& table) {
  std::vector<std::string> keys = {table.smallest_key};
  for (SstableAnchor& anchor : table.reader->Anchors(kAnchorsOfTable)) {
    keys.push_back(std::move(anchor.user_key));
  }
  if (keys.size() > 1) keys.pop_back();
  return keys;
}

// Keys next to those that are there, so that no file is left out by its range.
void AddAbsentKeys(const std::vector<ComparedTable>& tables, uint64_t count,
                   ComparedWorkload* workload) {
  uint64_t all_entries = 0;
  for (const ComparedTable& table : tables) all_entries += table.entries;
  std::mt19937_64 random(1);
  for (const ComparedTable& table : tables) {
    if (table.entries == 0) continue;
    const std::vector<std::string> keys = KeysInside(table);
    const auto share = static_cast<double>(table.entries) / static_cast<double>(all_entries);
    const auto wanted = static_cast<uint64_t>(share * static_cast<double>(count) + 0.5);
    for (uint64_t i = 0; i < wanted; i++) {
      ComparedLookup& lookup = workload->lookups.emplace_back();
      lookup.key = absl::StrCat(keys[random() % keys.size()],
                                absl::StrFormat("\x01%08x", random() & 0xffffffff));
      lookup.hash = workload->filter_key.LookupHash(lookup.key, workload->hash_seed);
    }
  }
}

// Look-ups of the trace by key; the first so many.
absl::Status ReadWorkload(const std::string& path, uint32_t family_id, uint64_t most,
                          ComparedWorkload* workload) {
  WINNOW_ASSIGN_OR_RETURN(const auto trace, TraceReader::Open(*PosixFileSystem(), path));
  workload->keys_are_hashes = trace->header().keys_are_hashes;
  if (workload->keys_are_hashes && trace->header().hash_seed != workload->hash_seed) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": its keys are hashes of another database"));
  }
  const std::string asked_part = workload->filter_key.lookup_part().ToString();
  TraceRecord record;
  while (workload->lookups.size() < most) {
    WINNOW_ASSIGN_OR_RETURN(const bool more, trace->Next(&record));
    if (!more) break;
    if (record.family_id != family_id ||
        (record.call != TraceCall::kGet && record.call != TraceCall::kMultiGet)) {
      continue;
    }
    if (workload->keys_are_hashes && trace->HashedPart(family_id) != asked_part) {
      const std::string part(trace->HashedPart(family_id));
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": its look-ups are hashes of the filter key '", part,
          "' that was set then, by which filters of '", asked_part,
          "' cannot be asked: a trace of whole keys can be (TraceOptions::hash_keys), or compare "
          "with --filter-key=",
          part));
    }
    ComparedLookup& lookup = workload->lookups.emplace_back();
    lookup.key = record.key;
    lookup.hash = workload->keys_are_hashes
                      ? record.key_hash
                      : workload->filter_key.LookupHash(record.key, workload->hash_seed);
  }
  if (!workload->lookups.empty()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(path, ": has no look-ups of this column family"));
}

// What the row "now" leaves out: a line each.
std::vector<std::string> NotesOnNow(const std::vector<ComparedFilter>& candidates) {
  std::vector<std::string> notes;
  const ComparedFilter& now = candidates.front();
  if (now.units_in_memory < now.num_units) {
    notes.push_back(absl::StrCat(
        "now: of ", report::HumanCount(now.num_units, "unit", "units"), " of filters ",
        report::HumanCount(now.units_in_memory),
        " in memory, as an opening under the database's options loads them; candidates are whole"));
  }
  if (now.files_not_asked > 0) {
    notes.push_back(absl::StrCat(
        "now: the filters of ", report::HumanCount(now.files_not_asked, "file", "files"),
        " are of another filter key or seed than the trace's hashes, and cannot be asked by them: "
        "they count as if they let everything through"));
  }
  return notes;
}

double PerThousand(const ComparedFilter& candidate, uint64_t lookups) {
  return lookups == 0 ? 0 : 1000 * candidate.needless_reads / static_cast<double>(lookups);
}

Json ComparisonAsJson(const FilterComparison& comparison,
                      const std::vector<ComparedFilter>& candidates, bool recorded) {
  Json rows = Json::array();
  for (const ComparedFilter& candidate : candidates) {
    rows.push_back(Json{{"filter", candidate.name},
                        {"keys", candidate.num_keys},
                        {"bytes", candidate.num_bytes},
                        {"bits_per_key", candidate.bits_per_key()},
                        {"build_seconds", candidate.build_seconds},
                        {"query_ns", candidate.query_ns},
                        {"expected_fpr", candidate.expected_fpr},
                        {"sampled_fpr", candidate.sampled_fpr},
                        {"needless_reads", candidate.needless_reads},
                        {"fell_back", candidate.fell_back}});
  }
  return Json{{"recorded", recorded},
              {"lookups", comparison.num_lookups()},
              {"lookups_found", comparison.num_found()},
              {"now_units", candidates.front().num_units},
              {"now_units_in_memory", candidates.front().units_in_memory},
              {"now_files_not_asked", candidates.front().files_not_asked},
              {"filters", std::move(rows)}};
}

std::string ComparisonTable(const FilterComparison& comparison,
                            const std::vector<ComparedFilter>& candidates) {
  report::TextTable table;
  table.AddColumn("filter", report::TextTable::Align::kLeft);
  for (const char* title : {"memory", "bits/key", "build", "query", "expected FPR", "sampled FPR",
                            "needless reads/1,000"}) {
    table.AddColumn(title, report::TextTable::Align::kRight);
  }
  for (const ComparedFilter& candidate : candidates) {
    table.AddRow({candidate.name, report::HumanBytes(static_cast<double>(candidate.num_bytes)),
                  absl::StrFormat("%.2f", candidate.bits_per_key()),
                  candidate.is_present_one ? "" : report::HumanSeconds(candidate.build_seconds),
                  absl::StrFormat("%.1f ns", candidate.query_ns),
                  absl::StrFormat("%.4f %%", 100 * candidate.expected_fpr),
                  absl::StrFormat("%.4f %%", 100 * candidate.sampled_fpr),
                  absl::StrFormat("%.2f", PerThousand(candidate, comparison.num_lookups()))});
  }
  return table.ToString();
}

std::string ComparisonPage(const std::string& directory, const FilterComparison& comparison,
                           const std::vector<ComparedFilter>& candidates, bool recorded) {
  std::vector<report::Bar> memory;
  std::vector<report::Bar> needless;
  std::vector<report::Point> points;
  for (const ComparedFilter& candidate : candidates) {
    const double mebibytes = static_cast<double>(candidate.num_bytes) / (1 << 20);
    memory.push_back({candidate.name, mebibytes, mebibytes, mebibytes});
    const double reads = PerThousand(candidate, comparison.num_lookups());
    needless.push_back({candidate.name, reads, reads, reads});
    if (candidate.expected_fpr > 0 && candidate.num_bytes > 0) {
      points.push_back({candidate.name, candidate.bits_per_key(), 100 * candidate.expected_fpr});
    }
  }
  std::string body = absl::StrCat(
      "<p>", report::HumanCount(comparison.num_lookups()),
      recorded ? " recorded look-ups, of which " : " look-ups of absent keys, of which ",
      report::HumanCount(comparison.num_found()), " found their key.</p>\n<pre>",
      report::EscapeMarkup(ComparisonTable(comparison, candidates)), "</pre>\n");
  for (const std::string& note : NotesOnNow(candidates)) {
    absl::StrAppend(&body, "<p>", report::EscapeMarkup(note), "</p>\n");
  }
  absl::StrAppend(&body, report::BarChart("Needless reads of 1,000 look-ups", needless),
                  report::BarChart("Memory, MiB", memory));
  if (!points.empty()) {
    absl::StrAppend(&body, report::ScatterPlot("False positives for the memory", "bits per key",
                                               "expected false-positive rate, %", points));
  }
  return report::HtmlPage(absl::StrCat("Filters for ", directory), body);
}

// All that is asked of the database: its tables, how they hash, and the look-ups.
struct ComparisonInput {
  std::string directory;
  std::unique_ptr<FilterLedger> ledger = std::make_unique<FilterLedger>(0);  // of the tables
  std::vector<ComparedTable> tables;
  ComparedWorkload workload;
  bool recorded = false;
};

absl::StatusOr<ComparisonInput> ComparisonInputOf(const Arguments& arguments) {
  ComparisonInput input;
  WINNOW_ASSIGN_OR_RETURN(input.directory, ExistingDatabasePath(arguments));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  WINNOW_ASSIGN_OR_RETURN(const std::string present_key,
                          opened.db->GetProperty(opened.family, "winnow.filter-key"));
  WINNOW_ASSIGN_OR_RETURN(
      input.workload.filter_key,
      filter::FilterKeyExtractor::Parse(arguments.Text("filter-key").value_or(present_key)));
  WINNOW_ASSIGN_OR_RETURN(input.tables,
                          TablesOf(*opened.db, opened.family, input.directory, input.ledger.get()));
  for (ComparedTable& table : input.tables) {
    WINNOW_ASSIGN_OR_RETURN(SstableProperties properties, table.reader->ReadProperties());
    if (!properties.is_external) input.workload.hash_seed = properties.hash_seed;
    table.smallest_key = std::move(properties.smallest_user_key);
  }
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> count, CountOf(arguments, "lookups"));
  const uint64_t most = std::min(count.value_or(kDefaultLookups), kMostLookups);
  if (const std::optional<std::string> trace = arguments.Text("workload"); trace.has_value()) {
    input.recorded = true;
    WINNOW_RETURN_IF_ERROR(ReadWorkload(*trace, opened.family->id(), most, &input.workload));
  } else {
    AddAbsentKeys(input.tables, most, &input.workload);
  }
  WINNOW_RETURN_IF_ERROR(opened.db->Close());
  return input;
}

absl::StatusOr<ExitCode> RunCompare(const Arguments& arguments, Output& output) {
  if (arguments.Text("report") == "") {
    return absl::InvalidArgumentError("say where the page goes: --report=FILE");
  }
  WINNOW_ASSIGN_OR_RETURN(std::vector<ComparedFilter> candidates, CandidatesOf(arguments));
  WINNOW_ASSIGN_OR_RETURN(ComparisonInput input, ComparisonInputOf(arguments));
  std::map<int, uint64_t> entries_in_level;
  for (const ComparedTable& table : input.tables) entries_in_level[table.level] += table.entries;
  FilterComparison comparison(std::move(input.workload), std::move(candidates));
  Progress progress(0);
  uint64_t entries = 0;
  for (ComparedTable& table : input.tables) {
    WINNOW_RETURN_IF_ERROR(
        comparison.AddTable(*table.reader, table.level, entries_in_level[table.level]));
    entries += table.entries;
    progress.Update(entries, 0);
    table.reader.reset();
  }
  progress.Clear();
  const std::vector<ComparedFilter>& compared = comparison.Finish();
  WINNOW_RETURN_IF_ERROR(report::WriteReportFile(
      arguments.Text("report").value_or(""),
      arguments.Has("report")
          ? ComparisonPage(input.directory, comparison, compared, input.recorded)
          : ""));
  if (arguments.Has("json")) {
    output.Write(ToLine(ComparisonAsJson(comparison, compared, input.recorded)));
    return ExitCode::kOk;
  }
  output.Text(ComparisonTable(comparison, compared));
  output.Line(absl::StrCat(report::HumanCount(comparison.num_lookups()),
                           input.recorded ? " recorded look-ups, " : " look-ups of absent keys, ",
                           report::HumanCount(comparison.num_found()), " of them found"));
  for (const std::string& note : NotesOnNow(compared)) output.Line(note);
  return ExitCode::kOk;
}

}  // namespace

Command CompareCommand() {
  return {
      .name = "compare",
      .database = DatabaseUse::kRead,
      .summary = "what other filters would cost and save here",
      .details = R"(
Reads each SSTable once, builds every candidate from its keys, and asks them all the same
look-ups: those of a trace (DB::StartTrace), or absent keys next to those that are there. Nothing
is changed. "now" is what the files have, under filter_memory_budget what of it an opening has
in memory. Needless reads are files that a filter let through though they lack the key; times
are of one thread of this machine, with one file's filter hot. A trace of hashed keys does not
say which file's range a key is in: below level 0 each file then counts by its share of the
level. Its hashes are of the filter key that was set when it was recorded: other filter keys
are refused, and files that have another one are told of.)",
      .json = R"({"recorded":BOOL,"lookups":N,"lookups_found":N,"now_units":N,
 "now_units_in_memory":N,"now_files_not_asked":N,"filters":[{"filter":TEXT,"keys":N,
 "bytes":N,"bits_per_key":X,"build_seconds":S,"query_ns":X,"expected_fpr":X,"sampled_fpr":X,
 "needless_reads":X,"fell_back":BOOL},...]})",
      .examples = R"(
  winnow compare --db=/tmp/fruit --filters=blocked_bloom:10,ribbon:1%,cuckoo:12
  winnow compare --db=/tmp/fruit --filters=ribbon:0.1% --workload=calls.trace --report=filters.html)",
      .flags = {{"filters", "SPEC,...", "the candidates"},
                {"filter-key", "PART", "what the candidates know of keys (default: as set now)"},
                {"workload", "FILE", "a trace, whose look-ups are asked"},
                {"lookups", "N", "how many at most (default: 100,000; at most 10,000,000)"},
                {"report", "FILE", "write an HTML page with plots"}},
      .run = RunCompare,
  };
}

}  // namespace winnow::cli
