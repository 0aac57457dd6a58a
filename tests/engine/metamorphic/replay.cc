#include "tests/engine/metamorphic/replay.h"

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tests/engine/metamorphic/replay_transact.h"
#include "tests/support/test_clock.h"
#include "tests/support/verify_messages.h"
#include "winnow/backup.h"
#include "winnow/db.h"
#include "winnow/memory_file_system.h"

namespace winnow::metamorphic {

namespace {

std::string ErrorLine(std::string_view what) { return absl::StrCat(kErrorMark, std::string(what)); }
std::string ErrorLine(const absl::Status& status) { return ErrorLine(status.ToString()); }
std::string DoneOr(const absl::Status& status) { return status.ok() ? "done" : ErrorLine(status); }

std::string ShownValue(std::string_view value) {
  return absl::StrCat(value.size(), " bytes ", absl::Hex(std::hash<std::string_view>()(value)));
}

// All that one database holds: each family's number of entries and a hash over them.
std::string ContentOf(DB& db) {
  std::string content;
  for (int slot = 0; slot < kFamilySlots; slot++) {
    const auto family = db.FindColumnFamily(FamilyName(slot));
    if (!family.ok()) continue;
    size_t entries = 0;
    uint64_t hash = 0;
    const auto iterator = db.NewIterator(ReadOptions(), *family);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      entries++;
      const uint64_t both = std::hash<std::string_view>()(iterator->key()) * 31 +
                            std::hash<std::string_view>()(iterator->value());
      hash = hash * 1099511628211u + both;
    }
    if (!iterator->status().ok()) return ErrorLine(iterator->status());
    absl::StrAppend(&content, FamilyName(slot), " ", entries, " entries ", absl::Hex(hash), "; ");
  }
  return content;
}

class Replayer {
 public:
  Replayer(const OptionSet& options, std::string path, PlantedMistake mistake)
      : options_(options), path_(std::move(path)), mistake_(mistake) {
    if (!options_.on_disk()) {
      memory_ = NewMemoryFileSystem();
    }
  }
  ~Replayer() { LetGo(); }

  absl::Status SetOptions(const Operation& operation, ColumnFamily* family) {
    const auto texts = options_.ForSetOptions(operation.number);
    std::vector<OptionSetting> settings;
    for (const auto& [name, text] : texts) settings.push_back({name, text});
    return db_->SetOptions(family, settings);
  }

  std::string Open(uint64_t number) {
    Options options = options_.ForOpening(number);
    options.file_system = memory_.get();
    options.clock = &clock_;
    auto opened = DB::Open(options, path_);
    if (!opened.ok()) return ErrorLine(opened.status());
    db_ = *std::move(opened);
    std::string names;
    for (int slot = 0; slot < kFamilySlots; slot++) {
      const auto family = db_->FindColumnFamily(FamilyName(slot));
      families_[Index(slot)] = family.ok() ? *family : nullptr;
      if (family.ok()) absl::StrAppend(&names, " ", FamilyName(slot));
    }
    return absl::StrCat("open with", names);
  }

