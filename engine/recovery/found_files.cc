#include "engine/recovery/found_files.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/base/status.h"
#include "engine/file_system/directory_for_file.h"
#include "engine/log/log_reader.h"
#include "engine/recovery/set_aside.h"
#include "engine/version/current_file.h"
#include "engine/version/file_names.h"
#include "engine/version/version_set.h"
#include "engine/write/batch_format.h"
#include "engine/write/log_set.h"

namespace winnow {

namespace {

std::string NameOnly(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "000012.log", and the same with whatever it was set aside with.
bool ParseLogName(const std::string& name, uint64_t* number, bool* was_set_aside) {
  constexpr std::string_view kExtension = ".log";
  const size_t begin = name.find(kExtension);
  if (begin == std::string::npos) return false;
  const size_t end = begin + kExtension.size();
  *was_set_aside = end != name.size();
  FileType type;
  return ParseFileName(std::string_view(name).substr(0, end), &type, number) &&
         type == FileType::kLog;
}

// Of bytes that are no batches, as far as they could be.
void AddFamiliesNamedBy(std::string_view payload, std::set<uint32_t>* families) {
  if (payload.empty() || payload[0] != static_cast<char>(LogPayload::kBatches)) return;
  BatchReader reader(payload.substr(1));
  BatchUpdate update;
  for (bool more = true; reader.Next(&update, &more).ok() && more;) {
    if (update.family_id < kFamilyIdLimit) families->insert(update.family_id);
  }
}

}  // namespace

std::set<uint64_t> ListedIdentities(const VersionEdit& state) {
  std::set<uint64_t> identities;
  for (const FamilyEdit& family : state.families) {
    for (const FamilyEdit::AddedFile& added : family.added) identities.insert(added.file.file_id);
  }
  return identities;
}

bool MustEndRepair(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsResourceExhausted(status) ||
         absl::IsPermissionDenied(status);
}

absl::Status FoundFiles::List() {
  WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system_.Exists(path_));
  std::vector<std::string> names;
  if (exists) {
    WINNOW_ASSIGN_OR_RETURN(names, file_system_.List(path_));
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    std::string_view used_name = name;
    const bool was_orphaned = used_name.ends_with(kOrphanSuffix);
    if (was_orphaned) used_name.remove_suffix(kOrphanSuffix.size());
    FileType type;
    uint64_t number = 0;
    const bool is_ours = ParseFileName(used_name, &type, &number);
    // What a repair writes must not meet a file that is there, whether a manifest knows it or not.
    next_file_number_ = std::max(next_file_number_, number + 1);
    if (!is_ours) continue;
    if (IsDirectoryForFile(file_system_, absl::StrCat(path_, "/", name))) continue;
    if (type == FileType::kManifest) {
      manifest_names_.push_back(name);
    } else if (type == FileType::kFilterFile && !was_orphaned) {
      filter_file_names_.push_back(name);
    } else if (type == FileType::kLog && !was_orphaned) {
      logs_.insert(number);
    } else if (type == FileType::kSstable) {
      // Names such as 0000012.sst and 000012.sst.orphan have a number that leads to another name: a
      // table that is kept gets a new number then.
      const bool is_in_use = NameOnly(SstableFileName(path_, number)) == name;
      FoundSstable& table = tables_.emplace_back();
      table.name = name;
      table.number = is_in_use ? number : 0;
      table.was_orphaned = was_orphaned;
    }
  }
  if (!tables_.empty() || !manifest_names_.empty() || !logs_.empty()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      path_, exists ? " holds no file of a Winnow database" : ": No such file or directory"));
}

// All of them, whatever CURRENT says: it may be older than they are.
absl::Status FoundFiles::ReadManifests(DatabaseMutex* mutex) {
  const absl::StatusOr<uint64_t> current = ReadCurrentFile(file_system_, path_);
  if (MustEndRepair(current.status())) return current.status();
  if (!current.ok()) notes_.emplace_back(current.status().message());
  const std::string current_name =
      current.ok() ? NameOnly(ManifestFileName(path_, *current)) : std::string();
  const auto is_current = [&](const std::string& name) { return name == current_name; };
  if (current.ok() && std::none_of(manifest_names_.begin(), manifest_names_.end(), is_current)) {
    notes_.push_back(absl::StrCat(path_, "/CURRENT: names ", current_name, ", which is missing"));
  }
  for (const std::string& name : manifest_names_) {
    WINNOW_RETURN_IF_ERROR(ReadManifest(mutex, name, is_current(name)));
  }
  return absl::OkStatus();
}

