// Text forms of options.
//
// A text form is checked for being one, and for its range, when it is set. Options come one at a
// time and in any order, so that nothing can be said yet about how they fit together: that is
// checked when the database is opened (options.cc).
#include <functional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "engine/base/number_text.h"
#include "engine/base/status.h"
#include "engine/db/option_checks.h"
#include "filter/base/nearest_name.h"
#include "winnow/merge_operator.h"
#include "winnow/options.h"

namespace winnow {

namespace {

absl::Status BadValue(std::string_view name, std::string_view value, std::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("option ", ToAbsl(name), ": '", ToAbsl(value), "' is not ", ToAbsl(wanted)));
}

// One row of the table: a name and what a text does to the options. A setter that fails has changed
// nothing.
struct TextOption {
  std::string_view name;
  std::function<absl::Status(Options*, std::string_view)> set;
};

// The owner is a parameter since a field may be one of Options or of the struct that it derives
// from.
template <typename Owner, typename T>
TextOption BytesOption(std::string_view name, T Owner::*field) {
  return {name, [=](Options* options, std::string_view value) -> absl::Status {
            uint64_t bytes;
            if (!ParseByteCount(value, &bytes)) {
              return BadValue(name, value, "a number of bytes such as 4096, 64K or 1G");
            }
            options->*field = static_cast<T>(bytes);
            return absl::OkStatus();
          }};
}
template <typename Owner>
TextOption IntOption(std::string_view name, int Owner::*field) {
  return {name, [=](Options* options, std::string_view value) -> absl::Status {
            int number;
            if (!absl::SimpleAtoi(ToAbsl(value), &number)) {
              return BadValue(name, value, "a whole number");
            }
            options->*field = number;
            return absl::OkStatus();
          }};
}
template <typename Owner>
TextOption RealOption(std::string_view name, double Owner::*field) {
  return {name, [=](Options* options, std::string_view value) -> absl::Status {
            double number;
            if (!absl::SimpleAtod(ToAbsl(value), &number)) return BadValue(name, value, "a number");
            options->*field = number;
            return absl::OkStatus();
          }};
}
// Two spellings of each and no more: anything else is more likely a slip than a wish.
template <typename Owner>
TextOption BoolOption(std::string_view name, bool Owner::*field) {
  return {name, [=](Options* options, std::string_view value) -> absl::Status {
            if (value == "true" || value == "1") {
              options->*field = true;
            } else if (value == "false" || value == "0") {
              options->*field = false;
            } else {
              return BadValue(name, value, "true or false");
            }
            return absl::OkStatus();
          }};
}
// Whether a spec fits the comparator is seen when the database is opened.
template <typename Owner>
TextOption StringOption(std::string_view name, std::string Owner::*field) {
  return {name, [=](Options* options, std::string_view value) {
            options->*field = std::string(value);
            return absl::OkStatus();
          }};
}

// All or nothing: the levels are replaced only once every part has been understood. An empty part
// is none, so that there is no empty list, which would mean `compression` for all levels.
absl::Status SetCompressionPerLevel(Options* options, std::string_view value) {
  std::vector<Compression> levels;
  for (const absl::string_view part : absl::StrSplit(ToAbsl(value), ':')) {
    const absl::StatusOr<Compression> compression = ParseCompression(ToStd(part));
    if (!compression.ok()) {
      return BadValue("compression_per_level", value, "a list such as none:lz4:zstd");
    }
    levels.push_back(*compression);
  }
  options->compression_per_level = std::move(levels);
  return absl::OkStatus();
}

absl::Status SetCompression(Options* options, std::string_view value) {
  WINNOW_ASSIGN_OR_RETURN(options->compression, ParseCompression(value));
  return absl::OkStatus();
}

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
  if (!ParseByteCount(value, &bytes)) {
    return BadValue("info_log_bytes", value, "a number of bytes such as 0, 64K or 1M");
  }
  options->info_log_bytes = bytes;
  return absl::OkStatus();
}