  std::string Run(const Operation& operation) {
    if (db_ == nullptr) return ErrorLine("the database is not open");
    switch (operation.kind) {
      case Operation::Kind::kPut:
      case Operation::Kind::kDelete:
      case Operation::Kind::kMerge:
      case Operation::Kind::kDeleteRange:
        return WriteOne(operation);
      case Operation::Kind::kBatch:
        return WriteAll(operation);
      case Operation::Kind::kTransact: {
        const auto shown =
            Transact(*db_, operation, options_.ForTransact(operation.number), families_,
                     options_.ForWriting(operation.number), options_.ForReading(operation.number));
        return shown.ok() ? *shown : ErrorLine(shown.status());
      }
      case Operation::Kind::kIngest:
        return IngestAll(operation);
      case Operation::Kind::kTakeSnapshot:
        return TakeSnapshot(operation);
      case Operation::Kind::kReleaseSnapshot:
        return ReleaseSnapshot(operation.snapshot) ? "released" : "no such snapshot";
      case Operation::Kind::kReopen:
        return Reopen(operation);
      case Operation::Kind::kCreateFamily:
        return CreateFamily(operation);
      case Operation::Kind::kCheckpoint:
        return Checkpoint(operation);
      case Operation::Kind::kBackup:
        return Backup(operation);
      case Operation::Kind::kVerify: {
        const std::vector<std::string> problems = VerifyMessages(*db_);
        return problems.empty() ? ContentOf(*db_) : ErrorLine(problems[0]);
      }
      case Operation::Kind::kIterate:
        return Iterate(operation);
      case Operation::Kind::kAdvanceClock:
        clock_.AdvanceSeconds(operation.seconds);
        return "later";
      default:
        break;
    }
    ColumnFamily* family = families_[Index(operation.family)];
    if (family == nullptr) return "no such family";
    switch (operation.kind) {
      case Operation::Kind::kGet:
        return Get(operation, family);
      case Operation::Kind::kMultiGet:
        return MultiGet(operation, family);
      case Operation::Kind::kMayExist:
        return MayExist(operation, family);
      case Operation::Kind::kExists:
        return Exists(operation, family);
      case Operation::Kind::kFlush:
        return DoneOr(db_->Flush(family));
      case Operation::Kind::kCompact:
        return DoneOr(db_->CompactRange(family, operation.lower, operation.upper));
      case Operation::Kind::kSetFilter: {
        const OptionSet::Filter filter = options_.ForSetFilter(operation.number);
        absl::Status set = db_->SetFilter(family, filter.filter, filter.filter_key);
        if (operation.number % 2 == 0) set.Update(SetOptions(operation, family));
        return DoneOr(set);
      }
      case Operation::Kind::kRefilter: {
        const OptionSet::Filter filter = options_.ForSetFilter(operation.number);
        // Range filters are part of tables, and not refiltered.
        const std::string point_filter = filter.filter.substr(0, filter.filter.find('+'));
        const absl::Status done =
            db_->Refilter(family, {.filter = point_filter, .filter_key = filter.filter_key})
                .status();
        // Filters of a policy of the user's own stay as they are.
        return DoneOr(options_.own_filters() && absl::IsFailedPrecondition(done) ? absl::OkStatus()
                                                                                 : done);
      }
      case Operation::Kind::kDropFamily:
        families_[Index(operation.family)] = nullptr;
        return DoneOr(db_->DropColumnFamily(family));
      default:
        return ErrorLine("an operation without a meaning");
    }
  }

 private:
  static size_t Index(int slot) { return static_cast<size_t>(slot); }

  bool Loses(const Update& update) const {
    return mistake_ == PlantedMistake::kLosesSomeDeletes && !update.value.has_value() &&
           !update.end.has_value() && std::hash<std::string>()(update.key) % 16 == 0;
  }

  std::string WriteOne(const Operation& operation) {
    if (operation.updates.empty()) return "nothing to write";
    const Update& update = operation.updates[0];
    ColumnFamily* family = families_[Index(update.family)];
    if (family == nullptr) return "no such family";
    if (Loses(update)) return "done";
    const WriteOptions write = options_.ForWriting(operation.number);
    if (update.end.has_value()) {
      return DoneOr(db_->DeleteRange(write, family, update.key, *update.end));
    }
    return DoneOr(update.merges              ? db_->Merge(write, family, update.key, *update.value)
                  : update.value.has_value() ? db_->Put(write, family, update.key, *update.value)
                                             : db_->Delete(write, family, update.key));
  }

  std::string WriteAll(const Operation& operation) {
    WriteBatch batch;
    for (const Update& update : operation.updates) {
      ColumnFamily* family = families_[Index(update.family)];
      if (family == nullptr || Loses(update)) continue;
      if (update.merges) {
        batch.Merge(family, update.key, *update.value);
      } else if (update.value.has_value()) {
        batch.Put(family, update.key, *update.value);
      } else if (update.end.has_value()) {
        batch.DeleteRange(family, update.key, *update.end);
      } else {
        batch.Delete(family, update.key);
      }
    }
    return DoneOr(db_->Write(options_.ForWriting(operation.number), batch));
  }

  using LastUpdates = std::map<std::pair<int, std::string>, Update>;  // by family and key

