// winnow sst: what is in SSTables.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "engine/sstable/signature_cursor.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/sstable/sstable_reader.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/store_files.h"

namespace winnow::cli {
namespace {

// Enough for two digits of a rate of 0.1 %.
constexpr uint64_t kFprProbes = 1000000;
constexpr uint64_t kFprProbeSeed = 1;

Json FilterAsJson(const SstableReader& table, const SstableProperties& properties) {
  const filter::FilterState& state = table.filter_state();
  if (state.code != filter::FilterStateCode::kOk) {
    return Json{{"state", "unusable"}, {"reason", state.reason}};
  }
  if (const std::string& policy = properties.filter_policy; !policy.empty()) {
    return Json{{"state", "made by a filter policy that this program does not have"},
                {"policy", policy},
                {"bytes", properties.filter_bytes}};
  }
  if (!table.has_filter()) return Json{{"state", "none"}};
  const filter::FilterInfo info = table.filter().Describe();
  return Json{{"state", "ok"},
              {"kind", filter::KindName(info.kind)},
              {"spec", properties.filter_spec},
              {"fell_back", properties.filter_fell_back},
              {"filter_key", properties.filter_key},
              {"hash_seed", absl::StrFormat("%016x", info.hash_seed)},
              {"bytes", info.num_bytes},
              {"keys", info.num_keys},
              {"bits_per_key", info.bits_per_key},
              {"probes", info.probes},
              {"fingerprint_bits", info.fingerprint_bits},
              {"shards", info.num_shards},
              {"units", info.num_units},
              {"fill", info.fill},
              {"expected_fpr", info.expected_fpr},
              {"sampled_fpr", table.SampleFalsePositiveRate(kFprProbes, kFprProbeSeed)},
              {"sampled_probes", kFprProbes}};
}

Json RangeFilterAsJson(const SstableReader& table) {
  const RangeFilterBlock* const filter = table.range_filter();
  if (filter == nullptr) return Json{{"state", "none"}};
  if (!filter->is_usable()) return Json{{"state", "unusable"}, {"reason", filter->state().reason}};
  const filter::RangeFilterInfo info = filter->reader().Describe();
  return Json{{"state", "ok"},
              {"bytes", info.num_bytes},
              {"keys", info.num_keys},
              {"bits_per_key", info.bits_per_key},
              {"prefix_bytes", info.prefix.size()},
              {"expected_fpr_of_one", info.expected_fpr_of_one}};
}

// Fields and groups are qualifiers and rows in a table's family, as its keys have them.
Json SignaturesAsJson(const SstableReader& table, const SstableProperties& properties, bool hex) {
  SignatureCursor cursor(table, {});
  if (const absl::Status opened = cursor.Open(); !opened.ok()) {
    return Json{{"state", "unusable"}, {"reason", ToStd(opened.message())}};
  }
  Json fields = Json::array();
  for (const std::string_view field : cursor.index().fields) {
    fields.push_back(ToText(field, hex ? TextForm::kHex : TextForm::kEscaped));
  }
  return Json{{"state", "ok"},
              {"fields", std::move(fields)},
              {"groups", properties.num_signatures},
              {"blocks", cursor.index().blocks.size()},
              {"bytes", properties.signature_bytes},
              {"index_bytes", properties.signature_index_bytes}};
}

Json PropertiesAsJson(const SstableProperties& properties, bool hex) {
  Json json = {{"entries", properties.num_entries},
               {"puts", properties.num_puts},
               {"deletions", properties.num_deletions},
               {"raw_key_bytes", properties.raw_key_bytes},
               {"raw_value_bytes", properties.raw_value_bytes},
               {"data_blocks", properties.num_data_blocks},
               {"data_bytes", properties.data_bytes},
               {"index_bytes", properties.index_bytes},
               {"index_partitions", properties.index_partitions}};
  AddBytes(&json, "smallest_key", properties.smallest_user_key, hex);
  AddBytes(&json, "largest_key", properties.largest_user_key, hex);
  json["smallest_sequence"] = properties.smallest_sequence;
  json["largest_sequence"] = properties.largest_sequence;
  json["comparator"] = properties.comparator_name;
  if (properties.key_hash_bytes > 0) json["key_hash_bytes"] = properties.key_hash_bytes;
  if (properties.num_merges > 0) json["merges"] = properties.num_merges;
  if (properties.num_range_deletions > 0) {
    json["range_deletions"] = properties.num_range_deletions;
  }
  if (!properties.merge_operator_name.empty()) {
    AddBytes(&json, "merge_operator", properties.merge_operator_name, /*hex=*/false);
  }
  json["compression"] = CompressionName(properties.compression);
  AddBytes(&json, "column_family", properties.column_family_name, /*hex=*/false);
  json["column_family_id"] = properties.column_family_id;
  json["level_at_creation"] = properties.level_at_creation;
  json["creation_time_seconds"] = properties.creation_time_seconds;
  if (properties.is_external) json["external"] = true;
  if (properties.write_times.num_entries > 0) {
    json["with_write_time"] = properties.write_times.num_entries;
    json["oldest_write_time"] = TimeText(properties.write_times.oldest);
    json["newest_write_time"] = TimeText(properties.write_times.newest);
  }
  return json;
}

// "name  value" lines of a flat JSON object, the values of text members without quotes.
std::string AsTable(const Json& object) {
  std::string table;
  for (const auto& [name, value] : object.items()) {
    const std::string text =
        value.is_string() ? ToText(value.get<std::string>(), TextForm::kEscaped) : value.dump();
    absl::StrAppendFormat(&table, "  %-22s %s\n", name, text);
  }
  return table;
}

Json BlockAsJson(const SstableBlockInfo& block, bool hex) {
  Json json = {{"kind", BlockKindName(block.kind)},
               {"offset", block.offset},
               {"stored_bytes", block.stored_bytes},
               {"bytes", block.contents_bytes},
               {"compression", CompressionName(block.compression)},
               {"entries", block.num_entries}};
  if (block.kind == SstableBlockInfo::Kind::kData && IsInternalKey(block.first_key) &&
      IsInternalKey(block.last_key)) {
    AddBytes(&json, "first_key", UserKey(block.first_key), hex);
    AddBytes(&json, "last_key", UserKey(block.last_key), hex);
  }
  return json;
}

std::string BlockAsLine(const SstableBlockInfo& block, TextForm form) {
  std::string line =
      absl::StrFormat("  %12d  %-15s %10d %10d  %-6s %8d", block.offset, BlockKindName(block.kind),
                      block.stored_bytes, block.contents_bytes, CompressionName(block.compression),
                      block.num_entries);
  if (block.kind == SstableBlockInfo::Kind::kData && IsInternalKey(block.first_key) &&
      IsInternalKey(block.last_key)) {
    absl::StrAppend(&line, "  ", ToText(UserKey(block.first_key), form), " .. ",
                    ToText(UserKey(block.last_key), form));
  }
  return line;
}

// Prints one table in one of the two forms.
class SstPrinter {
 public:
  SstPrinter(const Arguments& arguments, Output& output)
      : json_(arguments.Has("json")),
        hex_(arguments.Has("hex")),
        keys_(arguments.Has("keys")),
        blocks_(arguments.Has("blocks")),
        output_(output) {}