// Likewise.
absl::Status SetTtlSeconds(Options* options, std::string_view value) {
  uint64_t seconds;
  if (!absl::SimpleAtoi(ToAbsl(value), &seconds)) {
    return BadValue("ttl_seconds", value,
                    absl::StrCat("a whole number of seconds, 0 - ", kMaxTtlSeconds));
  }
  options->ttl_seconds = seconds;
  return absl::OkStatus();
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

// The one list of names: setting, listing and the search for the nearest name all go by it.
// Pointers are not in it, nor the settings of families by name, since text can give neither. Never
// destroyed: static objects may use it at any time.
const std::vector<TextOption>& TextOptions() {
  static const auto& options = *new std::vector<TextOption>{
      StringOption("filter", &Options::filter),
      StringOption("filter_key", &Options::filter_key),
      {"merge_operator", SetMergeOperator},
      {"ttl_seconds", SetTtlSeconds},
      {"compression", SetCompression},
      {"compression_per_level", SetCompressionPerLevel},
      IntOption("zstd_level", &Options::zstd_level),
      BytesOption("write_buffer_bytes", &Options::write_buffer_bytes),
      IntOption("max_write_buffers", &Options::max_write_buffers),
      RealOption("memtable_filter_ratio", &Options::memtable_filter_ratio),
      BytesOption("block_bytes", &Options::block_bytes),
      IntOption("block_restart_interval", &Options::block_restart_interval),
      {"compaction", SetCompaction},
      BytesOption("target_file_bytes", &Options::target_file_bytes),
      IntOption("level0_compaction_trigger", &Options::level0_compaction_trigger),
      IntOption("level0_slowdown_trigger", &Options::level0_slowdown_trigger),
      IntOption("level0_stop_trigger", &Options::level0_stop_trigger),
      BytesOption("level_base_bytes", &Options::level_base_bytes),
      RealOption("level_size_multiplier", &Options::level_size_multiplier),
      BoolOption("disable_auto_compactions", &Options::disable_auto_compactions),
      BoolOption("allow_ingest_behind", &Options::allow_ingest_behind),
      BoolOption("create_if_missing", &Options::create_if_missing),
      BoolOption("error_if_exists", &Options::error_if_exists),
      BoolOption("read_only", &Options::read_only),
      BytesOption("block_cache_bytes", &Options::block_cache_bytes),
      BoolOption("charge_filters_to_cache", &Options::charge_filters_to_cache),
      BytesOption("db_write_buffer_bytes", &Options::db_write_buffer_bytes),
      BytesOption("compaction_readahead_bytes", &Options::compaction_readahead_bytes),
      BytesOption("background_bytes_per_second", &Options::background_bytes_per_second),
      IntOption("background_threads", &Options::background_threads),
      IntOption("max_open_files", &Options::max_open_files),
      BoolOption("mmap_reads", &Options::mmap_reads),
      {"recovery_mode", SetRecoveryMode},
      BytesOption("max_log_bytes", &Options::max_log_bytes),
      {"info_log_bytes", SetInfoLogBytes},
      IntOption("info_log_files", &Options::info_log_files),
      BoolOption("verify_compaction_checksums", &Options::verify_compaction_checksums),
  };
  return options;
}

// On options of its own, so that nothing is changed by a value that is refused. Their triggers of
// level 0 are the smallest: those that bound this one may be set later.
absl::Status CheckAlone(const TextOption& option, std::string_view value) {
  Options alone;
  alone.level0_compaction_trigger = alone.level0_slowdown_trigger = alone.level0_stop_trigger = 1;
  WINNOW_RETURN_IF_ERROR(option.set(&alone, value));
  return CheckField(alone, option.name);
}

}  // namespace

std::vector<std::string_view> OptionNames() {
  std::vector<std::string_view> names;
  for (const TextOption& option : TextOptions()) names.push_back(option.name);
  return names;
}

absl::Status SetOption(Options* options, std::string_view name, std::string_view value) {
  for (const TextOption& option : TextOptions()) {
    if (option.name != name) continue;
    WINNOW_RETURN_IF_ERROR(CheckAlone(option, value));
    return option.set(options, value);
  }
  // The comparison takes time with the length, and what is this long is no slip of the finger.
  constexpr size_t kLongestSlip = 64;
  if (name.size() > kLongestSlip) {
    return absl::InvalidArgumentError(absl::StrCat("there is no option '",
                                                   ToAbsl(name.substr(0, kLongestSlip)),
                                                   "...', a name of ", name.size(), " bytes"));
  }
  std::vector<std::string_view> names;
  for (const TextOption& option : TextOptions()) names.push_back(option.name);
  return absl::InvalidArgumentError(absl::StrCat("there is no option '", ToAbsl(name),
                                                 "'; the nearest is '",
                                                 ToAbsl(NearestName(name, names)), "'"));
}

}  // namespace winnow