  // Of several updates of a key the last one counts, and a table has each key once.
  std::string IngestAll(const Operation& operation) {
    LastUpdates last;
    for (const Update& update : operation.updates) {
      const bool counts = families_[Index(update.family)] != nullptr && !Loses(update);
      if (counts) last[{update.family, update.key}] = update;
    }
    const OptionSet::Ingestion how = options_.ForIngest(operation.number);
    if (how.as_batch) {
      Operation batch = operation;
      batch.updates.clear();
      for (const auto& [key, update] : last) batch.updates.push_back(update);
      return WriteAll(batch);
    }
    if (how.keys_each == 0) return DoneOr(Ingest(operation, how, last));
    // Narrow tables, most of which overlap nothing in the memtable.
    absl::Status status;
    LastUpdates some;
    for (auto& [key, update] : last) {
      some.emplace(key, update);
      if (some.size() < how.keys_each) continue;
      status.Update(Ingest(operation, how, some));
      some.clear();
    }
    if (!some.empty()) status.Update(Ingest(operation, how, some));
    return DoneOr(status);
  }

  absl::Status Ingest(const Operation& operation, const OptionSet::Ingestion& how,
                      const LastUpdates& updates) {
    std::vector<IngestFile> files;
    std::unique_ptr<SstWriter> writer;
    absl::Status status;
    for (const auto& [key, update] : updates) {
      ColumnFamily* const family = families_[Index(key.first)];
      if (writer == nullptr || files.back().family != family) {
        if (writer != nullptr) status.Update(writer->Finish().status());
        files.push_back({absl::StrCat(path_, "-table-", key.first), family});
        auto created = NewTable(how, operation, key.first, files.back());
        if (!created.ok()) return created.status();
        writer = *std::move(created);
      }
      status.Update(update.merges              ? writer->Merge(key.second, *update.value)
                    : update.value.has_value() ? writer->Put(key.second, *update.value)
                                               : writer->Delete(key.second));
    }
    if (writer != nullptr) status.Update(writer->Finish().status());
    WINNOW_RETURN_IF_ERROR(status);
    return db_->Ingest(files, how.options).status();
  }

  // Where there is a time to live the database's writer goes by the test's clock, and another by
  // the system's.
  absl::StatusOr<std::unique_ptr<SstWriter>> NewTable(const OptionSet::Ingestion& how,
                                                      const Operation& operation, int slot,
                                                      const IngestFile& file) {
    FileSystem* const file_system = memory_ != nullptr ? memory_.get() : PosixFileSystem();
    file_system->Remove(file.path).IgnoreError();  // of a copy before
    return how.by_database || kTtlSeconds[slot] != 0
               ? db_->NewSstWriter(file.family, file.path)
               : SstWriter::Create(options_.ForFamily(operation.number), file.path, file_system);
  }

  ReadOptions ReadAs(const Operation& operation) const {
    ReadOptions read = options_.ForReading(operation.number);
    if (operation.snapshot != kNoSlot) read.snapshot = snapshots_[Index(operation.snapshot)];
    return read;
  }

  std::string Get(const Operation& operation, ColumnFamily* family) {
    if (operation.keys.empty()) return "nothing to read";
    std::string value;
    const absl::Status status = db_->Get(ReadAs(operation), family, operation.keys[0], &value);
    if (absl::IsNotFound(status)) return "absent";
    return status.ok() ? ShownValue(value) : ErrorLine(status);
  }

  std::string MultiGet(const Operation& operation, ColumnFamily* family) {
    const std::vector<std::string_view> keys(operation.keys.begin(), operation.keys.end());
    std::vector<PinnedValue> values(keys.size());
    std::vector<absl::Status> statuses(keys.size());
    db_->MultiGet(ReadAs(operation), family, keys, values, statuses);
    std::string line;
    for (size_t i = 0; i < keys.size(); i++) {
      if (absl::IsNotFound(statuses[i])) {
        line += "absent; ";
      } else if (statuses[i].ok()) {
        absl::StrAppend(&line, ShownValue(values[i].view()), "; ");
      } else {
        return ErrorLine(statuses[i]);
      }
    }
    return line;
  }