  absl::Status Print(const SstableReader& table) {
    WINNOW_ASSIGN_OR_RETURN(const SstableProperties stored, table.ReadProperties());
    Json properties = PropertiesAsJson(stored, hex_);
    Json filter = FilterAsJson(table, stored);
    Json range_filter = RangeFilterAsJson(table);
    if (json_) {
      Json json = {{"file", table.path()},
                   {"file_id", absl::StrFormat("%016x", table.file_id())},
                   {"database_id", absl::StrFormat("%016x", stored.hash_seed)},
                   {"file_bytes", table.file_bytes()},
                   {"properties", std::move(properties)},
                   {"filter", std::move(filter)},
                   {"range_filter", std::move(range_filter)}};
      if (table.has_signatures()) json["signatures"] = SignaturesAsJson(table, stored, hex_);
      if (blocks_) WINNOW_RETURN_IF_ERROR(AddBlocks(table, &json));
      output_.Write(ToLine(json));
    } else {
      output_.Line(absl::StrFormat("%s: %d bytes, identity %016x, database %016x", table.path(),
                                   table.file_bytes(), table.file_id(), stored.hash_seed));
      output_.Line("Properties:");
      output_.Write(AsTable(properties));
      output_.Line("Filter:");
      output_.Write(AsTable(filter));
      if (table.range_filter() != nullptr) {
        output_.Line("Range filter:");
        output_.Write(AsTable(range_filter));
      }
      if (table.has_signatures()) {
        output_.Line("Signatures:");
        output_.Write(AsTable(SignaturesAsJson(table, stored, hex_)));
      }
      if (blocks_) WINNOW_RETURN_IF_ERROR(PrintBlocks(table));
    }
    if (!keys_) return absl::OkStatus();
    WINNOW_RETURN_IF_ERROR(PrintKeys(table));
    PrintRangeDeletions(table);
    return absl::OkStatus();
  }

 private:
  TextForm form() const { return hex_ ? TextForm::kHex : TextForm::kEscaped; }

  absl::Status AddBlocks(const SstableReader& table, Json* json) {
    Json blocks = Json::array();
    WINNOW_RETURN_IF_ERROR(table.ForEachBlock(
        [&](const SstableBlockInfo& block) { blocks.push_back(BlockAsJson(block, hex_)); }));
    (*json)["blocks"] = std::move(blocks);
    return absl::OkStatus();
  }

  absl::Status PrintBlocks(const SstableReader& table) {
    output_.Line("Blocks:");
    output_.Line(absl::StrFormat("  %12s  %-15s %10s %10s  %-6s %8s  %s", "offset", "kind",
                                 "stored", "bytes", "codec", "entries", "first .. last key"));
    return table.ForEachBlock(
        [&](const SstableBlockInfo& block) { output_.Line(BlockAsLine(block, form())); });
  }