absl::Status FoundFiles::ReadManifest(DatabaseMutex* mutex, const std::string& name,
                                      bool is_current) {
  FileType type;
  uint64_t number = 0;
  // Succeeds: List has taken the name for a manifest's.
  ParseFileName(name.substr(0, name.find(kOrphanSuffix)), &type, &number);
  const std::string path = absl::StrCat(path_, "/", name);
  for (int look = 1;; look++) {
    // One for each look, since reading applies edits as it goes: what a failed look has applied
    // must not be there at the next.
    VersionSet versions({&file_system_, path_, nullptr}, mutex);
    auto readable = versions.ReadState(path, number);
    // A manifest of a newer format is sound: taking an older one would undo what has happened
    // since.
    if (MustEndRepair(readable.status())) return readable.status();
    // Damage stays, and is not read twice; an I/O error may not be there the next time.
    const bool may_pass = !readable.ok() && !IsCorruption(readable.status());
    if (may_pass && look == 1) continue;
    if (!readable.ok()) {
      notes_.emplace_back(readable.status().message());
      return absl::OkStatus();
    }
    if (!readable->damage.ok()) notes_.emplace_back(readable->damage.message());
    // Also of manifests that are not chosen: what one of them has given out is not given out again.
    next_file_number_ = std::max(next_file_number_, readable->state.next_file_number.value_or(1));
    manifests_.push_back({name, is_current, std::move(readable->state), readable->damage});
    return absl::OkStatus();
  }
}

// The likeliest first, but all of them: a file's name may be wrong. O(tables of all manifests), and
// so asked for only where a footer is gone.
std::vector<KnownSstable> FoundFiles::KnownSstables(uint64_t number) const {
  std::vector<KnownSstable> same_number;
  std::vector<KnownSstable> others;
  for (const FoundManifest& manifest : manifests_) {
    for (const FamilyEdit& family : manifest.state.families) {
      for (const FamilyEdit::AddedFile& added : family.added) {
        (added.file.number == number ? same_number : others)
            .push_back({added.file.file_id, added.file.file_bytes, added.file.number == number});
      }
    }
  }
  same_number.insert(same_number.end(), others.begin(), others.end());
  return same_number;
}

// A table that was ingested twice has two names, and a number of its own under each.
SequenceNumber FoundFiles::GlobalSequenceOf(const FoundSstable& table) const {
  SequenceNumber newest = 0;
  for (const FoundManifest& manifest : manifests_) {
    for (const FamilyEdit& family : manifest.state.families) {
      for (const FamilyEdit::AddedFile& added : family.added) {
        if (added.file.file_id != table.frame.file_id) continue;
        if (added.file.number == table.number) return added.file.global_sequence;
        newest = std::max(newest, added.file.global_sequence);
      }
    }
  }
  return newest;
}

absl::Status FoundFiles::ReadFrame(FoundSstable* table) const {
  const std::string path = absl::StrCat(path_, "/", table->name);
  WINNOW_ASSIGN_OR_RETURN(const auto file, file_system_.OpenRandomAccess(path));
  WINNOW_ASSIGN_OR_RETURN(table->frame, FindSstableFrame(*file, path, {}));
  // The properties do not say the identity that the checksums of blocks are seeded with: it is
  // tried out among those that manifests know.
  if (!table->frame.footer.has_value()) {
    WINNOW_ASSIGN_OR_RETURN(table->frame,
                            FindSstableFrame(*file, path, KnownSstables(table->number)));
  }
  table->frame.global_sequence = GlobalSequenceOf(*table);
  if (table->frame.file_id != 0) return absl::OkStatus();
  return CorruptionError(path, "nobody knows the identity that its blocks were written with");
}

