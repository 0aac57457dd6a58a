// GetProperty, GetStatistics.
//
// All of this is for people and monitoring: it takes the mutex for no longer than it needs to copy
// what it reads, and does its sums on a view or a version that it holds. Numbers of different kinds
// are not of exactly one moment.
#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/numbers.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/file_system/file_system_of.h"
#include "engine/statistics/memory_report.h"
#include "engine/statistics/sstables_report.h"
#include "engine/statistics/statistics_report.h"
#include "engine/version/file_names.h"
#include "filter/base/out_of_memory.h"
#include "filter/base/shown_text.h"

namespace winnow {

namespace {

constexpr std::string_view kFilesAtLevel = "winnow.num-files-at-level";
// Filter and index bytes of a version.
// In memory, as far as files could be opened; one that could not has no reader and takes none.
struct SstableMemory {
  uint64_t filter_bytes = 0;
  uint64_t range_filter_bytes = 0;
  uint64_t index_bytes = 0;
  uint64_t num_tables = 0;
  uint64_t num_tables_through_cache = 0;
  uint64_t bytes_through_cache = 0;
  uint64_t num_filters_too_large = 0;
  uint64_t mapped_bytes = 0;
};
SstableMemory MemoryOf(const Version& version) {
  SstableMemory memory;
  for (int level = 0; level < kNumLevels; level++) {
    for (const auto& file : version.files(level)) {
      if (file->reader() == nullptr) continue;
      const SstableReader& reader = *file->reader();
      memory.filter_bytes += reader.filter_memory_bytes();
      memory.range_filter_bytes += reader.range_filter_memory_bytes();
      // What a reader keeps besides its filters is its index, and itself.
      memory.index_bytes += file->bytes_besides_filters();
      memory.num_tables++;
      memory.num_tables_through_cache += reader.bytes_through_cache() > 0 ? 1 : 0;
      memory.bytes_through_cache += reader.bytes_through_cache();
      memory.mapped_bytes += reader.mapped_bytes();
      const RangeFilterBlock* const range_filter = reader.range_filter();
      const bool lacks_room = range_filter != nullptr && range_filter->lacks_room();
      memory.num_filters_too_large += reader.filter_is_too_large() || lacks_room ? 1 : 0;
    }
  }
  return memory;
}

// On disk, unlike the above.
LevelStatistics LevelRow(const std::string& family, const Version& version, int level) {
  LevelStatistics row;
  row.column_family = family;
  row.level = level;
  uint64_t filter_keys = 0;
  for (const auto& file : version.files(level)) {
    row.num_files++;
    row.file_bytes += file->metadata().file_bytes;
    row.num_entries += file->metadata().num_entries;
    row.num_deletions += file->metadata().num_deletions;
    row.num_range_deletions += file->metadata().num_range_deletions;
    // Size and entries are known from the manifest, the rest only from the file itself.
    if (file->reader() == nullptr) continue;
    const SstableFigures& figures = file->reader()->figures();
    row.filter_bytes += figures.filter_bytes;
    row.range_filter_bytes += figures.range_filter_bytes;
    row.index_bytes += figures.index_bytes;
    filter_keys += figures.num_filter_keys;
  }
  // By filter keys, not entries: several entries may share one, and a file may have no filter.
  row.filter_bits_per_key = filter_keys == 0 ? 0 : Ratio(row.filter_bytes * 8, filter_keys);
  return row;
}

std::string KindText(size_t kind) {
  if (kind == kPolicyFilterKindIndex) return "policy";
  if (kind == RecorderTotals::kRangeKind) return std::string(kRangeFilterKind);
  return std::string(filter::KindName(static_cast<filter::FilterKind>(kind)));
}

}  // namespace

std::map<uint32_t, DBImpl::FamilyNow> DBImpl::FamiliesNow() {
  std::map<uint32_t, FamilyNow> families;
  DatabaseLock lock(&mutex_);
  for (const auto& [id, family] : families_.live()) {
    if (family->is_dropped()) continue;
    // The version keeps its files for as long as the sums take.
    families[id] = {std::string(family->name()), family->version(), family->expected_fpr_history};
  }
  return families;
}

// O(threads * families) counters are summed, under the recorder's lock and not the mutex.
Statistics DBImpl::CountedSinceOpening(const std::map<uint32_t, FamilyNow>& families) {
  const Recorder::Totals totals = recorder_.Sum();
  Statistics statistics;
  statistics.tickers = totals.tickers;
  statistics.histograms = totals.histograms;
  // Counters outlive families; those of one that has been dropped have no name to stand under.
  for (const auto& [key, counts] : totals.filters) {
    const auto family = families.find(key.family_id);
    if (family == families.end()) continue;
    FilterStatistics& row = statistics.filters.emplace_back();
    row.column_family = family->second.name;
    row.level = key.level;
    row.kind = KindText(key.kind);
    if (key.part != FilterPartCategory::kCount) {
      row.part = filter::FilterKeyExtractor::Part::CategoryName(key.part);
    }
    row.call = key.call;
    row.rejected = counts.rejected;
    row.true_positive = counts.true_positive;
    row.false_positive = counts.false_positive;
    // What was queried is the sum of its outcomes, and not counted besides, so that the columns
    // always agree.
    row.checked = counts.rejected + counts.true_positive + counts.false_positive;
    row.eligible = row.checked + counts.not_asked;
    // Beside the measured rate: a filter that keeps less than it promises shows here.
    row.promised_fpr =
        key.kind == RecorderTotals::kRangeKind
            ? static_cast<double>(counts.promised) * 0x1p-32 /
                  static_cast<double>(counts.rejected + counts.false_positive)  // NaN of none
            : family->second.expected_fpr.Of(*family->second.version, key.level, key.kind);
  }
  // With what earlier openings have saved.
  statistics.in_all = statistics_saver_.InAll(statistics);
  // Those of families that were dropped are forgotten then, unless a crash came before they were
  // saved without.
  std::set<std::string_view> names;
  for (const auto& [id, family] : families) names.insert(family.name);
  std::erase_if(statistics.in_all.filters,
                [&](const FilterStatistics& row) { return !names.contains(row.column_family); });
  return statistics;
}

// Without harm if it fails, or if there is no memory for it: it is tried again.
void DBImpl::SaveStatistics(bool is_closed) {
  UnlessOutOfMemory([&] {
    statistics_saver_.ReadAgain();
    const Statistics statistics = CountedSinceOpening(FamiliesNow());
    FilterBudgetReport filters = ReportFilterBudget();
    statistics_saver_
        .Save(statistics, statistics.in_all,
              {FilterBudgetJson(filters), std::move(filters.families_for_hits)}, is_closed,
              SteadyNow())
        .IgnoreError();
  });
}

Statistics DBImpl::GetStatistics() {
  if (!process_.IsThisOne()) return {};
  // The families of one moment for all of it, so that each row of the filters has a name.
  const std::map<uint32_t, FamilyNow> families = FamiliesNow();
  Statistics statistics = CountedSinceOpening(families);
  uint64_t total_bytes = 0;
  uint64_t largest_level_bytes = 0;
  for (const auto& [id, family] : families) {
    for (int level = 0; level < kNumLevels; level++) {
      if (family.version->num_files(level) == 0) continue;
      statistics.levels.push_back(LevelRow(family.name, *family.version, level));
      total_bytes += statistics.levels.back().file_bytes;
      largest_level_bytes = std::max(largest_level_bytes, statistics.levels.back().file_bytes);
    }
  }
  // The largest level stands for the data without what is out of date: it is nearly all of it. Over
  // several families of like size this overstates.
  statistics.space_amplification = Ratio(total_bytes, largest_level_bytes);
  return statistics;
}

absl::StatusOr<SavedStatistics> DB::ReadStatistics(const Options& options,
                                                   const std::string& path) {
  return CatchOutOfMemory([&] { return ReadSavedStatistics(*FileSystemOf(options), path); });
}

MemoryUsage DBImpl::GetMemoryUsage() {
  std::vector<std::shared_ptr<const ReadView>> views;
  {
    DatabaseLock lock(&mutex_);
    for (const auto& [id, family] : families_.live()) {
      if (!family->is_dropped()) views.push_back(family->views.Shared());
    }
  }
  // Memtables count in the budget, with those that only readers hold: no view has to be asked for
  // them.
  const WriteBufferBudget& budget = *families_.write_buffers();
  const ShardedBlockCache& cache = *BlockCacheAccess::Sharded(*cache_);
  MemoryUsage usage;
  usage.memtables = budget.memory_bytes();
  usage.held_by_readers = budget.held_bytes();
  for (const auto& view : views) {
    const SstableMemory memory = MemoryOf(*view->version);
    usage.filters += memory.filter_bytes;
    usage.range_filters += memory.range_filter_bytes;
    usage.indexes += memory.index_bytes;
    usage.tables += memory.num_tables;
    usage.tables_through_cache += memory.num_tables_through_cache;
    usage.bytes_through_cache += memory.bytes_through_cache;
    usage.filters_not_used += memory.num_filters_too_large;
    usage.mapped += memory.mapped_bytes;
  }
  // Of the cache as a whole, which other databases may share.
  usage.block_cache = cache.blocks_memory_bytes();
  usage.block_cache_table = cache.slots_bytes();
  if (row_cache_.is_on()) {
    usage.row_cache = row_cache_.memory_bytes();
    usage.row_cache_limit = row_cache_.capacity_bytes();
  }
  usage.write_buffer_limit = budget.limit_bytes();
  usage.block_cache_capacity = cache.capacity_bytes();
  usage.tables_are_charged = options_.charge_filters_to_cache;
  usage.filter_budget = filter_budget_.limit_bytes();
  return usage;
}

// The names are part of the interface; <N> stands for a level.
std::vector<std::string_view> DB::PropertyNames() {
  return {"winnow.stats",
          "winnow.stats-json",
          "winnow.filter-stats",
          "winnow.filter-stats-json",
          "winnow.levels",
          "winnow.levels-json",
          "winnow.sstables",
          "winnow.sstables-json",
          "winnow.sstables-by-level",
          "winnow.memory-usage",
          "winnow.memory-usage-json",
          "winnow.num-files-at-level<N>",
          "winnow.estimate-num-keys",
          "winnow.approximate-memory-usage",
          "winnow.filter-budget",
          "winnow.filter-budget-json",
          "winnow.filter-memory",
          "winnow.index-memory",
          "winnow.memtable-memory",
          "winnow.block-cache-usage",
          "winnow.num-open-files",
          "winnow.last-sequence",
          "winnow.background-error",
          "winnow.recovery",
          "winnow.filter",
          "winnow.filter-key",
          "winnow.merge-operator"};
}

// Takes a view instead of the mutex, so that a monitor that asks often is in nobody's way.
std::string DBImpl::NumberProperty(ColumnFamilyState* family, std::string_view name, bool* known) {
  *known = true;
  const std::shared_ptr<const ReadView> view = family->views.Shared();
  uint64_t memtable_bytes = view->active->memory_bytes();
  for (const auto& memtable : view->immutables) memtable_bytes += memtable->memory_bytes();
  const SstableMemory memory = MemoryOf(*view->version);
  const uint64_t filter_bytes = memory.filter_bytes + memory.range_filter_bytes;
  if (name == "winnow.filter-memory") return absl::StrCat(filter_bytes);
  if (name == "winnow.index-memory") return absl::StrCat(memory.index_bytes);
  if (name == "winnow.memtable-memory") return absl::StrCat(memtable_bytes);
  if (name == "winnow.block-cache-usage") return absl::StrCat(cache_->usage_bytes());
  if (name == "winnow.num-open-files") return absl::StrCat(open_files_.num_open());
  if (name == "winnow.last-sequence") return absl::StrCat(leader_.visible_sequence());
  if (name == "winnow.approximate-memory-usage") {
    return absl::StrCat(memtable_bytes + filter_bytes + memory.index_bytes + cache_->usage_bytes());
  }
  // An estimate: versions of one key in several files are counted each.
  if (name == "winnow.estimate-num-keys") {
    uint64_t entries = view->active->num_entries();
    uint64_t deletions = view->active->num_deletions();
    for (const auto& memtable : view->immutables) {
      entries += memtable->num_entries();
      deletions += memtable->num_deletions();
    }
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : view->version->files(level)) {
        entries += file->metadata().num_entries;
        deletions += file->metadata().num_deletions;
      }
    }
    // A tombstone stands for itself and for the entry that it hides.
    return absl::StrCat(entries > 2 * deletions ? entries - 2 * deletions : 0);
  }
  int level;
  if (name.starts_with(kFilesAtLevel) &&
      absl::SimpleAtoi(ToAbsl(name.substr(kFilesAtLevel.size())), &level) && level >= 0 &&
      level < kNumLevels) {
    return absl::StrCat(view->version->num_files(level));
  }
  *known = false;
  return "";
}

