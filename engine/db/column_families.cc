// Creating, finding and dropping column families.
//
// The set of families changes with both locks held. Write leadership, because writers look families
// up without the mutex, and because a batch that was checked must still find its families when it
// is inserted. The mutex, because everybody else reads the set under it. Each change is one edit of
// the manifest, so that after a crash a family is there or not, and never in part.
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/db/option_checks.h"
#include "engine/db/recorded_options.h"
#include "filter/base/out_of_memory.h"
#include "filter/base/shown_text.h"

namespace winnow {

namespace {

constexpr size_t kMaxFamilyNameBytes = 255;

}  // namespace

// The default family cannot be dropped: the common case is one comparison.
absl::Status DBImpl::CheckFamily(const ColumnFamily* family) const {
  if (family == default_family_) [[likely]]
    return absl::OkStatus();
  if (family == nullptr) return absl::InvalidArgumentError("the column family is null");
  const auto* state = static_cast<const ColumnFamilyState*>(family);
  if (state->database_number() != families_.database_number()) {
    return absl::InvalidArgumentError(
        absl::StrCat("column family '", ToAbsl(family->name()), "' belongs to another database"));
  }
  if (state->is_dropped()) {
    return absl::FailedPreconditionError(
        absl::StrCat("column family '", ToAbsl(family->name()), "' has been dropped"));
  }
  return absl::OkStatus();
}

// A log that has failed is replaced first: a new family would be recorded as needing it, and a
// checkpoint would copy its uncertain end.
absl::Status DBImpl::PrepareForChange() {
  WINNOW_RETURN_IF_ERROR(leader_.CheckRunning());
  if (!scheduler_.errors().fatal().ok()) return scheduler_.errors().fatal();
  return leader_.ReplaceFailedLog();
}

// With a full disk nothing has changed as far as this process goes; the next edit begins a manifest
// that says so. Until then a crash may bring the change about.
absl::Status DBImpl::ChangeFailed(const absl::Status& status, std::string_view what) {
  if (!absl::IsResourceExhausted(status)) scheduler_.errors().SetFatal(status, what);
  return status;
}

// Durable before anybody can write to it: replay takes an unknown id above the largest recorded one
// for damage.
absl::StatusOr<ColumnFamily*> DBImpl::CreateColumnFamily(const ColumnFamilyOptions& options,
                                                         std::string_view name) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<ColumnFamily*> {
    WINNOW_RETURN_IF_ERROR(CheckWritable());
    if (name.empty() || name.size() > kMaxFamilyNameBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a column family's name has 1 to ", kMaxFamilyNameBytes, " bytes"));
    }
    WINNOW_RETURN_IF_ERROR(ValidateColumnFamilyOptions(options, name));
    ExclusiveWrites writes(&write_queue_);
    DatabaseLock lock(&mutex_);
    WINNOW_RETURN_IF_ERROR(PrepareForChange());
    if (versions_.FindFamily(name) != nullptr) {
      return absl::AlreadyExistsError(
          absl::StrCat("column family '", ToAbsl(name), "' exists already"));
    }
    if (versions_.families().size() >= kMaxColumnFamilies) {
      return absl::ResourceExhaustedError(absl::StrCat("there are ", versions_.families().size(),
                                                       " column families, and no more than ",
                                                       kMaxColumnFamilies, " can be"));
    }
    if (versions_.largest_family_id() >= kFamilyIdLimit - 1) {
      return absl::ResourceExhaustedError("all ids of column families have been used");
    }
    const bool can_filter = options.comparator->EqualKeysHaveEqualBytes();
    VersionEdit edit;
    FamilyEdit& change = edit.families.emplace_back();
    // Never one that was used before: a log may still hold updates of a dropped family under its
    // id.
    change.family_id = versions_.NewFamilyId();
    change.name = std::string(name);
    change.comparator = std::string(options.comparator->Name());
    if (options.merge_operator != nullptr) {
      change.merge_operator = std::string(options.merge_operator->Name());
    }
    change.filter = !options.filter.empty() ? options.filter
                                            : std::string(can_filter ? kDefaultFilter : "none");
    const uint64_t budget_bytes = filter_budget_.limit_bytes();
    WINNOW_RETURN_IF_ERROR(CheckFilterFitsBudget(options.filter, budget_bytes, name));
    if (budget_bytes != 0) change.filter = FilterWithoutAmount(*change.filter);
    change.filter_key =
        options.filter_key.empty() ? std::string(kDefaultFilterKey) : options.filter_key;
    const uint64_t ttl_seconds = options.ttl_seconds.value_or(0);
    if (ttl_seconds != 0) change.ttl_seconds = ttl_seconds;
    change.options = FamilyOptionTexts(options);
    // Older logs hold nothing of it, and it must not hold them back.
    change.log_number = logs_.current_number();
    FamilyRecord record;
    record.id = change.family_id;
    record.name = std::string(name);
    record.comparator = options.comparator;
    if (change.merge_operator) record.merge_operator_name = *change.merge_operator;
    record.filter_policy = options.filter_policy;
    record.version = std::make_shared<const Version>(InternalKeyComparator(options.comparator),
                                                     std::array<Version::Files, kNumLevels>());
    // All memory is taken before the family is durable.
    auto family = std::make_unique<ColumnFamilyState>(record, options, versions_.hash_seed(),
                                                      families_.write_buffers());
    WINNOW_ASSIGN_OR_RETURN(ColumnFamilyState::FilterSettings settings,
                            family->ParseFilter(*change.filter, *change.filter_key));
    family->SetFilter(std::move(settings));
    family->set_ttl(TimeToLiveOf(options_, ttl_seconds));
    family->SwitchMemtable();
    ColumnFamilySet::Place place = ColumnFamilySet::NewPlace(std::move(family));
    if (absl::Status status = versions_.LogAndCreateFamily(std::move(edit), record); !status.ok()) {
      return ChangeFailed(status, "creating a column family");
    }
    return families_.Add(std::move(place));
  });
}