  absl::Status PrintKeys(const SstableReader& table) {
    SstableReadOptions options;
    options.fill_cache = false;
    const std::unique_ptr<SstableIterator> entry = table.NewIterator(options);
    if (!json_) output_.Line("Entries (sequence, type, key, bytes of value):");
    for (entry->SeekToFirst(); entry->Valid() && output_.ok(); entry->Next()) {
      const std::string_view key = entry->key();
      const std::string_view type = EntryTypeName(Type(key));
      const bool has_time = Type(key) == EntryType::kPutWithTime && HasWriteTime(entry->value());
      const std::string written = has_time ? TimeText(WriteTime(entry->value())) : "";
      const size_t value_bytes = entry->value().size() - (has_time ? kWriteTimeBytes : 0);
      if (json_) {
        Json json = Json::object();
        AddBytes(&json, "key", UserKey(key), hex_);
        json["sequence"] = Sequence(key);
        json["type"] = type;
        json["value_bytes"] = value_bytes;
        if (has_time) json["written"] = written;
        output_.Write(ToLine(json));
      } else {
        output_.Line(absl::StrFormat("  %10d  %-6s  %s  %d%s%s", Sequence(key), type,
                                     ToText(UserKey(key), form()), value_bytes,
                                     has_time ? "  written " : "", written));
      }
    }
    return entry->status();
  }

  // One for each sequence number of each part of the key space.
  void PrintRangeDeletions(const SstableReader& table) {
    std::vector<RangeTombstone> tombstones;
    table.AppendRangeTombstones(&tombstones);
    if (tombstones.empty()) return;
    if (!json_) output_.Line("Range deletions (sequence, first key, key behind the last):");
    for (const RangeTombstone& tombstone : tombstones) {
      if (json_) {
        Json json = Json::object();
        AddBytes(&json, "key", tombstone.begin, hex_);
        AddBytes(&json, "end", tombstone.end, hex_);
        json["sequence"] = tombstone.sequence;
        json["type"] = EntryTypeName(EntryType::kRangeDelete);
        output_.Write(ToLine(json));
      } else {
        output_.Line(absl::StrFormat("  %10d  %s .. %s", tombstone.sequence,
                                     ToText(tombstone.begin, form()),
                                     ToText(tombstone.end, form())));
      }
    }
  }

  const bool json_;
  const bool hex_;
  const bool keys_;
  const bool blocks_;
  Output& output_;
};

// A table that is found in --db, or null if it is none yet or no longer: being written, or removed
// since the directory was listed. What the manifest names must be whole.
absl::StatusOr<std::unique_ptr<SstableReader>> OpenListed(const std::string& directory,
                                                          const std::string& path) {
  for (int tries = 3;; tries--) {
    absl::StatusOr<std::unique_ptr<SstableReader>> table = OpenSstable(path);
    if (table.ok() || !(absl::IsNotFound(table.status()) || absl::IsDataLoss(table.status()))) {
      return table;
    }
    if (!IsNamedByManifest(directory, path)) return std::unique_ptr<SstableReader>();
    if (tries <= 1) return table;  // named before it was opened once more
  }
}

absl::StatusOr<ExitCode> RunSst(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                          FilesToShow(arguments, FileType::kSstable));
  SstPrinter printer(arguments, output);
  const std::string directory = arguments.Text("db").value_or("");
  bool any = false;
  for (size_t i = 0; i < paths.size() && output.ok(); i++) {
    WINNOW_ASSIGN_OR_RETURN(
        const std::unique_ptr<SstableReader> table,
        directory.empty() ? OpenSstable(paths[i]) : OpenListed(directory, paths[i]));
    if (table == nullptr) continue;
    if (any && !arguments.Has("json")) output.Line("");
    any = true;
    WINNOW_RETURN_IF_ERROR(printer.Print(*table));
  }
  return ExitCode::kOk;
}

}  // namespace

Command SstCommand() {
  return {
      .name = "sst",
      .positionals = {"[FILE...]", 0, kAnyNumber},
      .database = DatabaseUse::kFiles,
      .summary =
          "show SSTables: properties, filter with its expected and sampled FPR, blocks, keys",
      .details = R"(
Without FILE every SSTable in --db. The sampled FPR is the share of a million random hashes
that the filter lets through. Checksums of what is read are verified.)",
      .json = R"(
one line per file: file, file_id, database_id, file_bytes, properties, filter, range_filter,
signatures (if it has any), blocks (--blocks); with --keys then one line per entry: key, sequence, type, value_bytes, and
written, the time, where a value has one; and one per range deletion: key, end, sequence, type)",
      .examples = R"(
  winnow sst --db=/tmp/fruit
  winnow sst /tmp/fruit/000007.sst --blocks --keys)",
      .flags = {{"keys", "", "list every entry and range deletion"},
                {"blocks", "", "list every block"}},
      .run = RunSst,
  };
}

}  // namespace winnow::cli