// Frames alone: whether a table is sound shows when it is put to use.
absl::Status FoundFiles::ReadSstables() {
  for (FoundSstable& table : tables_) {
    absl::Status status = ReadFrame(&table);
    // Once more: an I/O error may pass.
    if (absl::IsUnavailable(status)) status = ReadFrame(&table);
    if (MustEndRepair(status)) return status;
    table.unreadable = status;
  }
  return absl::OkStatus();
}

absl::Status FoundFiles::ReadLogHeaders() {
  for (const uint64_t log : logs_) {
    const absl::StatusOr<LogIdentity> stated =
        ReadLogIdentity(file_system_, LogFileName(path_, log));
    if (MustEndRepair(stated.status())) return stated.status();
    // A log whose header cannot be read stays among the logs, but has no vote on which database
    // this is.
    if (!stated.ok()) continue;
    log_databases_[log] = stated->database;
    if (stated->number == log) continue;
    // A strange header may stand before records of the log that the name says.
    const absl::Status as_named =
        LogReader::Open(file_system_, LogFileName(path_, log), log, LogRecoveryMode::kSalvage)
            .status();
    if (MustEndRepair(as_named)) return as_named;
    if (!as_named.ok()) misnamed_logs_[log] = stated->number;
  }
  return absl::OkStatus();
}

std::set<uint64_t> FoundFiles::OwnNumbersOfLogs() const {
  std::set<uint64_t> numbers;
  for (const uint64_t log : logs_) {
    const auto misnamed = misnamed_logs_.find(log);
    numbers.insert(misnamed == misnamed_logs_.end() ? log : misnamed->second);
  }
  return numbers;
}

