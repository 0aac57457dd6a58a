// Ranges of every option.
//
// One field's range is checked when it is set by its text; whether fields fit each other, and all
// ranges again, when the database is opened: who fills the struct directly passes the same check.
// Everything behind Open relies on it and checks nothing again.
#include "winnow/options.h"

#include <algorithm>

#include "engine/base/status.h"
#include "engine/column_family/column_family_state.h"
#include "engine/db/option_checks.h"
#include "engine/file_system/descriptor_limit.h"
#include "engine/file_system/file_system_of.h"
#include "winnow/event_listener.h"
#include "winnow/filter_policy.h"
#include "winnow/merge_operator.h"

namespace winnow {

namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kTiB = uint64_t{1} << 40;

constexpr std::string_view kAllFields;

// What is merged would have a time of its own that no operand has.
constexpr std::string_view kMergesDoNotExpire =
    "a column family has a time to live or a merge operator, and not both";

// Collects the first violation.
// Only the first: those after it often follow from it, and one at a time can be put right.
class Checker {
 public:
  // `only`: the one field to look at, or kAllFields.
  Checker(std::string_view family, std::string_view only) : family_(family), only_(only) {}

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
    if (!only_.empty()) {
      if (field.substr(0, field.find(',')) != only_) return;
      status_ =
          absl::InvalidArgumentError(absl::StrCat("option ", ToAbsl(only_), ": ", ToAbsl(reason)));
      return;
    }
    const std::string where = family_.empty() || family_ == "default"
                                  ? ""
                                  : absl::StrCat("column family '", ToAbsl(family_), "': ");
    status_ = absl::InvalidArgumentError(
        absl::StrCat("options: ", where, ToAbsl(field), ": ", ToAbsl(reason)));
  }
  const absl::Status& status() const { return status_; }

 private:
  const std::string_view family_;
  const std::string_view only_;
  absl::Status status_;
};

void CheckColumnFamilyFields(const ColumnFamilyOptions& options, Checker& check) {
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
  if (options.merge_operator != nullptr) {
    const std::string_view operator_name = options.merge_operator->Name();
    check.Range<uint64_t>("merge_operator's name, bytes", operator_name.size(), 1, 255);
  }
  check.Range<uint64_t>("ttl_seconds", options.ttl_seconds.value_or(0), 0, kMaxTtlSeconds);
  if (options.ttl_seconds.value_or(0) != 0 && options.merge_operator != nullptr) {
    check.Fail("ttl_seconds", kMergesDoNotExpire);
  }
  check.Range<uint64_t>("compression_per_level, entries", options.compression_per_level.size(), 0,
                        static_cast<uint64_t>(kNumLevels));
  check.Range("zstd_level", options.zstd_level, 1, 22);
  check.Range<uint64_t>("write_buffer_bytes", options.write_buffer_bytes, 64 * kKiB, 16 * kGiB);
  check.Range("max_write_buffers", options.max_write_buffers, 2, 64);
  check.Range("memtable_filter_ratio", options.memtable_filter_ratio, 0.0, 0.25);
  check.Range("key_hashes_ratio", options.key_hashes_ratio, 0.0, 1.0);
  check.Range<uint64_t>("block_bytes", options.block_bytes, 256, 16 * kMiB);
  check.Range("block_restart_interval", options.block_restart_interval, 1, 1024);
  if (options.compaction.kind == CompactionStyle::Kind::kFifo) {
    check.Range<uint64_t>("compaction, bytes of fifo", options.compaction.fifo_bytes, 64 * kKiB,
                          16 * kTiB);
  }
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
}

void CheckDatabaseFields(const Options& options, Checker& check) {
  check.Range("background_threads", options.background_threads, 1, 64);
  // Zero is allowed besides the range, and means that the process's limit decides.
  if (options.max_open_files != 0) {
    check.Range("max_open_files", options.max_open_files, 16, 10'000'000);
  }
  if (options.background_bytes_per_second != 0) {  // 0: no limit
    check.Range<uint64_t>("background_bytes_per_second", options.background_bytes_per_second,
                          64 * kKiB, kTiB);
  }
  check.Range<uint64_t>("max_log_bytes", options.max_log_bytes, kMiB, kTiB);
  check.Range<uint64_t>("block_cache_bytes", options.block_cache_bytes, 0, 16 * kTiB);
  if (options.row_cache_bytes != 0) {  // 0: none
    check.Range<uint64_t>("row_cache_bytes", options.row_cache_bytes, 64 * kKiB, 16 * kTiB);
  }
  check.Range("row_cache_ttl_seconds", options.row_cache_ttl_seconds, 0, 1'000'000'000);
  if (options.db_write_buffer_bytes != 0) {  // 0: no bound
    check.Range<uint64_t>("db_write_buffer_bytes", options.db_write_buffer_bytes, kMiB, 16 * kTiB);
  }
  if (options.filter_memory_budget != 0) {  // 0: none
    check.Range<uint64_t>("filter_memory_budget", options.filter_memory_budget, kKiB, 16 * kTiB);
  }
  check.Range<uint64_t>("compaction_readahead_bytes", options.compaction_readahead_bytes, 64 * kKiB,
                        kGiB);
  // Zero is allowed besides the range, and means that there is no LOG.
  if (options.info_log_bytes.value_or(0) != 0) {
    check.Range<uint64_t>("info_log_bytes", *options.info_log_bytes, 4 * kKiB, kGiB);
  }
  check.Range("info_log_files", options.info_log_files, 1, 1000);
}

}  // namespace

