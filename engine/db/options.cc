// Ranges of every option, and their text forms.
//
// Two layers, which look at different things. A text form is checked for being one when it is set:
// options come one at a time and in any order, so that nothing can be said yet about how they fit
// together. Ranges, and whether fields fit each other, are checked once, when the database is
// opened; who fills the struct directly passes the same check. Everything behind Open relies on it
// and checks nothing again.
#include "winnow/options.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "engine/base/status.h"
#include "engine/column_family/column_family_state.h"
#include "engine/db/option_checks.h"
#include "engine/file_system/descriptor_limit.h"
#include "engine/file_system/file_system_of.h"
#include "filter/base/nearest_name.h"
#include "winnow/event_listener.h"
#include "winnow/filter_policy.h"

namespace winnow {

namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kTiB = uint64_t{1} << 40;

// Collects the first violation.
// Only the first: those after it often follow from it, and one at a time can be put right.
class Checker {
 public:
  explicit Checker(std::string_view family) : family_(family) {}

  // Written so that a floating-point number that is none, NaN, is outside every range.
  template <typename T>
  void Range(std::string_view field, T value, T low, T high) {
    if (value >= low && value <= high) return;
    Fail(field, absl::StrCat(value, " is outside ", low, " - ", high));
  }
  // Names the field as it stands in the struct, and the family where it is not the default one,
  // whose fields are those of Options itself.
  void Fail(std::string_view field, std::string_view reason) {
    if (!status_.ok()) return;
    const std::string where = family_.empty() || family_ == "default"
                                  ? ""
                                  : absl::StrCat("column family '", ToAbsl(family_), "': ");
    status_ = absl::InvalidArgumentError(
        absl::StrCat("options: ", where, ToAbsl(field), ": ", ToAbsl(reason)));
  }
  const absl::Status& status() const { return status_; }

 private:
  const std::string_view family_;
  absl::Status status_;
};

// --- Text forms ---

absl::Status BadValue(std::string_view name, std::string_view value, std::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("option ", ToAbsl(name), ": '", ToAbsl(value), "' is not ", ToAbsl(wanted)));
}

// Powers of 1024, the letter in either case, with or without "iB"; no sign, no fraction and no
// space. A number that would overflow is refused rather than cut.
bool ParseBytes(std::string_view text, uint64_t* bytes) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *bytes);
  if (error != std::errc()) return false;
  std::string_view suffix(end, static_cast<size_t>(text.data() + text.size() - end));
  if (suffix.ends_with("iB")) suffix.remove_suffix(2);
  if (suffix.empty() || suffix == "B") return true;
  if (suffix.size() != 1) return false;
  const size_t power = std::string_view("KMGT").find(static_cast<char>(suffix[0] & ~0x20));
  if (power == std::string_view::npos) return false;
  const unsigned shift = 10 * (static_cast<unsigned>(power) + 1);
  if (*bytes > (UINT64_MAX >> shift)) return false;
  *bytes <<= shift;
  return true;
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
            if (!ParseBytes(value, &bytes)) {
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
// Specs are parsed when the database is opened, together with the comparator that they must fit.
template <typename Owner>
TextOption StringOption(std::string_view name, std::string Owner::*field) {
  return {name, [=](Options* options, std::string_view value) {
            options->*field = std::string(value);
            return absl::OkStatus();
          }};
}

// All or nothing: the levels are replaced only once every part has been understood.
absl::Status SetCompressionPerLevel(Options* options, std::string_view value) {
  std::vector<Compression> levels;
  for (const absl::string_view part : absl::StrSplit(ToAbsl(value), ':', absl::SkipEmpty())) {
    WINNOW_ASSIGN_OR_RETURN(const Compression compression, ParseCompression(ToStd(part)));
    levels.push_back(compression);
  }
  options->compression_per_level = std::move(levels);
  return absl::OkStatus();
}

absl::Status SetCompression(Options* options, std::string_view value) {
  WINNOW_ASSIGN_OR_RETURN(options->compression, ParseCompression(value));
  return absl::OkStatus();
}

// Not a row like the others: the field is empty until it is set, and 0 is a setting.
absl::Status SetInfoLogBytes(Options* options, std::string_view value) {
  uint64_t bytes;
  if (!ParseBytes(value, &bytes)) {
    return BadValue("info_log_bytes", value, "a number of bytes such as 0, 64K or 1M");
  }
  options->info_log_bytes = bytes;
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
      {"compression", SetCompression},
      {"compression_per_level", SetCompressionPerLevel},
      IntOption("zstd_level", &Options::zstd_level),
      BytesOption("write_buffer_bytes", &Options::write_buffer_bytes),
      IntOption("max_write_buffers", &Options::max_write_buffers),
      RealOption("memtable_filter_ratio", &Options::memtable_filter_ratio),
      BytesOption("block_bytes", &Options::block_bytes),
      IntOption("block_restart_interval", &Options::block_restart_interval),
      BytesOption("target_file_bytes", &Options::target_file_bytes),
      IntOption("level0_compaction_trigger", &Options::level0_compaction_trigger),
      IntOption("level0_slowdown_trigger", &Options::level0_slowdown_trigger),
      IntOption("level0_stop_trigger", &Options::level0_stop_trigger),
      BytesOption("level_base_bytes", &Options::level_base_bytes),
      RealOption("level_size_multiplier", &Options::level_size_multiplier),
      BoolOption("disable_auto_compactions", &Options::disable_auto_compactions),
      BoolOption("create_if_missing", &Options::create_if_missing),
      BoolOption("error_if_exists", &Options::error_if_exists),
      BoolOption("read_only", &Options::read_only),
      BytesOption("block_cache_bytes", &Options::block_cache_bytes),
      BoolOption("charge_filters_to_cache", &Options::charge_filters_to_cache),
      BytesOption("db_write_buffer_bytes", &Options::db_write_buffer_bytes),
      BytesOption("compaction_readahead_bytes", &Options::compaction_readahead_bytes),
      IntOption("background_threads", &Options::background_threads),
      IntOption("max_open_files", &Options::max_open_files),
      {"recovery_mode", SetRecoveryMode},
      BytesOption("max_log_bytes", &Options::max_log_bytes),
      {"info_log_bytes", SetInfoLogBytes},
      IntOption("info_log_files", &Options::info_log_files),
      BoolOption("verify_compaction_checksums", &Options::verify_compaction_checksums),
  };
  return options;
}

}  // namespace