// Dropped families stay in the set, for those who still have a handle; a new one may have the name.
absl::StatusOr<ColumnFamily*> DBImpl::FindColumnFamily(std::string_view name) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<ColumnFamily*> {
    if (!process_.IsThisOne()) return Unusable();
    DatabaseLock lock(&mutex_);
    for (const auto& [id, family] : families_.live()) {
      if (family->name() == name && !family->is_dropped()) return family;
    }
    return absl::NotFoundError(absl::StrCat("there is no column family '", ShownText(name), "'"));
  });
}

std::vector<ColumnFamily*> DBImpl::ColumnFamilies() {
  std::vector<ColumnFamily*> families;
  if (!process_.IsThisOne()) return families;
  DatabaseLock lock(&mutex_);
  for (const auto& [id, family] : families_.live()) {
    if (!family->is_dropped()) families.push_back(family);
  }
  return families;
}

// Three moments: the flag, from which on calls are refused; the edit, before which a crash brings
// the family back whole; the empty view, with which its memory and files go as soon as no iterator
// and no look-up holds them.
absl::Status DBImpl::Drop(ColumnFamily* family, bool is_owner) {
  return CatchOutOfMemory([&]() -> absl::Status {
    WINNOW_RETURN_IF_ERROR(CheckWritable());
    if (family == nullptr || Own(family)->database_number() != families_.database_number()) {
      return CheckFamily(family);
    }
    if (family == default_family_) {
      return absl::InvalidArgumentError("the column family 'default' cannot be dropped");
    }
    ColumnFamilyState* own = Own(family);
    if (own->is_reserved() && !is_owner) return own->ReservedError();
    {
      ExclusiveWrites writes(&write_queue_);
      DatabaseLock lock(&mutex_);
      WINNOW_RETURN_IF_ERROR(leader_.CheckRunning());
      if (!scheduler_.errors().fatal().ok()) return scheduler_.errors().fatal();
      // A drop that did not fit on the disk has left the flag, and can be asked for again.
      if (own->is_dropped() && !versions_.families().contains(own->id()))
        return CheckFamily(family);
      own->dropped.store(true);
      leader_.LookForStall(own);
      // Jobs that are running see the flag and throw their outputs away. Outputs that were
      // installed after the drop would be files of a family that the manifest does not know.
      while (own->flush_running || own->compactions_running > 0) scheduler_.WaitForProgress();
      const absl::Status status =
          CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, database_mutex) {
            VersionEdit edit;
            FamilyEdit& change = edit.families.emplace_back();
            change.family_id = own->id();
            change.dropped = true;
            own->PrepareRelease(own->immutables.size());
            return versions_.LogAndApply(std::move(edit));
          });
      if (!status.ok()) {
        // As long as the manifest may say that the family is gone, it may not be written to.
        // Another manifest would say that it is there; for that the disk may be too full.
        if (absl::IsResourceExhausted(status) && versions_.Settle().ok()) own->dropped.store(false);
        leader_.LookForStall(own);
        scheduler_.SignalWork();
        return ChangeFailed(status, "dropping a column family");
      }
      // The last view of the family goes; iterators keep theirs, and with it the files.
      own->ReleaseImmutables(own->immutables.size());
      UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(memtable_insertion, database_mutex) {
        own->InstallNothing();
      });
      families_.NoteDropped(*own);
      scheduler_.SignalProgress();
    }
    recorder_.ForgetFamily(own->id());
    statistics_saver_.ForgetFamily(own->name());
    // Not those of all families, or each of many drops would look at all that are left.
    UnlessOutOfMemory([&] { jobs_.ReleaseReplacedOf({&own, 1}); });
    return absl::OkStatus();
  });
}

}  // namespace winnow
