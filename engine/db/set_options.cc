// Changing options while the database is open.
//
// A change is planned whole before anything of it happens: whatever may be refused, or need memory,
// comes first; then the edit of the manifest; what follows cannot fail. Those who go by an option
// read it under the mutex, or as an atomic number: nobody takes a lock for it that he has not had
// anyhow.
//
// Write leadership is not taken: a leader that waits in a stall has it, and another trigger or
// bound may be just what ends that.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/cache/block_cache.h"
#include "engine/db/db_impl.h"
#include "engine/db/option_checks.h"
#include "engine/db/option_table.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

absl::Status CheckMayChange(const TextOption& option) {
  switch (option.change) {
    case OptionChange::kWhileOpen:
      return absl::OkStatus();
    case OptionChange::kAtOpening:
      return absl::InvalidArgumentError(
          absl::StrCat("option ", ToAbsl(option.name),
                       ": cannot change while the database is open: give it to the next opening"));
    case OptionChange::kNever:
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("option ", ToAbsl(option.name),
                   ": never changes once it is recorded, and is given when the column family is "
                   "created or the database is opened"));
}

// Names that there are not are refused later.
bool IsOfFamily(const OptionSetting& setting) {
  const absl::StatusOr<const TextOption*> option = FindTextOption(setting.name);
  return option.ok() && (*option)->is_of_family;
}

// Whether entries that are there would mean something else, or go, by the new options.
bool ChangesWhatIsThere(const std::vector<const TextOption*>& changed, const Options& next) {
  return std::any_of(changed.begin(), changed.end(), [&](const TextOption* option) {
    return option->name == "filter" || option->name == "filter_key" ||
           option->name == "merge_operator" || option->name == "ttl_seconds" ||
           (option->name == "compaction" && next.compaction.kind == CompactionStyle::Kind::kFifo);
  });
}

InfoLogLimits InfoLogLimitsOf(const Options& options) {
  return {InfoLogBytesOf(options), options.info_log_files};
}

// "level_base_bytes=1G, zstd_level=9".
std::string Listed(const std::vector<const TextOption*>& changed, const Options& options) {
  std::string text;
  for (const TextOption* option : changed) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", ToAbsl(option->name), "=",
                    option->get(options));
  }
  return text;
}

}  // namespace

// All that a change needs once it is durable. Null pointers: nothing of that kind changes.
struct DBImpl::OptionsChange {
  Options next;  // with the fields of the family
  std::vector<const TextOption*> changed;
  VersionEdit edit;
  std::shared_ptr<const ColumnFamilyOptions> family_options;
  std::optional<ColumnFamilyState::FilterSettings> filter;
  ColumnFamilySet::TtlPlace ttl;
  Event event;
};

Options DBImpl::OptionsNow(const ColumnFamilyState& family) const {
  // Three sources: what the database has, what the family has, and of filter and time to live what
  // the manifest has, since the family's options are as they were given and may leave these open.
  Options now = database_options_;
  // One that the program made may have been given another capacity.
  if (options_.block_cache != nullptr) now.block_cache_bytes = cache_->capacity_bytes();
  static_cast<ColumnFamilyOptions&>(now) = family.options();
  if (const auto record = versions_.families().find(family.id());
      record != versions_.families().end()) {
    now.filter = record->second.filter;
    now.filter_key = record->second.filter_key;
    now.ttl_seconds = record->second.ttl_seconds;
  }
  return now;
}

absl::StatusOr<std::string> DBImpl::GetOption(ColumnFamily* family, std::string_view name) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::string> {
    if (!IsUsable()) return Unusable();
    WINNOW_ASSIGN_OR_RETURN(const TextOption* option, FindTextOption(name));
    if (option->is_of_family) WINNOW_RETURN_IF_ERROR(CheckFamily(family));
    DatabaseLock lock(&mutex_);
    return option->get(OptionsNow(option->is_of_family ? *Own(family) : *default_family_));
  });
}