// Also for families that are created later, which pass no open.
absl::Status ValidateColumnFamilyOptions(const ColumnFamilyOptions& options,
                                         std::string_view family) {
  Checker check(family);
  if (options.comparator == nullptr) {
    check.Fail("comparator", "must not be null");
    return check.status();
  }
  // Names of comparators and policies are recorded: they must be there, and short.
  const size_t name_bytes = options.comparator->Name().size();
  check.Range<uint64_t>("comparator's name, bytes", name_bytes, 1, 255);
  if (options.filter_policy != nullptr) {
    const std::string_view policy_name = options.filter_policy->Name();
    check.Range<uint64_t>("filter_policy's name, bytes", policy_name.size(), 1, 255);
    // A file says by this name who made its filter; Winnow's own must stay tellable from a user's.
    if (policy_name.starts_with("winnow.")) {
      check.Fail("filter_policy", "names that start with 'winnow.' are reserved");
    }
  }
  check.Range<uint64_t>("compression_per_level, entries", options.compression_per_level.size(), 0,
                        static_cast<uint64_t>(kNumLevels));
  check.Range("zstd_level", options.zstd_level, 1, 22);
  check.Range<uint64_t>("write_buffer_bytes", options.write_buffer_bytes, 64 * kKiB, 16 * kGiB);
  check.Range("max_write_buffers", options.max_write_buffers, 2, 64);
  check.Range("memtable_filter_ratio", options.memtable_filter_ratio, 0.0, 0.25);
  check.Range<uint64_t>("block_bytes", options.block_bytes, 256, 16 * kMiB);
  check.Range("block_restart_interval", options.block_restart_interval, 1, 1024);
  check.Range<uint64_t>("target_file_bytes", options.target_file_bytes, 64 * kKiB, 64 * kGiB);
  check.Range("level0_compaction_trigger", options.level0_compaction_trigger, 1, 256);
  // The lower limit of each trigger is the trigger before it: writes must not slow down before
  // there is anything to compact, nor stop before they have been slowed.
  check.Range("level0_slowdown_trigger", options.level0_slowdown_trigger,
              options.level0_compaction_trigger, 1 << 20);
  check.Range("level0_stop_trigger", options.level0_stop_trigger, options.level0_slowdown_trigger,
              1 << 20);
  check.Range<uint64_t>("level_base_bytes", options.level_base_bytes, 64 * kKiB, 16 * kTiB);
  check.Range("level_size_multiplier", options.level_size_multiplier, 2.0, 100.0);
  WINNOW_RETURN_IF_ERROR(check.status());

  // The filter spec and key as they would take effect; what is empty is taken from the record.
  if (!options.filter.empty()) {
    if (auto spec = filter::ParseFilterSpec(options.filter); !spec.ok()) {
      check.Fail("filter", ToStd(spec.status().message()));
    }
  }
  if (!options.filter_key.empty()) {
    if (auto key = filter::FilterKeyExtractor::Parse(options.filter_key); !key.ok()) {
      check.Fail("filter_key", ToStd(key.status().message()));
    }
  }
  WINNOW_RETURN_IF_ERROR(check.status());
  // What is left empty counts as its default here: with an existing family the recorded settings
  // take its place, which were checked when they were recorded.
  const bool can_filter = options.comparator->EqualKeysHaveEqualBytes();
  const std::string_view filter = !options.filter.empty() ? std::string_view(options.filter)
                                                          : (can_filter ? kDefaultFilter : "none");
  const std::string_view filter_key =
      !options.filter_key.empty() ? std::string_view(options.filter_key) : kDefaultFilterKey;
  return CheckFilterFitsComparator(filter, filter_key, *options.comparator);
}