absl::StatusOr<std::string> DBImpl::GetProperty(ColumnFamily* family, std::string_view name) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::string> {
    WINNOW_RETURN_IF_ERROR(CheckRead(family, ""));
    // Some of these are of the whole database, whatever family is given.
    ColumnFamilyState* own = Own(family);
    if (name == "winnow.stats") return StatsTable(GetStatistics());
    if (name == "winnow.stats-json") return StatsJson(GetStatistics());
    if (name == "winnow.filter-stats" || name == "winnow.filter-stats-json") {
      const Statistics statistics = GetStatistics();
      return name == "winnow.filter-stats" ? FilterStatsTable(statistics, statistics.in_all)
                                           : FilterStatsJson(statistics, statistics.in_all);
    }
    if (name == "winnow.filter-budget") return FilterBudgetTable(ReportFilterBudget());
    if (name == "winnow.filter-budget-json") return FilterBudgetJson(ReportFilterBudget());
    if (name == "winnow.levels") return LevelsTable(GetStatistics());
    if (name == "winnow.levels-json") return LevelsJson(GetStatistics());
    if (name == "winnow.memory-usage") return MemoryTable(GetMemoryUsage());
    if (name == "winnow.memory-usage-json") return MemoryJson(GetMemoryUsage());
    if (name == "winnow.sstables") return SstablesTable(*own->views.Shared()->version);
    if (name == "winnow.sstables-json") return SstablesJson(*own->views.Shared()->version);
    if (name == "winnow.sstables-by-level") return SstablesByLevel(*own->views.Shared()->version);
    // Written while opening and never changed, hence read without a lock.
    if (name == "winnow.recovery") {
      std::string notes;
      for (const std::string& note : recovery_notes_) absl::StrAppend(&notes, note, "\n");
      return notes;
    }
    {
      DatabaseLock lock(&mutex_);
      if (name == "winnow.background-error") {
        return std::string(ToStd(scheduler_.errors().Gravest().message()));
      }
      if (name == "winnow.filter") return filter::ToString(own->filter_spec());
      if (name == "winnow.filter-key") return own->filter_key().ToString();
      if (name == "winnow.merge-operator") return std::string(own->merge_operator().Name());
    }
    bool known;
    // What is left are numbers, which come from a view.
    std::string number = NumberProperty(own, name, &known);
    if (known) return number;
    return absl::NotFoundError(absl::StrCat("there is no property '", ShownText(name), "'"));
  });
}

// From the indexes alone, without what is still in memtables. One view for all ranges, so that
// neighbouring ones add up; a range whose end comes before its beginning has no bytes.
absl::StatusOr<std::vector<uint64_t>> DBImpl::GetApproximateSizes(
    ColumnFamily* family, std::span<const KeyRange> ranges) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<uint64_t>> {
    WINNOW_RETURN_IF_ERROR(CheckRead(family, ""));
    const std::shared_ptr<const ReadView> view = Own(family)->views.Shared();
    std::vector<uint64_t> sizes;
    sizes.reserve(ranges.size());
    for (const KeyRange& range : ranges) {
      // Two prefix sums: what both leave out or count alike falls out of the difference.
      const uint64_t begin = view->version->ApproximateBytesBefore(range.begin);
      const uint64_t end = view->version->ApproximateBytesBefore(range.end);
      sizes.push_back(end > begin ? end - begin : 0);
    }
    return sizes;
  });
}

}  // namespace winnow