  // Filters may differ in the absent keys that they let through, but never in those that are there.
  std::string MayExist(const Operation& operation, ColumnFamily* family) {
    if (operation.keys.empty()) return "nothing to read";
    const ReadOptions read = ReadAs(operation);
    std::string value;
    const absl::Status status = db_->Get(read, family, operation.keys[0], &value);
    if (absl::IsNotFound(status)) return "absent";
    if (!status.ok()) return ErrorLine(status);
    return db_->MayExist(read, family, operation.keys[0])
               ? "may exist"
               : ErrorLine("MayExist denies a key that Get finds");
  }

  std::string Exists(const Operation& operation, ColumnFamily* family) {
    if (operation.keys.empty()) return "nothing to read";
    const auto exists = db_->Exists(ReadAs(operation), family, operation.keys[0]);
    if (!exists.ok()) return ErrorLine(exists.status());
    return *exists ? "exists" : "absent";
  }

  std::string Iterate(const Operation& operation) {
    const bool held = operation.iterator != kNoSlot;
    std::unique_ptr<Iterator> own;
    std::unique_ptr<Iterator>& iterator = held ? iterators_[Index(operation.iterator)] : own;
    if (iterator == nullptr) {
      ColumnFamily* family = families_[Index(operation.family)];
      if (family == nullptr) return "no such family";
      ReadOptions read = ReadAs(operation);
      read.lower_bound = operation.lower;
      read.upper_bound = operation.upper;
      iterator = db_->NewIterator(read, family);
    }
    std::string line;
    for (const Move& move : operation.moves) {
      Apply(move, iterator.get());
      if (!iterator->status().ok()) return ErrorLine(iterator->status());
      if (iterator->Valid()) {
        absl::StrAppend(&line, Quoted(iterator->key()), " ", ShownValue(iterator->value()), "; ");
      } else {
        line += "end; ";
      }
    }
    // A held iterator is closed now and then, so that it does not stay at an old state for ever.
    if (held && operation.number % 5 == 0) iterator.reset();
    return line;
  }

  static void Apply(const Move& move, Iterator* iterator) {
    switch (move.kind) {
      case Move::Kind::kSeekToFirst:
        return iterator->SeekToFirst();
      case Move::Kind::kSeekToLast:
        return iterator->SeekToLast();
      case Move::Kind::kSeek:
        return iterator->Seek(move.key);
      case Move::Kind::kSeekForPrev:
        return iterator->SeekForPrev(move.key);
      case Move::Kind::kNext:
        if (iterator->Valid()) iterator->Next();
        return;
      case Move::Kind::kPrev:
        if (iterator->Valid()) iterator->Prev();
        return;
      case Move::Kind::kRefresh:
        // Refused where it has a snapshot or the family is gone, and then nothing has changed.
        iterator->Refresh().IgnoreError();
        return;
    }
  }

  std::string TakeSnapshot(const Operation& operation) {
    ReleaseSnapshot(operation.snapshot);
    snapshots_[Index(operation.snapshot)] = db_->GetSnapshot();
    return "taken";
  }
  bool ReleaseSnapshot(int slot) {
    const Snapshot* snapshot = std::exchange(snapshots_[Index(slot)], nullptr);
    if (snapshot != nullptr) db_->ReleaseSnapshot(snapshot);
    return snapshot != nullptr;
  }

  std::string Reopen(const Operation& operation) {
    LetGo();
    const absl::Status closed = db_->Close();
    db_.reset();
    if (!closed.ok()) return ErrorLine(closed);
    return Open(operation.number);
  }
  void LetGo() {
    for (auto& iterator : iterators_) iterator.reset();
    for (int slot = 0; slot < kSnapshotSlots; slot++) ReleaseSnapshot(slot);
  }

  std::string CreateFamily(const Operation& operation) {
    ColumnFamily*& family = families_[Index(operation.family)];
    if (family != nullptr) return "exists";
    ColumnFamilyOptions options = options_.ForFamily(operation.number);
    options.ttl_seconds = kTtlSeconds[operation.family];
    if (options.ttl_seconds != 0) options.merge_operator = nullptr;
    const auto created = db_->CreateColumnFamily(options, FamilyName(operation.family));
    if (!created.ok()) return ErrorLine(created.status());
    family = *created;
    return "created";
  }

