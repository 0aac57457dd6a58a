// winnow refilter: other filters for the files that are there, without rewriting them.
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/sstable/filter_description.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/amounts.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/progress.h"

namespace winnow::cli {
namespace {

std::string RefilterSentence(const RefilterInfo& info, std::string_view filter) {
  std::string text = absl::StrCat(
      report::HumanCount(info.files_refiltered, "file", "files"), " now with ", ToAbsl(filter),
      ", ", report::HumanCount(info.files_current, "file", "files"), " had it before; ",
      report::HumanBytes(static_cast<double>(info.bytes_read)), " read, ",
      report::HumanBytes(static_cast<double>(info.bytes_written)), " written, ",
      report::HumanSeconds(std::chrono::duration<double>(info.duration).count()));
  if (info.filters_fell_back > 0) {
    absl::StrAppend(&text, "; ", info.filters_fell_back, " could not be built as specified");
  }
  return text;
}

absl::StatusOr<ExitCode> RunRefilter(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> budget, BytesOf(arguments, "budget"));
  RefilterOptions options;
  options.filter_memory_budget = budget.value_or(0);
  WINNOW_RETURN_IF_ERROR(CheckFilterFlags(arguments));
  // An opening would set and record what is refused then.
  options.filter = arguments.Text("filter").value_or("");
  options.filter_key = arguments.Text("filter-key").value_or("");
  Arguments opening = arguments;
  opening.Clear("filter");
  opening.Clear("filter-key");
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(opening, Access::kWriteExisting));
  Progress progress(0, {.things = "files"});
  uint64_t files = 0;
  options.on_progress = [&](const RefilterInfo& so_far) {
    progress.Update(++files, so_far.bytes_read);
    return true;
  };
  const absl::StatusOr<RefilterInfo> info = opened.db->Refilter(opened.family, options);
  progress.Clear();
  WINNOW_RETURN_IF_ERROR(info.status());
  WINNOW_ASSIGN_OR_RETURN(const std::string setting,
                          opened.db->GetProperty(opened.family, "winnow.filter"));
  // A range filter is the tables', which have it or not.
  const std::string filter(PointFilterText(setting));
  WINNOW_ASSIGN_OR_RETURN(const std::string filter_key,
                          opened.db->GetProperty(opened.family, "winnow.filter-key"));
  WINNOW_RETURN_IF_ERROR(opened.db->Close());
  return PrintAnswer(arguments,
                     Json{{"filter", filter},
                          {"filter_key", filter_key},
                          {"files_refiltered", info->files_refiltered},
                          {"files_restored", info->files_restored},
                          {"files_current", info->files_current},
                          {"files_gone", info->files_gone},
                          {"filters_fell_back", info->filters_fell_back},
                          {"bytes_read", info->bytes_read},
                          {"bytes_written", info->bytes_written},
                          {"filter_bytes", info->filter_bytes},
                          {"seconds", std::chrono::duration<double>(info->duration).count()}},
                     RefilterSentence(*info, filter), output);
}

}  // namespace

Command RefilterCommand() {
  return {
      .name = "refilter",
      .database = DatabaseUse::kWrite,
      .summary = "give all files another filter without rewriting them",
      .details = R"(
Writes a new filter for each SSTable to a file of its own, NNNNNN.flt, which is asked from then
on. It is made of the hashes of the keys where the SSTable has them (key_hashes_ratio: by default
with values of some 400 bytes or more), for a hundredth of what `winnow compact` reads and writes,
or less; else all of the SSTable is read, for half of it. Space is taken for the filters alone.
Files that have the filter already are passed over, so that a run that was interrupted goes on
where it ended. Without --filter the files get the filter that is set, under filter_memory_budget
of the sizes that it plans now; --budget sizes them for a smaller one, which can be set afterwards
(`winnow options`). Range filters stay as they are: `winnow compact` builds them, and a --filter
with one that not all files have is refused; one that is set stays set where --filter says nothing
of it, and +range:0 takes it from files to come. What is refused changes no setting, but --set's
are made first. A damaged file keeps its filter, and the command ends with exit code 3 once all
others are done.)",
      .json = R"({"filter":TEXT,"filter_key":TEXT,"files_refiltered":N,"files_restored":N,
 "files_current":N,"files_gone":N,"filters_fell_back":N,"bytes_read":N,"bytes_written":N,
 "filter_bytes":N,"seconds":S})",
      .examples = R"(
  winnow refilter --db=/tmp/fruit --filter=ribbon:0.1%
  winnow refilter --db=/tmp/fruit --filter-key=whole+prefix:8 --set=background_bytes_per_second=50M)",
      .flags = {{"budget", "BYTES",
                 "size filters for this filter_memory_budget (default: the database's)"}},
      .run = RunRefilter,
  };
}

}  // namespace winnow::cli
