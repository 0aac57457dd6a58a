#include "tests/engine/pairs/pairs.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "winnow/backup.h"
#include "winnow/clock.h"
#include "winnow/compaction_filter.h"
#include "winnow/db.h"
#include "winnow/memory_file_system.h"
#include "winnow/repair.h"
#include "winnow/table.h"

namespace winnow::pairs {

namespace {

constexpr int kUntouchedKeys = 200;
constexpr int kBusyKeys = 300;

// A second goes by each time that somebody asks.
class HurryingClock final : public Clock {
 public:
  uint64_t NowMicros() const override { return now_.fetch_add(1'000'000); }

 private:
  mutable std::atomic<uint64_t> now_{1'000'000'000};
};

// Removes or changes some of the values that are written here.
class BusyFilter final : public CompactionFilter {
 public:
  Decision Filter(const Entry& entry, std::string* new_value) const override {
    if (entry.value.size() % 3 == 0) return Decision::kKeep;
    if (entry.value.size() % 3 == 1) return Decision::kRemove;
    *new_value = entry.value.substr(0, entry.value.size() / 2);
    return Decision::kChangeValue;
  }
};

// What calls of a run need of its database.
struct SubjectNeeds {
  bool tables = false;         // it is opened as one of tables
  bool may_be_closed = false;  // a call closes it
};

// What the threads of one run share. The handles stay valid until the database is destroyed.
class Subject {
 public:
  Subject(uint64_t seed, const SubjectNeeds& needs) : needs_(needs) {
    options_.file_system = memory_.get();
    options_.clock = &clock_;
    options_.write_buffer_bytes = 64 << 10;
    options_.target_file_bytes = 64 << 10;
    options_.level_base_bytes = 128 << 10;
    options_.level0_compaction_trigger = 2;
    options_.level0_slowdown_trigger = 8;
    options_.level0_stop_trigger = 12;
    options_.max_log_bytes = 1 << 20;
    options_.background_threads = 1 + static_cast<int>(seed % 3);
    options_.block_cache_bytes = 64 << 10;
    options_.block_bytes = 1024;
    options_.compression = Compression::kNone;
    // Never so small that fifo drops what is to be found afterwards.
    const CompactionStyle styles[] = {{},
                                      {CompactionStyle::Kind::kLazyLeveled, 0},
                                      {CompactionStyle::Kind::kTiered, 0},
                                      CompactionStyle::Fifo(uint64_t{1} << 40)};
    options_.compaction = styles[seed % 4];
    // Soon more than is allowed: the limit gives way.
    if (seed % 5 == 0) options_.background_bytes_per_second = uint64_t{1} << 20;
    options_.merge_operator = *ParseMergeOperator("max");
    std::mt19937_64 random(seed);
    if (random() % 2 == 0) options_.row_cache_bytes = 64 << 10;
    if (random() % 3 == 0) {
      options_.filter = "ribbon";
      options_.filter_memory_budget = 256 << 10;
    }
    options_.charge_filters_to_cache = random() % 3 == 0;
    options_.optimize_filters_for_hits = random() % 3 == 0;
  }

  absl::Status Open() {
    if (absl::Status opened = OpenDatabase(); !opened.ok()) return opened;
    if (needs_.tables) {
      auto created = tables_->CreateTable(NewTable("users"));
      if (!created.ok()) return created.status();
    }
    for (int i = 0; i < kUntouchedKeys; i++) {
      absl::Status put = db_->Put(WriteOptions(), absl::StrCat("untouched", i), "value");
      if (!put.ok()) return put;
    }
    AddFamily(db_->DefaultColumnFamily());
    for (int i = 0; i < 2; i++) {
      ColumnFamilyOptions options = options_;
      // In one of them data expires as fast as it comes, and a filter has its say.
      if (i == 0) {
        options.ttl_seconds = 50;
        options.merge_operator = nullptr;  // a family expires or merges, and not both
        options.compaction_filter = &filter_;
      }
      auto created = db_->CreateColumnFamily(options, absl::StrCat("f", i));
      if (!created.ok()) return created.status();
      AddFamily(*created);
    }
    return db_->Flush();
  }

  absl::Status Close() { return needs_.tables ? tables_->Close() : db_->Close(); }