uint64_t FoundFiles::CommonestDatabaseOfLogs() const {
  // How many there are, then the newest: a creation that was cut off leaves a log of its own.
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> logs;
  for (const auto& [log, database] : log_databases_) {
    logs[database] = {logs[database].first + 1, log};
  }
  const auto most = std::max_element(
      logs.begin(), logs.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == logs.end() ? 0 : most->first;
}

// Logs with an unreadable header stay: the reader will say what is left of them.
void FoundFiles::LeaveOutLogsExceptOf(uint64_t database) {
  for (const auto& [log, stated] : log_databases_) {
    if (stated != database) logs_.erase(log);
  }
}

// One more for each table: those without entries belong to a database too. Tables that were
// ingested may have been written for any.
uint64_t FoundFiles::CommonestSeed() const {
  std::map<uint64_t, uint64_t> entries;
  for (const FoundSstable& table : tables_) {
    const std::optional<uint64_t> seed = table.frame.database_id();
    if (!seed.has_value()) continue;
    const std::optional<SstableProperties>& properties = table.frame.properties;
    if (properties.has_value() && properties->is_external) continue;
    entries[*seed] += properties.has_value() ? properties->num_entries + 1 : 1;
  }
  const auto most =
      std::max_element(entries.begin(), entries.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == entries.end() ? 0 : most->first;
}

// The hash seed is drawn once, when a database is created. A manifest with another seed than most
// entries was copied here from elsewhere, and would list none of the tables.
bool FoundFiles::IsOfThisDatabase(const VersionEdit& state) const {
  const uint64_t commonest = CommonestSeed();
  if (commonest == 0 || state.hash_seed == commonest) return true;
  // Those of another database are the greater part, but beside it this one is whole.
  std::set<uint64_t> identities;
  for (const FoundSstable& table : tables_) identities.insert(table.frame.file_id);
  bool names_any = false;
  for (const FamilyEdit& family : state.families) {
    for (const FamilyEdit::AddedFile& added : family.added) {
      names_any = true;
      if (!identities.contains(added.file.file_id)) return false;
    }
  }
  return names_any;
}

const FoundManifest* FoundFiles::BestManifest() const {
  const FoundManifest* best = nullptr;
  std::tuple<uint64_t, uint64_t, bool, bool> best_rank;
  for (const FoundManifest& manifest : manifests_) {
    if (!IsOfThisDatabase(manifest.state)) continue;
    // Numbers of files and writes only grow: they tell the age, whatever the names say.
    const std::tuple rank(manifest.state.next_file_number.value_or(0),
                          manifest.state.last_sequence.value_or(0), manifest.damage.ok(),
                          manifest.is_current);
    if (best != nullptr && rank <= best_rank) continue;
    best = &manifest;
    best_rank = rank;
  }
  return best;
}

absl::StatusOr<FoundFiles::LogEnds> FoundFiles::EndsOf(uint64_t log) const {
  LogEnds ends;
  const std::string path = LogFileName(path_, log);
  auto opened = LogReader::Open(file_system_, path, log, LogRecoveryMode::kSalvage);
  if (MustEndRepair(opened.status())) return opened.status();
  std::string_view payload;
  for (uint64_t records = 0; opened.ok(); records++) {
    const absl::StatusOr<bool> more = (*opened)->Read(&payload);
    // Counts as not closed, the cautious side: no log is given up on the word of one that cannot be
    // read.
    if (!more.ok()) return ends;
    if (!*more) break;
    LogStart start;
    if (records > 0) {
      ends.has_batches = true;
    } else if (!payload.empty() && payload[0] == static_cast<char>(LogPayload::kLogStart)) {
      ends.begins_anew = LogStart::Decode(payload, &start) && start.previous_log == 0;
    }
  }
  ends.was_closed = opened.ok() && (*opened)->end().kind == LogEnd::Kind::kCleanClose;
  return ends;
}

// An opening replays all logs into tables before it begins one, and that one is written to only
// once a manifest has given the others up. The log behind one that a full disk ended begins like
// one of an opening; but that other one was not closed.
absl::StatusOr<uint64_t> FoundFiles::FirstLogOfLastOpening() const {
  uint64_t first = 0;
  bool previous_was_closed = false;
  for (const uint64_t log : logs_) {
    WINNOW_ASSIGN_OR_RETURN(const LogEnds ends, EndsOf(log));
    if (previous_was_closed && ends.begins_anew && ends.has_batches) first = log;
    previous_was_closed = ends.was_closed;
  }
  return first;
}

absl::StatusOr<std::set<uint32_t>> FoundFiles::FamiliesIn(const std::string& path,
                                                          const LogIdentity& identity) const {
  std::set<uint32_t> families;
  auto opened = LogReader::Open(file_system_, path, identity, LogRecoveryMode::kSalvage);
  if (IsCorruption(opened.status())) {
    const absl::StatusOr<LogIdentity> stated = ReadLogIdentity(file_system_, path);
    if (stated.ok() && stated->number != identity.number) {
      opened = LogReader::Open(file_system_, path, {stated->number, identity.database},
                               LogRecoveryMode::kSalvage);
    }
  }
  if (MustEndRepair(opened.status())) return opened.status();
  while (opened.ok()) {
    std::string_view payload;
    const absl::StatusOr<bool> more = (*opened)->Read(&payload);
    if (MustEndRepair(more.status())) return more.status();
    if (!more.ok() || !*more) break;
    AddFamiliesNamedBy(payload, &families);
  }
  return families;
}

absl::StatusOr<std::vector<FoundLog>> FoundFiles::ReadLogs(uint64_t database) const {
  std::vector<FoundLog> logs;
  const std::string lost = absl::StrCat(path_, "/", ToAbsl(kLostDirectory));
  for (const std::string& directory : {path_, lost}) {
    // Often there is no lost/.
    WINNOW_ASSIGN_OR_RETURN(const bool is_there, file_system_.IsDirectory(directory));
    if (!is_there) continue;
    WINNOW_ASSIGN_OR_RETURN(std::vector<std::string> names, file_system_.List(directory));
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      FoundLog log;
      uint64_t number = 0;
      if (!ParseLogName(name, &number, &log.was_set_aside)) continue;
      log.path = absl::StrCat(directory, "/", name);
      if (IsDirectoryForFile(file_system_, log.path)) continue;
      log.was_set_aside |= directory == lost;
      WINNOW_ASSIGN_OR_RETURN(log.families, FamiliesIn(log.path, {number, database}));
      logs.push_back(std::move(log));
    }
  }
  return logs;
}

}  // namespace winnow