absl::Status ValidateOptions(const Options& options) {
  WINNOW_RETURN_IF_ERROR(ValidateColumnFamilyOptions(options, "default"));
  Checker check("");
  check.Range("background_threads", options.background_threads, 1, 64);
  // Zero is allowed besides the range, and means that the process's limit decides.
  if (options.max_open_files != 0) {
    check.Range("max_open_files", options.max_open_files, 16, 10'000'000);
  }
  check.Range<uint64_t>("max_log_bytes", options.max_log_bytes, kMiB, kTiB);
  check.Range<uint64_t>("block_cache_bytes", options.block_cache_bytes, 0, 16 * kTiB);
  if (options.db_write_buffer_bytes != 0) {  // 0: no bound
    check.Range<uint64_t>("db_write_buffer_bytes", options.db_write_buffer_bytes, kMiB, 16 * kTiB);
  }
  check.Range<uint64_t>("compaction_readahead_bytes", options.compaction_readahead_bytes, 64 * kKiB,
                        kGiB);
  // Zero is allowed besides the range, and means that there is no LOG.
  if (options.info_log_bytes.value_or(0) != 0) {
    check.Range<uint64_t>("info_log_bytes", *options.info_log_bytes, 4 * kKiB, kGiB);
  }
  check.Range("info_log_files", options.info_log_files, 1, 1000);
  for (const auto& listener : options.listeners) {
    if (listener == nullptr) check.Fail("listeners", "none may be null");
  }
  if (options.read_only && options.error_if_exists) {
    check.Fail("read_only", "contradicts error_if_exists");
  }
  for (const auto& [name, family] : options.column_families) {
    if (name == "default") {
      check.Fail("column_families", "'default' is set by the fields of Options itself");
    }
    WINNOW_RETURN_IF_ERROR(check.status());
    WINNOW_RETURN_IF_ERROR(ValidateColumnFamilyOptions(family, name));
  }
  return check.status();
}

// Less memory than the documented minimum counts as that minimum.
Options Options::ForMemory(size_t memory_bytes, int threads) {
  Options options;
  const uint64_t memory = std::max<uint64_t>(memory_bytes, 16 * kMiB);
  options.background_threads = std::clamp(threads, 1, 64);
  // A third for memtables, of one busy family in three buffers; a 32nd for what compactions read
  // ahead; an eighth, up to 4 MiB, for what the allocator loses between cached blocks of many
  // sizes, as filters and indexes are. The block cache has the rest.
  options.max_write_buffers = 3;
  const uint64_t buffers = memory / 3;
  options.db_write_buffer_bytes = buffers;
  options.compaction_readahead_bytes = std::clamp<uint64_t>(
      memory / 32 / static_cast<uint64_t>(options.background_threads), 64 * kKiB, 16 * kMiB);
  options.write_buffer_bytes = std::clamp<uint64_t>(
      buffers / static_cast<uint64_t>(options.max_write_buffers), 64 * kKiB, uint64_t{512} << 20);
  options.charge_filters_to_cache = true;
  const uint64_t lost = std::min<uint64_t>(memory / 8, 4 * kMiB);
  options.block_cache_bytes = memory - buffers - memory / 32 - lost;
  // Four buffers: about what level 0 holds when its compaction is due, so that merging it into the
  // first level below rewrites no more than it brings.
  options.level_base_bytes = std::max<uint64_t>(4 * options.write_buffer_bytes, kMiB);
  options.target_file_bytes =
      std::clamp<uint64_t>(options.write_buffer_bytes, kMiB, uint64_t{64} << 20);
  // More than the memtables can hold, or logs would make memtables be flushed that are not full.
  options.max_log_bytes = std::max<uint64_t>(4 * options.write_buffer_bytes, 4 * kMiB);
  return options;
}

std::vector<std::string_view> OptionNames() {
  std::vector<std::string_view> names;
  for (const TextOption& option : TextOptions()) names.push_back(option.name);
  return names;
}

absl::Status SetOption(Options* options, std::string_view name, std::string_view value) {
  for (const TextOption& option : TextOptions()) {
    if (option.name == name) return option.set(options, value);
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

// Half of the descriptors: logs, manifests, tables being written and the rest of the program need
// some as well. A reader has none of the former, and loses what it closes: a writer may remove it.
size_t MaxOpenFilesOf(const Options& options) {
  const uint64_t limit = DescriptorLimit();
  const uint64_t most = std::max<uint64_t>(options.read_only ? limit - limit / 8 : limit / 2, 1);
  const auto asked = static_cast<uint64_t>(options.max_open_files);
  return static_cast<size_t>(asked == 0 ? most : std::min(asked, most));
}

// A reader changes nothing on disk. Only the operating system's files get a LOG unasked: what tests
// record and crash elsewhere is the database alone.
size_t InfoLogBytesOf(const Options& options) {
  if (options.read_only) return 0;
  constexpr size_t kDefaultBytes = kMiB;
  return options.info_log_bytes.value_or(FileSystemOf(options) == PosixFileSystem() ? kDefaultBytes
                                                                                    : 0);
}

}  // namespace winnow