// The settings on top of what is in force; they are checked together with that.
absl::Status DBImpl::PlanOptions(ColumnFamilyState* family, std::span<const OptionSetting> settings,
                                 OptionsChange* change) {
  const ColumnFamilyState& base = family != nullptr ? *family : *default_family_;
  const Options now = OptionsNow(base);
  change->next = now;
  Options& next = change->next;
  // All of them are applied to a copy before any is checked with the others: triggers that bound
  // each other can change together, in any order.
  for (const OptionSetting& setting : settings) {
    WINNOW_ASSIGN_OR_RETURN(const TextOption* option, FindTextOption(setting.name));
    WINNOW_RETURN_IF_ERROR(CheckMayChange(*option));
    if (option->is_of_family && family == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("option ", ToAbsl(option->name),
                                                     ": is a column family's, and none is given"));
    }
    WINNOW_RETURN_IF_ERROR(winnow::SetOption(&next, setting.name, setting.text));
  }
  // Nothing is what the record has already.
  if (next.filter.empty()) next.filter = now.filter;
  if (next.filter_key.empty()) next.filter_key = now.filter_key;
  if (!next.ttl_seconds.has_value()) next.ttl_seconds = now.ttl_seconds;
  next.info_log_bytes = InfoLogBytesOf(next);
  // By text, the one form that all options have. A setting to what is in force is no change,
  // whatever its spelling.
  for (const TextOption& option : TextOptions()) {
    if (option.get(next) != option.get(now)) change->changed.push_back(&option);
  }
  if (change->changed.empty()) return absl::OkStatus();
  if (options_.block_cache != nullptr && next.block_cache_bytes != now.block_cache_bytes) {
    return absl::InvalidArgumentError(
        "option block_cache_bytes: the block cache is the program's own (Options::block_cache), "
        "which BlockCache::SetCapacity resizes");
  }
  WINNOW_RETURN_IF_ERROR(PlanFilterBudget(base, now, change));
  if (const absl::Status fits = ValidateColumnFamilyOptions(next, base.name()); !fits.ok()) {
    return WithContext(fits, Listed(change->changed, next));
  }
  // The recorded name, and not the pointer: operands may be there though this opening has given no
  // operator.
  const bool merges = !versions_.families().at(base.id()).merge_operator_name.empty();
  if (merges && next.ttl_seconds != 0) return MergesDoNotExpire(base.name());
  return PrepareOptions(base, now, change);
}

// A budget that comes takes the place of the amounts that families have; one that is there leaves
// no room for an amount.
absl::Status DBImpl::PlanFilterBudget(const ColumnFamilyState& family, const Options& now,
                                      OptionsChange* change) {
  const Options& next = change->next;
  if (next.filter_memory_budget == 0) return absl::OkStatus();
  if (next.filter != now.filter) {
    WINNOW_RETURN_IF_ERROR(
        CheckFilterFitsBudget(next.filter, next.filter_memory_budget, family.name()));
  }
  if (next.filter_memory_budget == now.filter_memory_budget) return absl::OkStatus();
  WINNOW_RETURN_IF_ERROR(CheckField(next, "filter_memory_budget"));
  WINNOW_RETURN_IF_ERROR(CheckFilterBudget(next.filter_memory_budget));
  if (now.filter_memory_budget != 0) return absl::OkStatus();
  // Amounts that are recorded go with the same edit: LoadOptions would give an opening both, which
  // refuses them together.
  for (const auto& [id, record] : versions_.families()) {
    const std::string kind = FilterWithoutAmount(record.filter);
    // The family whose options are set has its own edit, with what it is given there.
    if (kind == record.filter || (id == family.id() && next.filter != now.filter)) continue;
    FamilyEdit& edit = change->edit.families.emplace_back();
    edit.family_id = id;
    edit.filter = kind;
    edit.filter_key = record.filter_key;
  }
  return absl::OkStatus();
}