  // What every run must leave behind.
  absl::Status CheckAfterwards() {
    absl::Status closed = Close();
    if (!closed.ok()) return closed;
    tables_.reset();
    own_db_.reset();
    if (absl::Status opened = OpenDatabase(); !opened.ok()) return opened;
    const auto problems = db_->Verify();
    if (!problems.ok()) return problems.status();
    if (!problems->empty()) return problems->front().status;
    for (int i = 0; i < kUntouchedKeys; i++) {
      std::string value;
      const std::string key = absl::StrCat("untouched", i);
      if (absl::Status get = db_->Get(ReadOptions(), key, &value); !get.ok()) {
        return absl::DataLossError(absl::StrCat(key, ": ", get.ToString()));
      }
    }
    return Close();
  }

  DB& db() { return *db_; }
  TableDatabase& tables() { return *tables_; }
  const Options& options() const { return options_; }
  bool may_be_closed() const { return needs_.may_be_closed; }

  // Under a budget a filter's amount is not to be given.
  std::string Filter(std::string_view spec) const {
    return std::string(options_.filter_memory_budget == 0 ? spec : spec.substr(0, spec.find(':')));
  }
  TableSchema NewTable(std::string name) const {
    return {.name = std::move(name),
            .families = {{.name = "a", .max_versions = 3, .filter = Filter("cuckoo:12")},
                         {.name = "b", .filter = Filter("blocked_bloom:10")}}};
  }

  void AddFamily(ColumnFamily* family) {
    const std::lock_guard lock(mutex_);
    families_.push_back(family);
  }
  ColumnFamily* AnyFamily(std::mt19937_64& random) {
    const std::lock_guard lock(mutex_);
    return families_[random() % families_.size()];
  }
  std::string NewName() { return absl::StrCat("n", next_name_.fetch_add(1)); }

 private:
  absl::Status OpenDatabase() {
    if (needs_.tables) {
      auto opened = TableDatabase::Open(options_, "/db");
      if (!opened.ok()) return opened.status();
      tables_ = *std::move(opened);
      db_ = &tables_->db();
      return absl::OkStatus();
    }
    auto opened = DB::Open(options_, "/db");
    if (!opened.ok()) return opened.status();
    own_db_ = *std::move(opened);
    db_ = own_db_.get();
    return absl::OkStatus();
  }

