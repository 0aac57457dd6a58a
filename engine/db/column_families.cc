// Creating, finding, changing and dropping column families.
#include "engine/base/out_of_memory.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/db/option_checks.h"

namespace winnow {

namespace {

constexpr size_t kMaxFamilyNameBytes = 255;

}  // namespace

absl::Status DBImpl::CheckFamily(const ColumnFamily* family) const {
  if (family == default_family_) [[likely]]
    return absl::OkStatus();
  if (family == nullptr) return absl::InvalidArgumentError("the column family is null");
  if (static_cast<const ColumnFamilyState*>(family)->is_dropped()) {
    return absl::FailedPreconditionError(
        absl::StrCat("column family '", ToAbsl(family->name()), "' has been dropped"));
  }
  return absl::OkStatus();
}

absl::Status DBImpl::PrepareForChange() {
  if (!scheduler_.errors().fatal().ok()) return scheduler_.errors().fatal();
  return leader_.ReplaceFailedLog();
}

absl::StatusOr<ColumnFamily*> DBImpl::CreateColumnFamily(const ColumnFamilyOptions& options,
                                                         std::string_view name) {
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
  const bool can_filter = options.comparator->EqualKeysHaveEqualBytes();
  VersionEdit edit;
  FamilyEdit& change = edit.families.emplace_back();
  change.family_id = versions_.NewFamilyId();
  change.name = std::string(name);
  change.comparator = std::string(options.comparator->Name());
  change.filter =
      !options.filter.empty() ? options.filter : std::string(can_filter ? kDefaultFilter : "none");
  change.filter_key =
      options.filter_key.empty() ? std::string(kDefaultFilterKey) : options.filter_key;
  change.log_number = logs_.current_number();
  FamilyRecord record;
  record.id = change.family_id;
  record.name = std::string(name);
  record.comparator = options.comparator;
  record.filter_policy = options.filter_policy;
  record.version = std::make_shared<const Version>(InternalKeyComparator(options.comparator),
                                                   std::array<Version::Files, kNumLevels>());
  WINNOW_RETURN_IF_ERROR(
      CheckFilterFitsComparator(*change.filter, *change.filter_key, *options.comparator));
  // All memory is taken before the family is durable.
  std::unique_ptr<ColumnFamilyState> family;
  const auto prepare = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, database_mutex) {
    family = std::make_unique<ColumnFamilyState>(record, options, versions_.hash_seed());
    absl::Status status = family->SetFilter(*change.filter, *change.filter_key);
    if (status.ok()) family->SwitchMemtable(*change.log_number);
    return status;
  };
  WINNOW_RETURN_IF_ERROR(CatchOutOfMemory(prepare));
  if (absl::Status status = versions_.LogAndCreateFamily(std::move(edit), record); !status.ok()) {
    scheduler_.errors().SetFatal(status, "creating a column family");
    return status;
  }
  return families_.Add(std::move(family));
}

absl::StatusOr<ColumnFamily*> DBImpl::FindColumnFamily(std::string_view name) {
  DatabaseLock lock(&mutex_);
  for (const auto& [id, family] : families_.all()) {
    if (family->name() == name && !family->is_dropped()) return family.get();
  }
  return absl::NotFoundError(absl::StrCat("there is no column family '", ToAbsl(name), "'"));
}

std::vector<ColumnFamily*> DBImpl::ColumnFamilies() {
  DatabaseLock lock(&mutex_);
  std::vector<ColumnFamily*> families;
  for (const auto& [id, family] : families_.all()) {
    if (!family->is_dropped()) families.push_back(family.get());
  }
  return families;
}

absl::Status DBImpl::DropColumnFamily(ColumnFamily* family) {
  WINNOW_RETURN_IF_ERROR(CheckRead(family, ""));
  if (options_.read_only) return absl::FailedPreconditionError("the database is open read-only");
  if (family == default_family_) {
    return absl::InvalidArgumentError("the column family 'default' cannot be dropped");
  }
  ColumnFamilyState* own = Own(family);
  {
    ExclusiveWrites writes(&write_queue_);
    DatabaseLock lock(&mutex_);
    if (!scheduler_.errors().fatal().ok()) return scheduler_.errors().fatal();
    if (own->dropped.exchange(true)) return CheckFamily(family);
    // Jobs that are running see the flag and throw their outputs away.
    while (own->flush_running || own->compactions_running > 0) scheduler_.WaitForProgress();
    VersionEdit edit;
    FamilyEdit& change = edit.families.emplace_back();
    change.family_id = own->id();
    change.dropped = true;
    if (absl::Status status = versions_.LogAndApply(std::move(edit)); !status.ok()) {
      scheduler_.errors().SetFatal(status, "dropping a column family");
      return status;
    }
    // The last view of the family goes; iterators keep theirs, and with it the files.
    own->immutables.clear();
    own->ReplaceActiveMemtable(logs_.current_number());
    own->InstallView(std::make_shared<const Version>(own->comparator(),
                                                     std::array<Version::Files, kNumLevels>()));
    scheduler_.SignalProgress();
  }
  jobs_.ReleaseReplaced();
  return absl::OkStatus();
}

absl::Status DBImpl::SetFilter(ColumnFamily* family, std::string_view filter,
                               std::string_view filter_key) {
  WINNOW_RETURN_IF_ERROR(CheckRead(family, ""));
  if (options_.read_only) return absl::FailedPreconditionError("the database is open read-only");
  ColumnFamilyState* own = Own(family);
  DatabaseLock lock(&mutex_);
  if (!scheduler_.errors().fatal().ok()) return scheduler_.errors().fatal();
  WINNOW_RETURN_IF_ERROR(CheckFamily(family));  // it may have been dropped meanwhile
  const FamilyRecord record = versions_.families().at(own->id());
  VersionEdit edit;
  FamilyEdit& change = edit.families.emplace_back();
  change.family_id = own->id();
  change.filter = filter.empty() ? record.filter : std::string(filter);
  change.filter_key = filter_key.empty() ? record.filter_key : std::string(filter_key);
  const std::string new_filter = *change.filter;
  const std::string new_filter_key = *change.filter_key;
  WINNOW_RETURN_IF_ERROR(
      CheckFilterFitsComparator(new_filter, new_filter_key, *own->comparator().user()));
  if (absl::Status status = versions_.LogAndApply(std::move(edit)); !status.ok()) {
    scheduler_.errors().SetFatal(status, "recording a filter spec");
    return status;
  }
  WINNOW_RETURN_IF_ERROR(own->SetFilter(new_filter, new_filter_key));
  own->InstallView();
  return absl::OkStatus();
}

}  // namespace winnow