// Takes all memory.
absl::Status DBImpl::PrepareOptions(const ColumnFamilyState& family, const Options& now,
                                    OptionsChange* change) {
  const Options& next = change->next;
  FamilyEdit of_family;
  of_family.family_id = family.id();
  bool is_of_family = false;
  for (const TextOption* option : change->changed) {
    is_of_family = is_of_family || option->is_of_family;
    if (option->record != TextOption::Record::kAsText) continue;
    OptionTexts& texts = option->is_of_family ? of_family.options : change->edit.options;
    texts[std::string(option->name)] = option->get(next);
  }
  change->event.kind = Event::Kind::kOptionsChanged;
  change->event.message = Listed(change->changed, next);
  if (!is_of_family) return absl::OkStatus();
  change->event.column_family = std::string(family.name());
  // An object of its own: jobs hold the old one to their end.
  change->family_options = std::make_shared<const ColumnFamilyOptions>(next);
  if (next.filter != now.filter || next.filter_key != now.filter_key) {
    of_family.filter = next.filter;
    of_family.filter_key = next.filter_key;
    WINNOW_ASSIGN_OR_RETURN(change->filter, family.ParseFilter(next.filter, next.filter_key));
  }
  if (next.ttl_seconds != now.ttl_seconds) {
    of_family.ttl_seconds = next.ttl_seconds;
    change->ttl = ColumnFamilySet::NewTtlPlace(family.id());
  }
  change->edit.families.push_back(std::move(of_family));
  return absl::OkStatus();
}

// What is running goes on by the options that it began with; whatever begins from now on goes by
// the new ones.
void DBImpl::ApplyOptions(ColumnFamilyState* family, OptionsChange change) {
  if (change.family_options != nullptr) {
    // Compactions that run were picked by the rules of the old style. Until they have ended none of
    // the new style may write to levels that they write to (DatabaseJobs::PickIn).
    const bool other_style = family->options().compaction.kind != change.next.compaction.kind;
    if (other_style && family->compactions_running > 0) family->style_changed = true;
    family->SetOptions(std::move(change.family_options));
    if (!change.ttl.empty()) {
      const TimeToLive ttl = TimeToLiveOf(options_, *change.next.ttl_seconds);
      families_.ChangeTtl(family, ttl.micros, std::move(change.ttl));
      // Compactions may have dropped what had expired, and does not come back.
      family->rows.ForgetAll();
    }
    if (change.filter.has_value()) {
      family->SetFilter(*std::move(change.filter));
      planned_keys_ = -1;  // another kind has other bits: PlanNewFilters plans anew
      // Look-ups hash by the view's filter key.
      family->InstallDurableView(family->version());
    }
    leader_.LookForStall(family);
  }
  families_.write_buffers()->set_limit_bytes(change.next.db_write_buffer_bytes);
  rate_limiter_.set_bytes_per_second(change.next.background_bytes_per_second);
  ApplyFilterBudget(change.next.filter_memory_budget);
  live_options_.Set(change.next);
  // Started before the edit, as far as the system gives them.
  scheduler_.UseThreads(change.next.background_threads);
  leader_.LimitsChanged();
  const InfoLogLimits log = InfoLogLimitsOf(change.next);
  const bool is_other_log = log != InfoLogLimitsOf(database_options_);
  database_options_ = std::move(change.next);
  // The first line of a LOG that begins, and the last of one that ends.
  if (is_other_log && log.file_bytes > 0) events_.SetLog(log);
  events_.Add(std::move(change.event));
  if (is_other_log && log.file_bytes == 0) events_.SetLog(log);
  // For those who wait in a stall that may be none any more.
  scheduler_.SignalProgress();
}

void DBImpl::ApplyCacheOptions() {
  size_t most_open_files;
  size_t block_cache_bytes;
  size_t row_cache_bytes;
  uint64_t row_cache_ttl_seconds;
  {
    DatabaseLock lock(&mutex_);
    most_open_files = MaxOpenFilesOf(database_options_);
    block_cache_bytes = database_options_.block_cache_bytes;
    row_cache_bytes = database_options_.row_cache_bytes;
    row_cache_ttl_seconds = static_cast<uint64_t>(database_options_.row_cache_ttl_seconds);
  }
  // None of these fails: what there is no memory for stays as it is.
  open_files_.SetLimit(most_open_files);
  row_cache_.SetLimits(row_cache_bytes, row_cache_ttl_seconds);
  if (options_.block_cache == nullptr) cache_->SetCapacity(block_cache_bytes);
}