// Also for families that are created later, which pass no open.
absl::Status ValidateColumnFamilyOptions(const ColumnFamilyOptions& options,
                                         std::string_view family) {
  Checker check(family, kAllFields);
  if (options.comparator == nullptr) {
    check.Fail("comparator", "must not be null");
    return check.status();
  }
  CheckColumnFamilyFields(options, check);
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
  WINNOW_RETURN_IF_ERROR(
      CheckFilterFitsBudget(options.filter, options.filter_memory_budget, "default"));
  Checker check("", kAllFields);
  CheckDatabaseFields(options, check);
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
    WINNOW_RETURN_IF_ERROR(
        CheckFilterFitsBudget(family.filter, options.filter_memory_budget, name));
  }
  return check.status();
}

std::string FilterWithoutAmount(std::string_view filter) {
  absl::StatusOr<filter::FilterSpec> spec = filter::ParseFilterSpec(filter);
  if (!spec.ok() || (spec->bits_per_key == 0 && spec->fpr == 0)) return std::string(filter);
  spec->bits_per_key = 0;
  spec->fpr = 0;
  return filter::ToString(*spec);
}

absl::Status CheckFilterFitsBudget(std::string_view filter, uint64_t filter_memory_budget,
                                   std::string_view family) {
  if (filter_memory_budget == 0 || filter.empty()) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const filter::FilterSpec spec, filter::ParseFilterSpec(filter));
  if (spec.bits_per_key == 0 && spec.fpr == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("options: column family '", ToAbsl(family), "': filter: '", ToAbsl(filter),
                   "' gives an amount, and filter_memory_budget another: leave out one of them, as "
                   "in filter=",
                   FilterWithoutAmount(filter)));
}

absl::Status CheckField(const Options& options, std::string_view field) {
  Checker check("", field);
  CheckColumnFamilyFields(options, check);
  CheckDatabaseFields(options, check);
  return check.status();
}

// Less memory than the documented minimum counts as that minimum.
Options Options::ForMemory(size_t memory_bytes, int threads) {
  Options options;
  const uint64_t memory = std::max<uint64_t>(memory_bytes, 16 * kMiB);
  options.background_threads = std::clamp(threads, 1, 64);
  // Five sixteenths for memtables, of one busy family in three buffers; a 32nd for what compactions
  // read ahead; as much as for memtables, up to 8 MiB, for what many families and tables take
  // besides, and for what the allocator loses between small things of many sizes. The block cache
  // has the rest.
  options.max_write_buffers = 3;
  const uint64_t buffers = memory / 16 * 5;
  options.db_write_buffer_bytes = buffers;
  options.compaction_readahead_bytes = std::clamp<uint64_t>(
      memory / 32 / static_cast<uint64_t>(options.background_threads), 64 * kKiB, 16 * kMiB);
  options.write_buffer_bytes = std::clamp<uint64_t>(
      buffers / static_cast<uint64_t>(options.max_write_buffers), 64 * kKiB, uint64_t{512} << 20);
  options.charge_filters_to_cache = true;
  const uint64_t lost = std::min<uint64_t>(buffers, 8 * kMiB);
  // Of what is left a quarter for filters, the rest for blocks and indexes.
  const uint64_t rest = memory - buffers - memory / 32 - lost;
  options.filter_memory_budget = rest / 4;
  options.block_cache_bytes = rest - rest / 4;
  // Four buffers: about what level 0 holds when its compaction is due, so that merging it into the
  // first level below rewrites no more than it brings.
  options.level_base_bytes = std::max<uint64_t>(4 * options.write_buffer_bytes, kMiB);
  // Small ones would cost more than they help: each table takes 1.5 KiB besides filter and index.
  options.target_file_bytes =
      std::clamp<uint64_t>(options.write_buffer_bytes, 4 * kMiB, uint64_t{64} << 20);
  // For the same reason: of a thousand families each has some files in level 0.
  if (memory < 64 * kMiB) options.level0_compaction_trigger = 2;
  // More than the memtables can hold, or logs would make memtables be flushed that are not full.
  options.max_log_bytes = std::max<uint64_t>(4 * options.write_buffer_bytes, 4 * kMiB);
  return options;
}

absl::Status MergesDoNotExpire(std::string_view family) {
  return absl::InvalidArgumentError(absl::StrCat("column family '", ToAbsl(family),
                                                 "': ttl_seconds: ", ToAbsl(kMergesDoNotExpire)));
}

TimeToLive TimeToLiveOf(const Options& options, uint64_t seconds) {
  return {options.clock != nullptr ? options.clock : SystemClock(), seconds * kMicrosPerSecond};
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