  const SubjectNeeds needs_;
  const std::unique_ptr<FileSystem> memory_ = NewMemoryFileSystem();
  const HurryingClock clock_;
  const BusyFilter filter_;
  Options options_;
  std::unique_ptr<DB> own_db_;             // or
  std::unique_ptr<TableDatabase> tables_;  // which holds it
  DB* db_ = nullptr;
  // std::mutex, which knows no annotations: guards the list below.
  std::mutex mutex_;
  std::vector<ColumnFamily*> families_;
  std::atomic<uint64_t> next_name_{0};
};

std::string AnyKey(std::mt19937_64& random) { return absl::StrCat("busy", random() % kBusyKeys); }

WriteOptions AnyWriteOptions(std::mt19937_64& random) {
  WriteOptions options;
  options.sync = random() % 8 == 0;
  options.disable_wal = !options.sync && random() % 16 == 0;
  return options;
}

using Call = absl::Status (*)(Subject& subject, std::mt19937_64& random);

absl::Status Put(Subject& subject, std::mt19937_64& random) {
  return subject.db().Put(AnyWriteOptions(random), subject.AnyFamily(random), AnyKey(random),
                          std::string(random() % 3000, 'v'));
}

absl::Status Delete(Subject& subject, std::mt19937_64& random) {
  return subject.db().Delete(AnyWriteOptions(random), subject.AnyFamily(random), AnyKey(random));
}

absl::Status Merge(Subject& subject, std::mt19937_64& random) {
  return subject.db().Merge(AnyWriteOptions(random), subject.AnyFamily(random), AnyKey(random),
                            std::string(random() % 300, 'm'));
}

std::pair<std::string, std::string> AnyRange(std::mt19937_64& random) {
  std::string begin = AnyKey(random);
  std::string end = AnyKey(random);
  if (end < begin) std::swap(begin, end);
  return {std::move(begin), std::move(end)};
}

absl::Status DeleteRange(Subject& subject, std::mt19937_64& random) {
  const auto [begin, end] = AnyRange(random);
  return subject.db().DeleteRange(AnyWriteOptions(random), subject.AnyFamily(random), begin, end);
}

absl::Status Write(Subject& subject, std::mt19937_64& random) {
  WriteBatch batch;
  if (random() % 4 == 0) {
    const auto [begin, end] = AnyRange(random);
    batch.DeleteRange(subject.AnyFamily(random), begin, end);
  }
  for (uint64_t left = random() % 20; left > 0; left--) {
    batch.Put(subject.AnyFamily(random), AnyKey(random), std::string(random() % 500, 'b'));
  }
  return subject.db().Write(AnyWriteOptions(random), batch);
}

absl::Status Get(Subject& subject, std::mt19937_64& random) {
  PinnedValue value;
  const Snapshot* snapshot = random() % 4 == 0 ? subject.db().GetSnapshot() : nullptr;
  ReadOptions options;
  options.snapshot = snapshot;
  const absl::Status status =
      subject.db().Get(options, subject.AnyFamily(random), AnyKey(random), &value);
  subject.db().ReleaseSnapshot(snapshot);
  return status;
}

absl::Status MultiGet(Subject& subject, std::mt19937_64& random) {
  std::vector<std::string> keys;
  for (uint64_t left = 1 + random() % 20; left > 0; left--) keys.push_back(AnyKey(random));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<PinnedValue> values(keys.size());
  std::vector<absl::Status> statuses(keys.size());
  subject.db().MultiGet(ReadOptions(), subject.AnyFamily(random), views, values, statuses);
  return statuses.front();
}

absl::Status Exists(Subject& subject, std::mt19937_64& random) {
  ColumnFamily* const family = subject.AnyFamily(random);
  subject.db().MayExist(ReadOptions(), family, AnyKey(random));
  return subject.db().Exists(ReadOptions(), family, AnyKey(random)).status();
}

// Lives for a while: what it reads is flushed, compacted or dropped under it.
absl::Status Iterate(Subject& subject, std::mt19937_64& random) {
  const auto iterator = subject.db().NewIterator(ReadOptions(), subject.AnyFamily(random));
  std::string last;
  for (iterator->Seek(AnyKey(random)); iterator->Valid(); iterator->Next()) {
    if (iterator->key() <= last) return absl::InternalError("an iterator goes backwards");
    last = std::string(iterator->key());
    if (random() % 64 == 0) std::this_thread::yield();
  }
  if (iterator->status().ok()) iterator->SeekToLast();
  if (!iterator->status().ok() || random() % 2 == 0) return iterator->status();
  if (absl::Status refreshed = iterator->Refresh(); !refreshed.ok()) return refreshed;
  iterator->SeekForPrev(AnyKey(random));
  return iterator->status();
}

absl::Status Snapshots(Subject& subject, std::mt19937_64& random) {
  const Snapshot* const older = subject.db().GetSnapshot();
  const Snapshot* const newer = subject.db().GetSnapshot();
  const bool in_order = older->sequence() <= newer->sequence();
  if (random() % 2 == 0) subject.db().ReleaseSnapshot(nullptr);
  subject.db().ReleaseSnapshot(older);
  subject.db().ReleaseSnapshot(newer);
  return in_order ? absl::OkStatus() : absl::InternalError("a later snapshot is older");
}

absl::Status CreateFamily(Subject& subject, std::mt19937_64& random) {
  const std::string name = random() % 4 == 0 ? "same" : subject.NewName();
  auto created = subject.db().CreateColumnFamily(ColumnFamilyOptions(subject.options()), name);
  if (created.ok()) subject.AddFamily(*created);
  return created.status();
}

// Of the default family too, which is refused.
absl::Status DropFamily(Subject& subject, std::mt19937_64& random) {
  const absl::Status status = subject.db().DropColumnFamily(subject.AnyFamily(random));
  return absl::IsInvalidArgument(status) ? absl::OkStatus() : status;
}

absl::Status FindFamily(Subject& subject, std::mt19937_64& random) {
  if (random() % 2 == 0) subject.db().ColumnFamilies();
  return subject.db().FindColumnFamily(random() % 2 == 0 ? "f0" : "none").status();
}

absl::Status SetFilter(Subject& subject, std::mt19937_64& random) {
  constexpr std::string_view kFilters[] = {"bloom:10", "cuckoo:12", "none", ""};
  constexpr std::string_view kFilterKeys[] = {"whole", "prefix:4", "whole+prefix:4", ""};
  return subject.db().SetFilter(subject.AnyFamily(random), subject.Filter(kFilters[random() % 4]),
                                kFilterKeys[random() % 4]);
}

// Of every part of the store that goes by one, and back.
absl::Status SetOptions(Subject& subject, std::mt19937_64& random) {
  constexpr OptionSetting kOfDatabase[] = {{"max_log_bytes", "1M"},
                                           {"max_log_bytes", "1G"},
                                           {"db_write_buffer_bytes", "1M"},
                                           {"db_write_buffer_bytes", "0"},
                                           {"background_threads", "1"},
                                           {"background_threads", "4"},
                                           {"max_open_files", "16"},
                                           {"max_open_files", "0"},
                                           {"background_bytes_per_second", "100M"},
                                           {"background_bytes_per_second", "0"}};
  constexpr OptionSetting kOfFamily[] = {
      {"write_buffer_bytes", "64K"}, {"write_buffer_bytes", "1M"},  {"compression", "zstd"},
      {"compression", "none"},       {"compaction", "tiered"},      {"compaction", "leveled"},
      {"level0_stop_trigger", "20"}, {"level0_stop_trigger", "36"}, {"filter", "cuckoo:12"},
      {"filter", "bloom:10"},        {"block_bytes", "1K"},         {"block_bytes", "16K"}};
  ColumnFamily* family = subject.AnyFamily(random);
  OptionSetting settings[] = {kOfDatabase[random() % std::size(kOfDatabase)],
                              kOfFamily[random() % std::size(kOfFamily)]};
  const std::string filter = subject.Filter(settings[1].text);
  if (settings[1].name == "filter") settings[1].text = filter;
  const absl::Status status = subject.db().SetOptions(family, settings);
  if (!status.ok()) return status;
  return subject.db().GetOption(family, settings[random() % 2].name).status();
}

absl::Status Flush(Subject& subject, std::mt19937_64& random) {
  return subject.db().Flush(subject.AnyFamily(random));
}

absl::Status CompactRange(Subject& subject, std::mt19937_64& random) {
  const std::string low = AnyKey(random);
  const std::string high = AnyKey(random);
  std::optional<std::string_view> begin;
  std::optional<std::string_view> end;
  if (random() % 2 == 0) begin = low;
  if (random() % 2 == 0) end = high;
  return subject.db().CompactRange(subject.AnyFamily(random), begin, end);
}

absl::Status Refilter(Subject& subject, std::mt19937_64& random) {
  static constexpr const char* kFilters[] = {"ribbon:1%", "cuckoo:10", "blocked_bloom:8", "none"};
  const absl::Status status =
      subject.db()
          .Refilter(subject.AnyFamily(random),
                    {.filter = subject.Filter(kFilters[random() % 4]),
                     .filter_key = random() % 2 == 0 ? "whole" : "whole+prefix:3"})
          .status();
  // The family was dropped in the middle of it.
  return absl::IsCancelled(status) ? absl::OkStatus() : status;
}

// Of one file or two, for whichever families, with keys that others write.
absl::Status Ingest(Subject& subject, std::mt19937_64& random) {
  std::vector<IngestFile> files;
  for (uint64_t left = 1 + random() % 2; left > 0; left--) {
    std::set<std::string> keys;
    for (uint64_t more = 1 + random() % 20; more > 0; more--) keys.insert(AnyKey(random));
    ColumnFamily* const family = subject.AnyFamily(random);
    files.push_back({"/table-" + subject.NewName(), family});
    auto writer = subject.db().NewSstWriter(family, files.back().path);
    if (!writer.ok()) return writer.status();
    for (const std::string& key : keys) {
      const absl::Status added =
          random() % 4 == 0 ? (*writer)->Delete(key) : (*writer)->Put(key, std::string(100, 'i'));
      if (!added.ok()) return added;
    }
    if (absl::Status finished = (*writer)->Finish().status(); !finished.ok()) return finished;
  }
  IngestOptions options;
  options.move = random() % 2 == 0;
  const absl::Status status = subject.db().Ingest(files, options).status();
  // Two for one family whose ranges overlap.
  return absl::IsInvalidArgument(status) && files.size() == 2 ? absl::OkStatus() : status;
}

// Whatever runs beside it, a call may find its key or family absent, its family dropped, the
// database closed, the name taken or another backup being made, and nothing else.
bool MayAnswer(const absl::Status& status) {
  return status.ok() || absl::IsNotFound(status) || absl::IsFailedPrecondition(status) ||
         absl::IsAlreadyExists(status);
}

absl::Status StepOf(Transaction& transaction, Subject& subject, std::mt19937_64& random) {
  ColumnFamily* const family = subject.AnyFamily(random);
  std::string value;
  switch (random() % 8) {
    case 0:
      return transaction.Delete(family, AnyKey(random));
    case 1:
      return transaction.Get(ReadOptions(), family, AnyKey(random), &value);
    case 2:
      return transaction.GetForUpdate(ReadOptions(), family, AnyKey(random), &value);
    case 3:
      return transaction.SetSavepoint();
    case 4: {
      const auto iterator = transaction.NewIterator(ReadOptions(), family);
      iterator->Seek(AnyKey(random));
      for (int left = 20; left > 0 && iterator->Valid(); left--) iterator->Next();
      return iterator->status();
    }
    case 5:
      return transaction.RollbackToSavepoint();
    default:
      return transaction.Put(family, AnyKey(random), std::string(random() % 500, 't'));
  }
}

// Of either kind, committed, rolled back or forgotten; one that finds a conflict is none of these.
absl::Status Transact(Subject& subject, std::mt19937_64& random) {
  TransactionOptions options;
  options.mode = random() % 2 == 0 ? TransactionOptions::Mode::kOptimistic
                                   : TransactionOptions::Mode::kPessimistic;
  options.snapshot_at_begin = random() % 2 == 0;
  options.detect_deadlocks = random() % 4 != 0;
  options.lock_timeout = std::chrono::milliseconds(random() % 20);
  const auto begun = subject.db().BeginTransaction(options);
  if (!begun.ok()) return begun.status();
  absl::Status status;
  for (uint64_t left = random() % 8; left > 0 && MayAnswer(status); left--) {
    status = StepOf(**begun, subject, random);
  }
  if (MayAnswer(status)) {
    status = random() % 4 == 0   ? (*begun)->Rollback()
             : random() % 8 == 0 ? absl::OkStatus()
                                 : (*begun)->Commit(AnyWriteOptions(random));
  }
  const bool was_beaten = absl::IsAborted(status) || absl::IsDeadlineExceeded(status);
  return was_beaten ? absl::OkStatus() : status;
}

absl::Status WaitForBackgroundWork(Subject& subject, std::mt19937_64& /*random*/) {
  return subject.db().WaitForBackgroundWork();
}

absl::Status Checkpoint(Subject& subject, std::mt19937_64& /*random*/) {
  const std::string directory = "/checkpoint-" + subject.NewName();
  if (absl::Status status = subject.db().Checkpoint(directory); !status.ok()) return status;
  Options options = subject.options();
  options.read_only = true;
  const auto opened = DB::Open(options, directory);
  if (!opened.ok()) return absl::DataLossError(opened.status().ToString());
  std::string value;
  return (*opened)->Get(ReadOptions(), "untouched7", &value);
}

absl::Status BackupTo(Subject& subject, std::mt19937_64& random) {
  return subject.db().BackupTo(random() % 2 == 0 ? "/backups" : "/other").status();
}

absl::Status Look(Subject& subject, std::mt19937_64& random) {
  const std::vector<std::string_view> names = DB::PropertyNames();
  std::string name(names[random() % names.size()]);
  if (absl::EndsWith(name, "<N>")) name.replace(name.size() - 3, 3, "0");
  ColumnFamily* const family = subject.AnyFamily(random);
  subject.db().GetStatistics();
  subject.db().Explain(family, AnyKey(random)).status().IgnoreError();
  const KeyRange range{"a", "z"};
  subject.db().GetApproximateSizes(family, {&range, 1}).status().IgnoreError();
  return subject.db().GetProperty(family, name).status();
}

absl::Status Explain(Subject& subject, std::mt19937_64& random) {
  if (random() % 2 == 0) {
    return subject.db().PlanFilters(uint64_t{64 << 10} << (random() % 8)).status();
  }
  const auto [begin, end] = AnyRange(random);
  return subject.db().ExplainRange(subject.AnyFamily(random), begin, end + "~").status();
}

// Begun and ended by whoever comes first.
absl::Status Trace(Subject& subject, std::mt19937_64& random) {
  if (random() % 2 == 0) return subject.db().EndTrace().status();
  TraceOptions options;
  options.max_bytes = uint64_t{1} << (10 + random() % 10);
  options.hash_keys = random() % 2 == 0;
  options.one_in = 1 + static_cast<uint32_t>(random() % 3);
  return subject.db().StartTrace(options, "/trace-" + subject.NewName());
}

absl::Status Verify(Subject& subject, std::mt19937_64& /*random*/) {
  const auto problems = subject.db().Verify();
  if (!problems.ok()) return problems.status();
  return problems->empty() ? absl::OkStatus() : problems->front().status;
}

absl::Status OpenReadOnly(Subject& subject, std::mt19937_64& /*random*/) {
  Options options = subject.options();
  options.read_only = true;
  const auto opened = DB::Open(options, "/db");
  if (!opened.ok()) return absl::DataLossError(opened.status().ToString());
  std::string value;
  return (*opened)->Get(ReadOptions(), "untouched7", &value);
}

// Only once the first has let go.
absl::Status OpenTwice(Subject& subject, std::mt19937_64& /*random*/) {
  const auto second = DB::Open(subject.options(), "/db");
  if (!second.ok()) return absl::OkStatus();
  const absl::Status first = subject.db().Flush();
  return absl::IsFailedPrecondition(first) ? absl::OkStatus()
                                           : absl::InternalError("a second opener was let in");
}

// Without opening it.
absl::Status LookFromOutside(Subject& subject, std::mt19937_64& random) {
  if (random() % 3 == 0) {
    const auto statistics = DB::ReadStatistics(subject.options(), "/db");
    return statistics.ok() || absl::IsNotFound(statistics.status())
               ? absl::OkStatus()
               : absl::InternalError(statistics.status().ToString());
  }
  if (random() % 2 == 0) {
    Options options = subject.options();
    const absl::Status loaded = DB::LoadOptions("/db", &options);
    return loaded.ok() ? loaded : absl::InternalError(loaded.ToString());
  }
  const auto families = DB::ListColumnFamilies(subject.options(), "/db");
  if (!families.ok()) return absl::InternalError(families.status().ToString());
  return families->front() == "default" ? absl::OkStatus()
                                        : absl::InternalError("there is no default family");
}

// Of a database that is open; one that another call has closed is repaired, and not destroyed.
absl::Status DestroyOrRepair(Subject& subject, std::mt19937_64& random) {
  if (!subject.may_be_closed() && random() % 2 == 0) {
    const absl::Status destroyed = DB::Destroy(subject.options(), "/db");
    return absl::IsFailedPrecondition(destroyed)
               ? absl::OkStatus()
               : absl::InternalError("destroyed: " + destroyed.ToString());
  }
  const absl::Status repaired = RepairDatabase(subject.options(), "/db").status();
  if (absl::IsFailedPrecondition(repaired)) return absl::OkStatus();
  const bool is_open = subject.db().Flush().ok();
  return repaired.ok() && !is_open ? absl::OkStatus()
                                   : absl::InternalError("repaired: " + repaired.ToString());
}

// Of two tables, of which one comes and goes.
absl::Status UseTable(Subject& subject, std::mt19937_64& random) {
  TableDatabase& tables = subject.tables();
  const std::string name = random() % 4 == 0 ? "visits" : "users";
  const auto found = tables.FindTable(name);
  if (!found.ok() || (name == "visits" && random() % 8 == 0)) {
    if (found.ok()) return tables.DropTable(name);
    return tables.CreateTable(subject.NewTable(name)).status();
  }
  Table* const table = *found;
  const std::string row = AnyKey(random);
  TableBatch batch;
  batch.Put(table, row, "b", "batch", std::string(random() % 300, 'b'));
  batch.DeleteColumn(table, row, "a", "c1");
  RowResult result;
  switch (random() % 12) {
    case 0:
      return tables.Write(WriteOptions(), batch);
    case 1:
      return tables.Increment(WriteOptions(), table, row, "b", "count", 1).status();
    case 2:
      return tables.Append(WriteOptions(), table, row, "b", "text", "more").status();
    case 3:
      return tables
          .CheckAndMutate(WriteOptions(), table, {row, "a", "c0", CellCondition::Operator::kAbsent},
                          batch)
          .status();
    case 4:
      return tables.DeleteRows(WriteOptions(), table, row, row + "~");
    case 5: {
      const auto scanner = tables.Scan({}, table);
      std::string last;
      for (int left = 100; left > 0 && scanner->Next(&result); left--) {
        if (result.row() <= last) return absl::InternalError("a scanner goes backwards");
        last = result.row();
      }
      return scanner->status();
    }
    case 6:
      return tables.Get({}, table, row, &result);
    case 7:
      return tables.Flush(name);
    case 8:
      return random() % 2 == 0 ? tables.MajorCompact(name) : tables.TruncateTable(name);
    case 9: {
      TableSchema schema = subject.NewTable(name);
      schema.families[0].max_versions = 1 + static_cast<uint32_t>(random() % 3);
      return tables.AlterTable(schema);
    }
    default:
      return tables.Put(WriteOptions(), table, row, "a", absl::StrCat("c", random() % 3),
                        std::string(random() % 1000, 'a'));
  }
}

absl::Status Close(Subject& subject, std::mt19937_64& random) {
  // After the others have begun.
  for (uint64_t left = random() % 200; left > 0; left--) std::this_thread::yield();
  return subject.Close();
}

const std::vector<std::pair<std::string, Call>>& Calls() {
  static const auto* const calls =
      new std::vector<std::pair<std::string, Call>>{{"put", Put},
                                                    {"delete", Delete},
                                                    {"merge", Merge},
                                                    {"delete_range", DeleteRange},
                                                    {"write", Write},
                                                    {"get", Get},
                                                    {"multiget", MultiGet},
                                                    {"exists", Exists},
                                                    {"iterate", Iterate},
                                                    {"snapshots", Snapshots},
                                                    {"create_family", CreateFamily},
                                                    {"drop_family", DropFamily},
                                                    {"find_family", FindFamily},
                                                    {"set_filter", SetFilter},
                                                    {"set_options", SetOptions},
                                                    {"flush", Flush},
                                                    {"compact_range", CompactRange},
                                                    {"refilter", Refilter},
                                                    {"ingest", Ingest},
                                                    {"transact", Transact},
                                                    {"wait", WaitForBackgroundWork},
                                                    {"checkpoint", Checkpoint},
                                                    {"backup", BackupTo},
                                                    {"look", Look},
                                                    {"explain", Explain},
                                                    {"trace", Trace},
                                                    {"verify", Verify},
                                                    {"open_read_only", OpenReadOnly},
                                                    {"open_twice", OpenTwice},
                                                    {"look_from_outside", LookFromOutside},
                                                    {"destroy_or_repair", DestroyOrRepair},
                                                    {"table", UseTable},
                                                    {"close", Close}};
  return *calls;
}

}  // namespace

const std::vector<std::string>& CallNames() {
  static const auto* const names = [] {
    auto* list = new std::vector<std::string>;
    for (const auto& [name, call] : Calls()) list->push_back(name);
    return list;
  }();
  return *names;
}

std::string Describe(const PairRun& run) {
  return absl::StrCat(CallNames()[run.first], " beside ", CallNames()[run.second], ", seed ",
                      run.seed, ", ", run.threads, " threads");
}

std::string RunPair(const PairRun& run) {
  const auto has = [&](Call call) {
    return Calls()[run.first].second == call || Calls()[run.second].second == call;
  };
  Subject subject(run.seed, {.tables = has(UseTable), .may_be_closed = has(Close)});
  if (absl::Status opened = subject.Open(); !opened.ok()) return opened.ToString();
  std::mutex mutex;
  std::string wrong;
  std::vector<std::thread> threads;
  for (int i = 0; i < run.threads; i++) {
    threads.emplace_back([&, i] {
      std::mt19937_64 random(run.seed * 1000 + static_cast<uint64_t>(i));
      const auto& [name, call] = Calls()[i % 2 == 0 ? run.first : run.second];
      for (int left = run.calls; left > 0; left--) {
        const absl::Status status = call(subject, random);
        if (MayAnswer(status)) continue;
        const std::lock_guard lock(mutex);
        absl::StrAppend(&wrong, name, ": ", status.ToString(), "\n");
        return;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (absl::Status after = subject.CheckAfterwards(); !after.ok()) {
    absl::StrAppend(&wrong, "afterwards: ", after.ToString(), "\n");
  }
  return wrong;
}

}  // namespace winnow::pairs
