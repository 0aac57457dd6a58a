// winnow wal: the records of write-ahead logs.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "engine/base/write_time.h"
#include "engine/write/batch_format.h"
#include "engine/write/log_set.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/store_files.h"

namespace winnow::cli {
namespace {

void PrintUpdate(const BatchUpdate& update, SequenceNumber sequence, const Arguments& arguments,
                 Output& output) {
  const bool hex = arguments.Has("hex");
  const bool has_end = update.type == EntryType::kRangeDelete;
  const bool has_value = update.type != EntryType::kDelete && !has_end;
  const bool has_time = update.type == EntryType::kPutWithTime;
  const std::string_view value = has_time ? WithoutWriteTime(update.value) : update.value;
  const std::string_view type = EntryTypeName(update.type);
  if (arguments.Has("json")) {
    Json json = {{"sequence", sequence}, {"type", type}, {"family", update.family_id}};
    AddBytes(&json, "key", update.key, hex);
    if (has_value) AddBytes(&json, "value", value, hex);
    if (has_end) AddBytes(&json, "end", update.value, hex);
    if (has_time) json["written"] = TimeText(WriteTime(update.value));
    output.Write(ToLine(json));
    return;
  }
  const TextForm form = PrintedForm(arguments);
  std::string line = absl::StrFormat("  %10d  %-6s  family %d  %s", sequence, ToAbsl(type),
                                     update.family_id, ToText(update.key, form));
  if (has_value) absl::StrAppend(&line, "\t", ToText(value, form));
  if (has_end) absl::StrAppend(&line, " to before ", ToText(update.value, form));
  if (has_time) absl::StrAppend(&line, "  written ", TimeText(WriteTime(update.value)));
  output.Line(line);
}

// Each update of a batch takes the next sequence number.
absl::Status PrintBatch(std::string_view encoded, const Arguments& arguments, Output& output) {
  BatchReader batch(encoded);
  BatchUpdate update;
  for (SequenceNumber sequence = batch.first_sequence(); output.ok(); sequence++) {
    bool more = false;
    WINNOW_RETURN_IF_ERROR(batch.Next(&update, &more));
    if (!more) break;
    PrintUpdate(update, sequence, arguments, output);
  }
  return absl::OkStatus();
}

void PrintLogStart(const LogStart& start, bool json, Output& output) {
  if (json) {
    output.Write(ToLine(Json{{"type", "log_start"},
                             {"previous_log", start.previous_log},
                             {"previous_records", start.previous_records}}));
  } else if (start.previous_log == 0) {
    output.Line("  follows no other log");
  } else {
    output.Line(absl::StrFormat("  follows log %06d of %s", start.previous_log,
                                report::HumanCount(start.previous_records, "record", "records")));
  }
}

absl::Status PrintRecord(std::string_view payload, const Arguments& arguments, Output& output) {
  LogStart start;
  if (LogStart::Decode(payload, &start)) {
    PrintLogStart(start, arguments.Has("json"), output);
    return absl::OkStatus();
  }
  if (payload.empty() || payload[0] != static_cast<char>(LogPayload::kBatches)) {
    return absl::DataLossError("record of unknown kind");
  }
  return PrintBatch(payload.substr(1), arguments, output);
}

absl::StatusOr<ExitCode> RunWal(const Arguments& arguments, Output& output) {
  const auto print = [&](std::string_view payload, uint64_t offset) {
    if (!arguments.Has("json")) {
      output.Line(absl::StrCat("record at offset ", offset, ", ", payload.size(), " bytes"));
    }
    return PrintRecord(payload, arguments, output);
  };
  WINNOW_RETURN_IF_ERROR(PrintLogs(arguments, FileType::kLog, output, print));
  return ExitCode::kOk;
}

}  // namespace

Command WalCommand() {
  return {
      .name = "wal",
      .positionals = {"[FILE...]", 0, kAnyNumber},
      .database = DatabaseUse::kFiles,
      .summary = "show write-ahead logs: every update that is not in an SSTable yet",
      .details =
          "Without FILE every log in --db, oldest first. The last line of each says how the log "
          "ends.",
      .json = R"(
one line per update: sequence, type, family, key, value (of type delete_range: end), and written,
the time, where a value has one; the first line of a log has type log_start, previous_log,
previous_records; the last is {"end":KIND,"offset":N})",
      .examples = R"(
  winnow wal --db=/tmp/fruit
  winnow wal /tmp/fruit/000004.log)",
      .run = RunWal,
  };
}

}  // namespace winnow::cli