// The specs of families stay as they are in memory: under a budget their amounts play no part.
void DBImpl::ApplyFilterBudget(uint64_t budget_bytes) {
  if (budget_bytes == filter_ledger_->limit_bytes()) return;
  filter_ledger_->set_limit_bytes(budget_bytes);
  // KeepFilters looks once more, also where there is no limit from now on.
  filters_are_kept_ = true;
  UnlessOutOfMemory([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    GivePlannedBits({}, {});  // and plan anew
    PlanNewFilters();
  });
}

absl::Status DBImpl::ChangeOptions(ColumnFamilyState* family,
                                   std::span<const OptionSetting> settings, bool is_owner) {
  if (!scheduler_.errors().fatal().ok()) return scheduler_.errors().fatal();
  if (family != nullptr) WINNOW_RETURN_IF_ERROR(CheckFamily(family));  // it may have been dropped
  OptionsChange change;
  WINNOW_RETURN_IF_ERROR(PlanOptions(family, settings, &change));
  if (change.changed.empty()) return absl::OkStatus();
  if (family != nullptr && family->is_reserved() && !is_owner &&
      ChangesWhatIsThere(change.changed, change.next)) {
    return family->ReservedError();
  }
  // Not those that the system did not give before: no other change is to fail for them.
  if (change.next.background_threads > database_options_.background_threads) {
    WINNOW_RETURN_IF_ERROR(scheduler_.StartMoreThreads(change.next.background_threads));
  }
  // A LOG is written by the thread of the events, which a database without listeners may not have.
  if (InfoLogBytesOf(change.next) > 0) WINNOW_RETURN_IF_ERROR(events_.EnsureThread());
  if (absl::Status status = versions_.LogAndApply(std::move(change.edit)); !status.ok()) {
    return ChangeFailed(status, "recording options");
  }
  ApplyOptions(family, std::move(change));
  return absl::OkStatus();
}

absl::Status DBImpl::SetOptionsBy(ColumnFamily* family, std::span<const OptionSetting> settings,
                                  bool is_owner) {
  return CatchOutOfMemory([&]() -> absl::Status {
    WINNOW_RETURN_IF_ERROR(CheckWritable());
    const bool any_is_of_family = std::any_of(settings.begin(), settings.end(), IsOfFamily);
    if (!any_is_of_family) family = nullptr;  // which plays no part
    if (family != nullptr) WINNOW_RETURN_IF_ERROR(CheckFamily(family));
    absl::Status status;
    {
      DatabaseLock lock(&mutex_);
      if (!IsUsable()) return Unusable();
      copies_running_++;  // Close waits
      // One after the other: each changes what it was given, and takes the rest as it is.
      while (options_are_changing_) scheduler_.WaitForProgress();
      options_are_changing_ = true;
      // The edit gives the mutex back while it is written: the flag keeps other changes from what
      // was planned.
      status = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
        return ChangeOptions(Own(family), settings, is_owner);
      });
      if (status.ok()) {
        DatabaseUnlock unlock(&mutex_);
        // Without the mutex, and before the next change may begin: of two capacities the later one
        // stays.
        ApplyCacheOptions();
        UnlessOutOfMemory([this] { KeepFilters(FilterLoading::kInSlices); });
      }
      options_are_changing_ = false;
      copies_running_--;
      scheduler_.SignalProgress();
    }
    return status;
  });
}

absl::Status DBImpl::SetFilter(ColumnFamily* family, std::string_view filter,
                               std::string_view filter_key) {
  return CatchOutOfMemory([&] {
    WINNOW_RETURN_IF_ERROR(CheckFamily(family));
    const OptionSetting settings[] = {{"filter", filter}, {"filter_key", filter_key}};
    return SetOptions(family, settings);
  });
}

}  // namespace winnow