  std::string Checkpoint(const Operation& operation) {
    const std::string copy = absl::StrCat(path_, "-checkpoint");
    const absl::Status made = db_->Checkpoint(copy);
    return made.ok() ? ContentOfCopy(operation, copy) : ErrorLine(made);
  }

  // Into the same place each time, so that backups share files; the newest is restored.
  std::string Backup(const Operation& operation) {
    const std::string backups = absl::StrCat(path_, "-backups");
    const std::string copy = absl::StrCat(path_, "-restored");
    Options options;
    options.file_system = memory_.get();
    const auto made = db_->BackupTo(backups);
    if (!made.ok()) return ErrorLine(made.status());
    const auto problems = VerifyBackup(options, backups, made->id);
    if (!problems.ok()) return ErrorLine(problems.status());
    if (!problems->empty()) return ErrorLine(problems->front().status);
    const absl::Status restored = RestoreBackup(options, backups, 0, copy);
    return restored.ok() ? ContentOfCopy(operation, copy) : ErrorLine(restored);
  }

  // Of a copy of the database, which is removed.
  std::string ContentOfCopy(const Operation& operation, const std::string& copy) {
    Options options = options_.ForOpening(operation.number);
    options.file_system = memory_.get();
    options.clock = &clock_;
    options.read_only = options_.OpensCheckpointReadOnly(operation.number);
    std::string content;
    {
      const auto opened = DB::Open(options, copy);
      if (!opened.ok()) return ErrorLine(opened.status());
      content = ContentOf(**opened);
      if (!VerifyMessages(**opened).empty()) return ErrorLine("the copy has problems");
    }
    if (content != ContentOf(*db_)) return ErrorLine("the copy differs from its database");
    const absl::Status destroyed = DB::Destroy(options, copy);
    return destroyed.ok() ? content : ErrorLine(destroyed);
  }

  TestClock clock_;
  const OptionSet options_;
  const std::string path_;
  const PlantedMistake mistake_;
  std::unique_ptr<FileSystem> memory_;  // null: on disk
  std::unique_ptr<DB> db_;
  std::array<ColumnFamily*, kFamilySlots> families_{};
  std::array<const Snapshot*, kSnapshotSlots> snapshots_{};
  std::array<std::unique_ptr<Iterator>, kIteratorSlots> iterators_;
};

}  // namespace

std::vector<std::string> Replay(const std::vector<Operation>& log, const OptionSet& options,
                                const std::string& directory, PlantedMistake mistake) {
  std::vector<std::string> lines;
  lines.reserve(log.size());
  Replayer replayer(options, directory, mistake);
  const std::string opened = replayer.Open(0);
  if (opened.starts_with(kErrorMark)) return std::vector<std::string>(log.size(), opened);
  for (const Operation& operation : log) lines.push_back(replayer.Run(operation));
  return lines;
}

std::optional<Difference> FindDifference(const std::vector<Operation>& log,
                                         const std::vector<OptionSet>& option_sets,
                                         const std::string& directory, PlantedMistake mistake) {
  const auto replay = [&](size_t which) {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
    std::filesystem::create_directories(directory, ignored);
    auto lines = Replay(log, option_sets[which], absl::StrCat(directory, "/db"),
                        which == 0 ? PlantedMistake::kNone : mistake);
    std::filesystem::remove_all(directory, ignored);
    return lines;
  };
  const std::vector<std::string> first = replay(0);
  for (size_t i = 0; i < first.size(); i++) {
    if (first[i].starts_with(kErrorMark)) return Difference{i, {0, 0}, {first[i], first[i]}};
  }
  for (size_t which = 1; which < option_sets.size(); which++) {
    const std::vector<std::string> other = replay(which);
    for (size_t i = 0; i < first.size(); i++) {
      if (other[i] != first[i]) return Difference{i, {0, which}, {first[i], other[i]}};
    }
  }
  return std::nullopt;
}

}  // namespace winnow::metamorphic
