// winnow compact: rewrites the files of a key range.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/progress.h"

namespace winnow::cli {
namespace {

struct Size {
  uint64_t num_files = 0;
  uint64_t file_bytes = 0;

  std::string ToText() const {
    return absl::StrCat(report::HumanBytes(static_cast<double>(file_bytes)), " in ",
                        report::HumanCount(num_files, "file", "files"));
  }
};

Size SizeOf(DB& db, const ColumnFamily& family) {
  Size size;
  for (const LevelStatistics& level : db.GetStatistics().levels) {
    if (level.column_family != family.name()) continue;
    size.num_files += level.num_files;
    size.file_bytes += level.file_bytes;
  }
  return size;
}

absl::StatusOr<std::optional<std::string>> BytesFromFlag(const Arguments& arguments,
                                                         std::string_view flag) {
  const std::optional<std::string> word = arguments.Text(flag);
  if (!word.has_value()) return std::optional<std::string>();
  WINNOW_ASSIGN_OR_RETURN(std::string bytes, BytesFromWord(arguments, *word));
  return std::optional<std::string>(std::move(bytes));
}

absl::StatusOr<ExitCode> RunCompact(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> from, BytesFromFlag(arguments, "from"));
  WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> to, BytesFromFlag(arguments, "to"));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kWriteExisting));
  const Progress clock(0);
  const Size before = SizeOf(*opened.db, *opened.family);
  WINNOW_RETURN_IF_ERROR(opened.db->CompactRange(opened.family, from, to));
  const Size after = SizeOf(*opened.db, *opened.family);
  WINNOW_RETURN_IF_ERROR(opened.db->Close());

  const double seconds = clock.seconds();
  return PrintAnswer(arguments,
                     Json{{"files_before", before.num_files},
                          {"bytes_before", before.file_bytes},
                          {"files_after", after.num_files},
                          {"bytes_after", after.file_bytes},
                          {"seconds", seconds}},
                     absl::StrCat(after.ToText(), ", before ", before.ToText(), "; ",
                                  report::HumanSeconds(seconds)),
                     output);
}

}  // namespace

Command CompactCommand() {
  return {
      .name = "compact",
      .database = DatabaseUse::kWrite,
      .summary = "rewrite all files, or those of a key range",
      .details = R"(
Merges every file that overlaps the range down to the last level with data: overwritten and
deleted entries go, and each file gets the filter and compression set now.)",
      .json = R"({"files_before":N,"bytes_before":N,"files_after":N,"bytes_after":N,"seconds":S})",
      .examples = R"(
  winnow compact --db=/tmp/fruit
  winnow compact --db=/tmp/fruit --filter=cuckoo:0.1%   # new filters for all files)",
      .flags = {{"from", "KEY", "begin at this key"},
                {"to", "KEY", "end with this key"},
                kEscapedFlag},
      .run = RunCompact,
  };
}

}  // namespace winnow::cli
