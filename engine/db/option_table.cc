// One row for each option: what a text does to it, its text, and when it may change.
//
// Pointers have no row, nor have the settings of families by name, since text can give neither.
#include "engine/db/option_table.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "engine/base/number_text.h"
#include "engine/base/status.h"
#include "filter/base/nearest_name.h"
#include "filter/base/shown_text.h"
#include "winnow/merge_operator.h"

namespace winnow {

namespace {

absl::Status BadValue(std::string_view name, std::string_view value, std::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("option ", ToAbsl(name), ": '", ShownText(value), "' is not ", ToAbsl(wanted)));
}

// The owner is a parameter since a field may be one of Options or of the struct that it derives
// from.
template <typename Owner, typename T>
TextOption BytesOption(std::string_view name, T Owner::*field) {
  return {.name = name,
          .set = [=](Options* options, std::string_view value) -> absl::Status {
            uint64_t bytes;
            if (!ParseByteCount(value, &bytes)) {
              return BadValue(name, value, "a number of bytes such as 4096, 64K or 1G");
            }
            options->*field = static_cast<T>(bytes);
            return absl::OkStatus();
          },
          .get = [=](const Options& options) { return ByteCountText(options.*field); }};
}
template <typename Owner>
TextOption IntOption(std::string_view name, int Owner::*field) {
  return {.name = name,
          .set = [=](Options* options, std::string_view value) -> absl::Status {
            int number;
            if (!absl::SimpleAtoi(ToAbsl(value), &number)) {
              return BadValue(name, value, "a whole number");
            }
            options->*field = number;
            return absl::OkStatus();
          },
          .get = [=](const Options& options) { return absl::StrCat(options.*field); }};
}
// The shortest text that is read back as the same number.
template <typename Owner>
TextOption RealOption(std::string_view name, double Owner::*field) {
  return {.name = name,
          .set = [=](Options* options, std::string_view value) -> absl::Status {
            double number;
            // Takes "nan" and "inf" too, which are outside of every range.
            if (!absl::SimpleAtod(ToAbsl(value), &number)) return BadValue(name, value, "a number");
            options->*field = number;
            return absl::OkStatus();
          },
          .get = [=](const Options& options) -> std::string {
            std::array<char, 32> text;
            const auto end = std::to_chars(text.begin(), text.end(), options.*field).ptr;
            return std::string(text.begin(), end);
          }};
}
// Two spellings of each and no more: anything else is more likely a slip than a wish.
template <typename Owner>
TextOption BoolOption(std::string_view name, bool Owner::*field) {
  return {.name = name,
          .set = [=](Options* options, std::string_view value) -> absl::Status {
            if (value == "true" || value == "1") {
              options->*field = true;
            } else if (value == "false" || value == "0") {
              options->*field = false;
            } else {
              return BadValue(name, value, "true or false");
            }
            return absl::OkStatus();
          },
          .get = [=](const Options& options) -> std::string {
            return options.*field ? "true" : "false";
          }};
}
// Whether a spec fits the comparator is seen when the database is opened.
template <typename Owner>
TextOption StringOption(std::string_view name, std::string Owner::*field) {
  return {.name = name,
          .set =
              [=](Options* options, std::string_view value) {
                options->*field = std::string(value);
                return absl::OkStatus();
              },
          .get = [=](const Options& options) { return options.*field; }};
}

// Of a field that has no value.
constexpr std::string_view kUnset = "unset";

// All or nothing: the levels are replaced only once every part has been understood. An empty part
// is none, so that there is no empty list, which would mean `compression` for all levels, but by
// its own word.
absl::Status SetCompressionPerLevel(Options* options, std::string_view value) {
  std::vector<Compression> levels;
  if (value == kUnset) {
    options->compression_per_level.clear();
    return absl::OkStatus();
  }
  // More parts than there are levels are refused by the check of ranges.
  for (const absl::string_view part : absl::StrSplit(ToAbsl(value), ':')) {
    const absl::StatusOr<Compression> compression = ParseCompression(ToStd(part));
    if (!compression.ok()) {
      return BadValue("compression_per_level", value, "unset or a list such as none:lz4:zstd");
    }
    levels.push_back(*compression);
  }
  options->compression_per_level = std::move(levels);
  return absl::OkStatus();
}

std::string CompressionPerLevelText(const Options& options) {
  if (options.compression_per_level.empty()) return std::string(kUnset);
  return absl::StrJoin(options.compression_per_level, ":",
                       [](std::string* out, Compression compression) {
                         absl::StrAppend(out, ToAbsl(CompressionName(compression)));
                       });
}

absl::Status SetCompression(Options* options, std::string_view value) {
  const absl::StatusOr<Compression> compression = ParseCompression(value);
  if (!compression.ok()) return WithContext(compression.status(), "option compression");
  options->compression = *compression;
  return absl::OkStatus();
}

// Text can name the built-in operators alone; one of the user's own is given as a pointer.
absl::Status SetMergeOperator(Options* options, std::string_view value) {
  if (value == "none") {
    options->merge_operator = nullptr;
    return absl::OkStatus();
  }
  auto parsed = ParseMergeOperator(value);
  if (!parsed.ok()) return WithContext(parsed.status(), "option merge_operator");
  options->merge_operator = *std::move(parsed);
  return absl::OkStatus();
}

// Of an operator of the user's this is a name that the setter does not take: for people, and never
// recorded as text.
std::string MergeOperatorText(const Options& options) {
  return options.merge_operator == nullptr ? "none" : std::string(options.merge_operator->Name());
}

absl::Status SetCompaction(Options* options, std::string_view value) {
  const absl::StatusOr<CompactionStyle> style = ParseCompactionStyle(value);
  if (!style.ok()) {
    return BadValue("compaction", value, "leveled, lazy_leveled, tiered or fifo:BYTES");
  }
  options->compaction = *style;
  return absl::OkStatus();
}

// Not a row like the others: the field is empty until it is set, and 0 is a setting.
absl::Status SetInfoLogBytes(Options* options, std::string_view value) {
  uint64_t bytes;
  if (value == kUnset) {
    options->info_log_bytes.reset();
    return absl::OkStatus();
  }
  if (!ParseByteCount(value, &bytes)) {
    return BadValue("info_log_bytes", value, "unset or a number of bytes such as 0, 64K or 1M");
  }
  options->info_log_bytes = bytes;
  return absl::OkStatus();
}

std::string InfoLogBytesText(const Options& options) {
  return options.info_log_bytes.has_value() ? ByteCountText(*options.info_log_bytes)
                                            : std::string(kUnset);
}

// Likewise.
absl::Status SetTtlSeconds(Options* options, std::string_view value) {
  uint64_t seconds;
  if (value == kUnset) {
    options->ttl_seconds.reset();
    return absl::OkStatus();
  }
  if (!absl::SimpleAtoi(ToAbsl(value), &seconds)) {
    return BadValue("ttl_seconds", value,
                    absl::StrCat("a whole number of seconds, 0 - ", kMaxTtlSeconds));
  }
  options->ttl_seconds = seconds;
  return absl::OkStatus();
}

std::string TtlSecondsText(const Options& options) {
  return options.ttl_seconds.has_value() ? absl::StrCat(*options.ttl_seconds) : std::string(kUnset);
}

absl::Status SetRecoveryMode(Options* options, std::string_view value) {
  if (value == "strict") {
    options->recovery_mode = RecoveryMode::kStrict;
  } else if (value == "point_in_time") {
    options->recovery_mode = RecoveryMode::kPointInTime;
  } else if (value == "salvage") {
    options->recovery_mode = RecoveryMode::kSalvage;
  } else {
    return BadValue("recovery_mode", value, "strict, point_in_time or salvage");
  }
  return absl::OkStatus();
}

std::string RecoveryModeText(const Options& options) {
  switch (options.recovery_mode) {
    case RecoveryMode::kStrict:
      return "strict";
    case RecoveryMode::kPointInTime:
      return "point_in_time";
    case RecoveryMode::kSalvage:
      break;
  }
  return "salvage";
}

using Change = OptionChange;
using Record = TextOption::Record;

// How a row is classed is said by the function around it, so that the tables below can be read by
// columns: a family's option changes while the database is open unless the row says otherwise, one
// of the database says when it may, and one of an opening is neither recorded nor changed.
TextOption Classed(TextOption option, bool is_family, Change change, Record record) {
  option.is_of_family = is_family;
  option.change = change;
  option.record = record;
  return option;
}
TextOption Family(TextOption option, Change change = Change::kWhileOpen,
                  Record record = Record::kAsText) {
  return Classed(std::move(option), true, change, record);
}
TextOption Database(TextOption option, Change change, Record record = Record::kAsText) {
  return Classed(std::move(option), false, change, record);
}
TextOption Opening(TextOption option) {
  return Database(std::move(option), Change::kAtOpening, Record::kNot);
}

// The order is that of OptionNames, and so of what tools list.
std::vector<TextOption> FamilyRows() {
  using O = Options;
  return {
      Family(StringOption("filter", &O::filter), Change::kWhileOpen, Record::kInOwnField),
      Family(StringOption("filter_key", &O::filter_key), Change::kWhileOpen, Record::kInOwnField),
      // Operands that are there would mean something else by another operator.
      Family({"merge_operator", SetMergeOperator, MergeOperatorText}, Change::kNever,
             Record::kInOwnField),
      Family({"ttl_seconds", SetTtlSeconds, TtlSecondsText}, Change::kWhileOpen,
             Record::kInOwnField),
      Family({"compression", SetCompression,
              [](const O& options) { return std::string(CompressionName(options.compression)); }}),
      Family({"compression_per_level", SetCompressionPerLevel, CompressionPerLevelText}),
      Family(IntOption("zstd_level", &O::zstd_level)),
      Family(BytesOption("write_buffer_bytes", &O::write_buffer_bytes)),
      Family(IntOption("max_write_buffers", &O::max_write_buffers)),
      Family(RealOption("memtable_filter_ratio", &O::memtable_filter_ratio)),
      Family(RealOption("key_hashes_ratio", &O::key_hashes_ratio)),
      Family(BytesOption("block_bytes", &O::block_bytes)),
      Family(IntOption("block_restart_interval", &O::block_restart_interval)),
      Family({"compaction", SetCompaction,
              [](const O& options) { return options.compaction.ToString(); }}),
      Family(BytesOption("target_file_bytes", &O::target_file_bytes)),
      Family(IntOption("level0_compaction_trigger", &O::level0_compaction_trigger)),
      Family(IntOption("level0_slowdown_trigger", &O::level0_slowdown_trigger)),
      Family(IntOption("level0_stop_trigger", &O::level0_stop_trigger)),
      Family(BytesOption("level_base_bytes", &O::level_base_bytes)),
      Family(RealOption("level_size_multiplier", &O::level_size_multiplier)),
      Family(BoolOption("disable_auto_compactions", &O::disable_auto_compactions)),
      // Compactions that run may be dropping deletions already that it would have to keep.
      Family(BoolOption("allow_ingest_behind", &O::allow_ingest_behind), Change::kAtOpening),
  };
}

std::vector<TextOption> DatabaseRows() {
  using O = Options;
  return {
      Opening(BoolOption("create_if_missing", &O::create_if_missing)),
      Opening(BoolOption("error_if_exists", &O::error_if_exists)),
      Opening(BoolOption("read_only", &O::read_only)),
      Database(BytesOption("block_cache_bytes", &O::block_cache_bytes), Change::kWhileOpen),
      Database(BytesOption("row_cache_bytes", &O::row_cache_bytes), Change::kWhileOpen),
      Database(IntOption("row_cache_ttl_seconds", &O::row_cache_ttl_seconds), Change::kWhileOpen),
      // Readers of tables are made by it, and would all have to be opened anew.
      Database(BoolOption("charge_filters_to_cache", &O::charge_filters_to_cache),
               Change::kAtOpening),
      Database(BytesOption("filter_memory_budget", &O::filter_memory_budget), Change::kWhileOpen),
      Database(BoolOption("optimize_filters_for_hits", &O::optimize_filters_for_hits),
               Change::kAtOpening),
      Database(BytesOption("db_write_buffer_bytes", &O::db_write_buffer_bytes), Change::kWhileOpen),
      Database(BytesOption("compaction_readahead_bytes", &O::compaction_readahead_bytes),
               Change::kWhileOpen),
      Database(BytesOption("background_bytes_per_second", &O::background_bytes_per_second),
               Change::kWhileOpen),
      Database(IntOption("background_threads", &O::background_threads), Change::kWhileOpen),
      Database(IntOption("max_open_files", &O::max_open_files), Change::kWhileOpen),
      // As charge_filters_to_cache: a reader is made for one way of reading.
      Database(BoolOption("mmap_reads", &O::mmap_reads), Change::kAtOpening),
      Database(BoolOption("io_uring_reads", &O::io_uring_reads), Change::kAtOpening),
      Opening({"recovery_mode", SetRecoveryMode, RecoveryModeText}),
      Database(BytesOption("max_log_bytes", &O::max_log_bytes), Change::kWhileOpen),
      Database({"info_log_bytes", SetInfoLogBytes, InfoLogBytesText}, Change::kWhileOpen),
      Database(IntOption("info_log_files", &O::info_log_files), Change::kWhileOpen),
      Database(BoolOption("verify_compaction_checksums", &O::verify_compaction_checksums),
               Change::kWhileOpen),
  };
}

}  // namespace

// The one list of names: setting, listing and the search for the nearest name all go by it. Never
// destroyed: static objects may use it at any time.
const std::vector<TextOption>& TextOptions() {
  static const auto& options = *new std::vector<TextOption>([] {
    std::vector<TextOption> rows = FamilyRows();
    for (TextOption& row : DatabaseRows()) rows.push_back(std::move(row));
    return rows;
  }());
  return options;
}

absl::StatusOr<const TextOption*> FindTextOption(std::string_view name) {
  // Some forty rows: a walk, as names are looked up a few times in the life of a database.
  for (const TextOption& option : TextOptions()) {
    if (option.name == name) return &option;
  }
  // The comparison takes time with the length, and what is this long is no slip of the finger.
  constexpr size_t kLongestSlip = 64;
  if (name.size() > kLongestSlip) {
    return absl::InvalidArgumentError(absl::StrCat("there is no option '", ShownText(name),
                                                   "', a name of ", name.size(), " bytes"));
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no option '", ToAbsl(name),
                                                 "'; the nearest is '",
                                                 ToAbsl(NearestName(name, OptionNames())), "'"));
}

}  // namespace winnow
