// winnow trace: what a trace holds.
#include <array>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/trace/trace_file.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"

namespace winnow::cli {
namespace {

struct TraceSummary {
  std::array<uint64_t, kNumTraceCalls> calls{};
  std::map<uint32_t, uint64_t> by_family;
  uint64_t all = 0;
  uint64_t micros = 0;
};

absl::StatusOr<ExitCode> RunTrace(const Arguments& arguments, Output& output) {
  const std::string& path = arguments.positionals()[0];
  WINNOW_ASSIGN_OR_RETURN(const auto trace, TraceReader::Open(*PosixFileSystem(), path));
  TraceSummary summary;
  TraceRecord record;
  for (;;) {
    WINNOW_ASSIGN_OR_RETURN(const bool more, trace->Next(&record));
    if (!more) break;
    summary.calls[static_cast<size_t>(record.call)]++;
    summary.by_family[record.family_id]++;
    summary.all++;
    summary.micros = record.micros;
  }
  const double seconds = static_cast<double>(summary.micros) / 1e6;
  Json json{{"calls", summary.all},
            {"seconds", seconds},
            {"hashed", trace->header().keys_are_hashes},
            {"one_in", trace->header().one_in},
            {"cut", trace->was_cut()}};
  std::string text = absl::StrCat(report::HumanCount(summary.all, "call", "calls"), " in ",
                                  report::HumanSeconds(seconds));
  for (uint32_t call = 1; call < kNumTraceCalls; call++) {
    const std::string name(TraceCallName(static_cast<TraceCall>(call)));
    json[name] = summary.calls[call];
    if (summary.calls[call] > 0) {
      absl::StrAppend(&text, ", ", name, " ", report::HumanCount(summary.calls[call]));
    }
  }
  json["column_families"] = Json::object();
  for (const auto& [id, calls] : summary.by_family) {
    json["column_families"][std::to_string(id)] = calls;
    // Numbers are of interest where there is more than the default one.
    if (summary.by_family.size() == 1 && id == 0) continue;
    absl::StrAppend(&text, "; of column family ", id, " ", report::HumanCount(calls));
  }
  if (trace->header().keys_are_hashes) absl::StrAppend(&text, "; keys are hashes");
  if (trace->header().one_in > 1) {
    absl::StrAppend(&text, "; one key in ", trace->header().one_in);
  }
  if (trace->was_cut()) absl::StrAppend(&text, "; not ended: its last calls are missing");
  return PrintAnswer(arguments, json, text, output);
}

}  // namespace

Command TraceCommand() {
  return {
      .name = "trace",
      .positionals = {"FILE", 1, 1},
      .database = DatabaseUse::kNone,
      .summary = "count the calls that a trace holds",
      .details = R"(
A trace is what DB::StartTrace records, for `winnow compare --workload` and, with whole keys, for
`winnow_bench --replay`. Column families are counted by their numbers: 0 is the default one.)",
      .json = R"({"calls":N,"seconds":S,"hashed":BOOL,"one_in":N,"cut":BOOL,"get":N,"multiget":N,
 "seek":N,"put":N,"delete":N,"merge":N,"column_families":{"NUMBER":N,…}})",
      .examples = R"(
  winnow trace calls.trace)",
      .flags = {},
      .run = RunTrace,
  };
}

}  // namespace winnow::cli
