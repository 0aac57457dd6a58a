// winnow manifest: the log of changes of a database's shape.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "engine/base/status.h"
#include "engine/version/version_edit.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/store_files.h"

namespace winnow::cli {
namespace {

Json FileAsJson(const FamilyEdit::AddedFile& added, bool hex) {
  const FileMetadata& file = added.file;
  Json json = {{"level", added.level},
               {"number", file.number},
               {"file_id", absl::StrFormat("%016x", file.file_id)},
               {"file_bytes", file.file_bytes},
               {"entries", file.num_entries},
               {"deletions", file.num_deletions}};
  if (file.num_range_deletions > 0) json["range_deletions"] = file.num_range_deletions;
  if (IsInternalKey(file.smallest)) AddBytes(&json, "smallest_key", UserKey(file.smallest), hex);
  if (IsInternalKey(file.largest)) {
    AddBytes(&json, "largest_key", UserKey(file.largest), hex);
    if (IsExclusiveEnd(file.largest)) json["ends_before_largest_key"] = true;
  }
  json["smallest_sequence"] = file.smallest_sequence;
  json["largest_sequence"] = file.largest_sequence;
  if (file.write_times.num_entries > 0) {
    json["with_write_time"] = file.write_times.num_entries;
    json["oldest_write_time"] = TimeText(file.write_times.oldest);
    json["newest_write_time"] = TimeText(file.write_times.newest);
  }
  if (file.global_sequence != 0) json["global_sequence"] = file.global_sequence;
  if (file.epoch_number != 0) json["epoch_number"] = file.epoch_number;
  if (file.filter_file.number != 0) {
    json["filter_file"] = {{"number", file.filter_file.number},
                           {"file_id", absl::StrFormat("%016x", file.filter_file.file_id)},
                           {"file_bytes", file.filter_file.file_bytes}};
  }
  return json;
}

Json FamilyAsJson(const FamilyEdit& family, bool hex) {
  Json json = {{"id", family.family_id}};
  if (family.name) AddBytes(&json, "name", *family.name, /*hex=*/false);
  if (family.comparator) AddBytes(&json, "comparator", *family.comparator, /*hex=*/false);
  if (family.merge_operator) {
    AddBytes(&json, "merge_operator", *family.merge_operator, /*hex=*/false);
  }
  if (family.dropped) json["dropped"] = true;
  if (family.filter) json["filter"] = *family.filter;
  if (family.filter_key) json["filter_key"] = *family.filter_key;
  if (family.ttl_seconds) json["ttl_seconds"] = *family.ttl_seconds;
  for (const auto& [name, text] : family.options) {
    AddBytes(&json["options"], name, text, /*hex=*/false);
  }
  if (family.log_number) json["log_number"] = *family.log_number;
  for (const FamilyEdit::DeletedFile& file : family.deleted) {
    json["deleted"].push_back(Json{{"level", file.level}, {"number", file.number}});
  }
  for (const FamilyEdit::AddedFile& file : family.added) {
    json["added"].push_back(FileAsJson(file, hex));
  }
  return json;
}

Json EditAsJson(const VersionEdit& edit, uint64_t offset, bool hex) {
  Json json = {{"offset", offset}};
  if (edit.hash_seed) json["hash_seed"] = absl::StrFormat("%016x", *edit.hash_seed);
  if (edit.next_file_number) json["next_file_number"] = *edit.next_file_number;
  if (edit.last_sequence) json["last_sequence"] = *edit.last_sequence;
  if (edit.largest_family_id) json["largest_family_id"] = *edit.largest_family_id;
  if (edit.oldest_log) json["oldest_log"] = *edit.oldest_log;
  if (edit.newest_log) json["newest_log"] = *edit.newest_log;
  for (const auto& [name, text] : edit.options) {
    AddBytes(&json["options"], name, text, /*hex=*/false);
  }
  for (const FamilyEdit& family : edit.families) {
    json["families"].push_back(FamilyAsJson(family, hex));
  }
  return json;
}

absl::Status PrintEdit(std::string_view payload, uint64_t offset, const Arguments& arguments,
                       Output& output) {
  const absl::StatusOr<VersionEdit> edit = VersionEdit::Decode(payload);
  if (absl::IsInvalidArgument(edit.status())) {  // the file is at fault, not the command line
    return absl::DataLossError(edit.status().message());
  }
  if (!edit.ok()) return edit.status();
  if (arguments.Has("json")) {
    output.Write(ToLine(EditAsJson(*edit, offset, arguments.Has("hex"))));
    return absl::OkStatus();
  }
  output.Line(absl::StrCat("edit at offset ", offset));
  const std::string text = edit->DebugString();
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    output.Line(absl::StrCat("  ", line));
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> RunManifest(const Arguments& arguments, Output& output) {
  const auto print = [&](std::string_view payload, uint64_t offset) {
    return PrintEdit(payload, offset, arguments, output);
  };
  WINNOW_RETURN_IF_ERROR(PrintLogs(arguments, FileType::kManifest, output, print));
  return ExitCode::kOk;
}

}  // namespace

Command ManifestCommand() {
  return {
      .name = "manifest",
      .positionals = {"[FILE...]", 0, kAnyNumber},
      .database = DatabaseUse::kFiles,
      .summary = "show the manifest: every change of families and SSTables",
      .details = "Without FILE the manifest in --db. The last line says how the log ends.",
      .json = R"(one line per edit: {"offset":N,...}; then {"end":KIND,"offset":N})",
      .examples = "  winnow manifest --db=/tmp/fruit",
      .run = RunManifest,
  };
}

}  // namespace winnow::cli
