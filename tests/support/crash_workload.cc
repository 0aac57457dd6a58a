#include "tests/support/crash_workload.h"

#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/db/option_checks.h"

namespace winnow {

Options CrashOptions(FileSystem* file_system) {
  Options options;
  options.file_system = file_system;
  options.background_threads = 1;
  options.write_buffer_bytes = size_t{64} << 10;
  options.block_bytes = 512;
  options.block_cache_bytes = 0;
  options.merge_operator = *ParseMergeOperator("append:+");
  return options;
}

Options CrashOptionsUnderBudget(FileSystem* file_system) {
  Options options = CrashOptions(file_system);
  options.filter_memory_budget = uint64_t{256} << 10;
  options.optimize_filters_for_hits = true;
  options.row_cache_bytes = size_t{64} << 10;
  return options;
}

std::string DescribeSteps(std::span<const CrashStep> steps) {
  static constexpr std::array<const char*, kNumCrashSteps> kNames = {
      "put",      "synced put",    "synced delete", "batch",      "flush",  "compact",
      "snapshot", "create family", "drop family",   "checkpoint", "reopen", "set filter",
      "ingest",   "delete range",  "transact",      "refilter"};
  std::string text;
  for (const CrashStep step : steps) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", kNames[static_cast<size_t>(step)]);
  }
  return text;
}

CrashWorkload::CrashWorkload(RecordingFileSystem* memory, FileSystem* file_system, uint64_t seed,
                             RecordingFileSystem::ErrorHook hook)
    : memory_(memory),
      file_system_(file_system),
      random_(seed),
      hook_(std::move(hook)),
      num_openings_(static_cast<int>(seed % 2)) {
  for (int i = 0; i < 24; i++) keys_.push_back(absl::StrCat("key", i));
  keys_.insert(keys_.end(), {"", "never written", "zzz"});
}

void CrashWorkload::Note(const absl::Status& status) {
  if (!status.ok()) errors_.push_back(status);
}

std::string CrashWorkload::RandomKey() { return keys_[random_() % 24]; }

uint32_t CrashWorkload::RandomFamily() {
  return second_ != nullptr && random_() % 2 == 0 ? second_->id() : 0;
}

std::optional<std::string> CrashWorkload::RandomValue() {
  if (random_() % 6 == 0) return std::nullopt;
  std::string value = absl::StrCat("value ", num_writes_, " ");
  const auto letter = static_cast<char>('a' + random_() % 26);
  value.resize(value.size() + random_() % 400, letter);
  return value;
}

void CrashWorkload::Open() {
  is_under_budget_ = num_openings_++ % 2 == 1;
  auto opened = DB::Open(
      is_under_budget_ ? CrashOptionsUnderBudget(file_system_) : CrashOptions(file_system_),
      kCrashDatabase);
  Note(opened.status());
  if (!opened.ok()) return;
  db_ = *std::move(opened);
  writes_when_opened_ = history_.writes().size();
  if (created_at_ == CallTime::kNever) created_at_ = memory_->num_operations();
  const absl::StatusOr<ColumnFamily*> second = db_->FindColumnFamily("second");
  second_ = second.ok() ? *second : nullptr;
}

void CrashWorkload::Close() {
  if (db_ == nullptr) return;
  CheckSnapshots();
  CheckNoFailedWriteIsSeen();
  for (const HeldSnapshot& held : snapshots_) db_->ReleaseSnapshot(held.snapshot);
  snapshots_.clear();
  const absl::Status status = db_->Close();
  if (status.ok()) history_.AddBarrier(memory_->num_operations());
  Note(status);
  db_.reset();
  second_ = nullptr;
}

void CrashWorkload::Write(bool sync, const std::vector<Update>& updates) {
  num_writes_++;
  if (db_ == nullptr) return;
  WriteBatch batch;
  for (const Update& update : updates) {
    ColumnFamily* const family = update.family_id == 0 ? db_->DefaultColumnFamily() : second_;
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
  WriteOptions options;
  options.sync = sync;
  Enter(sync, updates, [&] { return db_->Write(options, batch); });
}

void CrashWorkload::Enter(bool sync, const std::vector<Update>& updates,
                          const std::function<absl::Status()>& write) {
  History::Write entered = {
      updates, sync, {memory_->num_operations(), CallTime::kNever}, writes_when_opened_};
  const absl::Status status = write();
  if (status.ok()) entered.time.acknowledged = memory_->num_operations();
  entered.was_refused = absl::IsFailedPrecondition(status);
  write_failed_ |= !status.ok();
  Note(status);
  history_.AddWrite(std::move(entered));
}

void CrashWorkload::DeleteRange(bool sync) {
  std::string begin = RandomKey();
  std::string end = RandomKey();
  if (end < begin) std::swap(begin, end);
  const uint32_t family_id = RandomFamily();
  Write(sync, {{family_id, keys_[1], absl::StrCat("before a range deletion ", num_writes_)},
               {family_id, begin, std::nullopt, false, end},
               {family_id, end, absl::StrCat("behind a range deletion ", num_writes_)}});
}

// Nothing may ever be seen of what is rolled back, be it to the savepoint or whole.
void CrashWorkload::Transact(TransactionOptions::Mode mode, bool sync) {
  num_writes_++;
  if (db_ == nullptr) return;
  TransactionOptions options;
  options.mode = mode;
  const auto transaction = db_->BeginTransaction(options);
  const auto given_up = db_->BeginTransaction(options);
  Note(transaction.status());
  Note(given_up.status());
  if (!transaction.ok() || !given_up.ok()) return;
  ColumnFamily* const family = db_->DefaultColumnFamily();
  const std::string value = absl::StrCat("committed ", num_writes_);
  std::vector<Update> updates = {{0, keys_[1], value},
                                 {0, keys_[2], std::nullopt},
                                 {0, keys_[3], value, true},
                                 {0, keys_[20], std::nullopt, false, keys_[23]}};
  absl::Status status = (*transaction)->Put(family, keys_[1], value);
  status.Update((*transaction)->Delete(family, keys_[2]));
  status.Update((*transaction)->Merge(family, keys_[3], value));
  status.Update((*transaction)->DeleteRange(family, keys_[20], keys_[23]));
  if (second_ != nullptr) {
    updates.push_back({second_->id(), keys_[1], value});
    status.Update((*transaction)->Put(second_, keys_[1], value));
  }
  status.Update((*transaction)->SetSavepoint());
  status.Update((*transaction)->Put(family, keys_[4], "never committed"));
  status.Update((*transaction)->DeleteRange(family, "", "zzzz"));
  status.Update((*transaction)->RollbackToSavepoint());
  status.Update((*given_up)->Put(family, keys_[5], "never committed"));
  Note(status);
  if (!status.ok()) return;
  WriteOptions write;
  write.sync = sync;
  Enter(sync, updates, [&] { return (*transaction)->Commit(write); });
  Note((*given_up)->Rollback());
}

void CrashWorkload::WriteSome(int count) {
  for (int i = 0; i < count; i++) {
    std::vector<Update> updates;
    const size_t num_updates = random_() % 3 == 0 ? 1 + random_() % 6 : 1;
    for (size_t j = 0; j < num_updates; j++) {
      const uint32_t family_id = RandomFamily();
      updates.push_back({family_id, RandomKey(), RandomValue()});
      if (updates.back().value.has_value())
        updates.back().merges = random_() % 4 == 0 && family_id == 0;
    }
    Write(/*sync=*/random_() % 5 == 0, updates);
  }
}

// Counts as a synced write: it is there whole once the call has returned, and everything before it.
void CrashWorkload::IngestTables(bool move, std::string_view value) {
  num_writes_++;
  if (db_ == nullptr) return;
  std::vector<Update> updates;
  std::vector<IngestFile> files;
  absl::Status status;
  for (ColumnFamily* const family : {db_->DefaultColumnFamily(), second_}) {
    if (family == nullptr) continue;
    files.push_back({absl::StrCat("/data/table-", num_tables_++, ".sst"), family});
    auto writer = db_->NewSstWriter(family, files.back().path);
    status.Update(writer.status());
    if (!writer.ok()) break;
    updates.push_back({family->id(), keys_[1], std::string(value)});
    status.Update((*writer)->Put(keys_[1], value));
    updates.push_back({family->id(), keys_[2], std::nullopt});
    status.Update((*writer)->Delete(keys_[2]));
    status.Update((*writer)->Finish().status());
  }
  Note(status);
  if (!status.ok()) return;
  IngestOptions options;
  options.move = move;
  Enter(/*sync=*/true, updates, [&] { return db_->Ingest(files, options).status(); });
}

void CrashWorkload::CreateSecondFamily(std::string_view filter) {
  if (db_ == nullptr) return;
  ColumnFamilyOptions options = CrashOptions(file_system_);
  options.filter = Fitting(filter);
  // Values with write times, none of which expires; merges are the default family's.
  options.ttl_seconds = kMaxTtlSeconds;
  options.merge_operator = nullptr;
  std::vector<HistoryOfFamily>& families = history_.families();
  HistoryOfFamily family;
  family.id = families.empty() ? 1 : families.back().id + 1;
  family.name = "second";
  family.created.begin = memory_->num_operations();
  const absl::StatusOr<ColumnFamily*> created = db_->CreateColumnFamily(options, "second");
  Note(created.status());
  if (created.ok()) {
    family.created.acknowledged = memory_->num_operations();
    second_ = *created;
    // A call that failed before it took a number left that to this one.
    family.id = second_->id();
    std::erase_if(families, [&](const HistoryOfFamily& other) { return other.id >= family.id; });
  }
  families.push_back(family);
}

void CrashWorkload::DropSecondFamily() {
  if (second_ == nullptr) return;
  CallTime& dropped = history_.families().back().dropped;
  dropped.begin = memory_->num_operations();
  const absl::Status status = db_->DropColumnFamily(second_);
  if (status.ok()) dropped.acknowledged = memory_->num_operations();
  Note(status);
  second_ = nullptr;
}

std::string CrashWorkload::Fitting(std::string_view filter) const {
  return is_under_budget_ ? FilterWithoutAmount(filter) : std::string(filter);
}

void CrashWorkload::SetFilter(std::string_view filter) {
  if (db_ == nullptr) return;
  // With so large a limit fifo drops nothing.
  static constexpr std::array<const char*, 4> kStyles = {"lazy_leveled", "tiered",
                                                         "fifo:1099511627776", "leveled"};
  Note(db_->SetFilter(Fitting(filter), ""));
  const OptionSetting settings[] = {{"block_bytes", filter == "none" ? "1K" : "512"},
                                    {"compaction", kStyles.at(random_() % kStyles.size())},
                                    {"max_log_bytes", filter == "none" ? "2M" : "1G"}};
  Note(db_->SetOptions(db_->DefaultColumnFamily(), settings));
}

void CrashWorkload::Refilter(std::string_view filter) {
  if (db_ == nullptr) return;
  const std::string fitting = Fitting(filter);
  Note(db_->Refilter({.filter = fitting}).status());
  if (second_ != nullptr) Note(db_->Refilter(second_, {.filter = fitting}).status());
}

void CrashWorkload::TakeSnapshot() {
  if (db_ == nullptr) return;
  Contents contents = history_.After(history_.writes().size());
  snapshots_.push_back({db_->GetSnapshot(), std::move(contents[0])});
}

void CrashWorkload::CheckSnapshots() {
  for (const HeldSnapshot& held : snapshots_) {
    ReadOptions read;
    read.snapshot = held.snapshot;
    std::map<std::string, std::string> found;
    const auto iterator = db_->NewIterator(read);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      found.emplace(iterator->key(), iterator->value());
    }
    Note(iterator->status());
    const std::string why = FirstDifference({{0, found}}, {{0, held.contents}});
    // After an error it is not known which writes a snapshot held.
    if (errors_.empty() && !why.empty()) wrong_answer_ = absl::StrCat("a snapshot changed: ", why);
  }
}

void CrashWorkload::CheckNoFailedWriteIsSeen() {
  if (!write_failed_) return;
  std::string problem;
  const Contents found = ReadEverything(*db_, keys_, &problem);
  if (!problem.empty()) return;
  const std::vector<History::Write>& writes = history_.writes();
  const std::string why = FirstDifference(found, history_.After(writes.size()));
  // Those that failed before the database was last opened may have become part of it then.
  bool is_right = false;
  for (const History::FailedWrites& failed : history_.PossibleFailures(writes_when_opened_)) {
    is_right |= FirstDifference(found, history_.After(writes.size(), failed)).empty();
  }
  if (!is_right) wrong_answer_ = absl::StrCat("before reopening: ", why);
}

void CrashWorkload::MakeCheckpoint() {
  if (db_ == nullptr) return;
  CheckpointRecord checkpoint;
  checkpoint.directory = absl::StrCat("/data/checkpoint-", checkpoints_.size());
  checkpoint.time.begin = memory_->num_operations();
  std::string problem;
  checkpoint.contents = ReadEverything(*db_, {}, &problem);
  if (!problem.empty()) Note(absl::UnavailableError(problem));
  checkpoint.contents_are_known = problem.empty();
  const absl::Status status = db_->Checkpoint(checkpoint.directory);
  if (status.ok()) checkpoint.time.acknowledged = memory_->num_operations();
  Note(status);
  checkpoints_.push_back(std::move(checkpoint));
}

void CrashWorkload::Do(CrashStep step) {
  switch (step) {
    case CrashStep::kPut:
    case CrashStep::kPutSynced: {
      const std::string value = absl::StrCat("value ", num_writes_);
      Write(step == CrashStep::kPutSynced, {{RandomFamily(), RandomKey(), value}});
      break;
    }
    case CrashStep::kDeleteSynced:
      Write(true, {{0, keys_[0], std::nullopt}});
      break;
    case CrashStep::kBatch: {
      const std::string value = absl::StrCat("batch ", num_writes_);
      std::vector<Update> updates = {{0, keys_[1], value}, {0, keys_[2], std::nullopt}};
      for (int i = 0; i < 4; i++) updates.push_back({RandomFamily(), RandomKey(), value});
      if (second_ != nullptr) updates.push_back({second_->id(), keys_[1], value});
      Write(false, updates);
      break;
    }
    case CrashStep::kFlush:
      if (db_ != nullptr) Flush(db_->DefaultColumnFamily());
      Flush(second_);
      break;
    case CrashStep::kCompact:
      CompactEverything();
      break;
    case CrashStep::kSnapshot:
      TakeSnapshot();
      break;
    case CrashStep::kCreateFamily:
      if (second_ == nullptr) CreateSecondFamily("cuckoo:12+range:8");
      break;
    case CrashStep::kDropFamily:
      DropSecondFamily();
      break;
    case CrashStep::kCheckpoint:
      MakeCheckpoint();
      break;
    case CrashStep::kReopen:
      Close();
      Open();
      break;
    case CrashStep::kSetFilter:
      SetFilter(random_() % 2 == 0 ? "bloom:12" : "none");
      break;
    case CrashStep::kIngest:
      IngestTables(random_() % 2 == 0, absl::StrCat("ingested ", num_writes_));
      break;
    case CrashStep::kDeleteRange:
      DeleteRange(/*sync=*/random_() % 2 == 0);
      break;
    case CrashStep::kTransact:
      Transact(random_() % 2 == 0 ? TransactionOptions::Mode::kOptimistic
                                  : TransactionOptions::Mode::kPessimistic,
               /*sync=*/random_() % 2 == 0);
      break;
    case CrashStep::kRefilter:
      Refilter(random_() % 2 == 0 ? "ribbon:1%" : "cuckoo:12");
      break;
  }
  CheckSnapshots();
}

void CrashWorkload::RunSteps(std::span<const CrashStep> steps) {
  memory_->set_error_hook(hook_);
  Open();
  Write(false, {{0, keys_[0], "first"}});
  Write(true, {{0, keys_[1], "second"}, {0, keys_[2], "second"}});
  Write(false, {{0, keys_[3], "third"}});
  steps_began_at_ = memory_->num_operations();
  for (const CrashStep step : steps) Do(step);
  Close();
  memory_->set_error_hook(nullptr);
}

void CrashWorkload::RunRandomSteps(size_t count) {
  std::vector<CrashStep> steps;
  for (size_t i = 0; i < count; i++) {
    // Half of them are writes.
    steps.push_back(static_cast<CrashStep>(random_() % (i % 2 == 0 ? 4 : kNumCrashSteps)));
  }
  RunSteps(steps);
}

void CrashWorkload::Flush(ColumnFamily* family) {
  if (db_ == nullptr || family == nullptr) return;
  // What the older logs hold is synced by a flush, and the family has entries of each of them.
  absl::Status status = db_->Flush(family);
  if (status.ok()) history_.AddBarrier(memory_->num_operations());
  status.Update(db_->WaitForBackgroundWork());
  Note(status);
}

void CrashWorkload::FlushWhileWriting() {
  if (db_ == nullptr) return;
  std::atomic<bool> started = false;
  std::atomic<bool> finished = false;
  memory_->set_error_hook([&](const FileOperation& operation) {
    if (operation.kind == FileOperation::Kind::kSync && operation.path.ends_with(".log") &&
        !started.exchange(true)) {
      // By another thread: what a job calls back may not write. The set of logs is locked now, and
      // a write that met an error would wait for it.
      std::thread([&] {
        for (int i = 0; i < 4 && errors_.empty(); i++) {
          Write(false, {{0, RandomKey(), RandomValue()}});
        }
      }).join();
      finished = true;
    }
    return hook_ == nullptr ? absl::OkStatus() : hook_(operation);
  });
  const size_t num_writes = history_.writes().size();
  absl::Status status = db_->Flush();
  status.Update(db_->WaitForBackgroundWork());
  // A write that failed in there makes the flush return before the other writes are done.
  while (started && !finished) std::this_thread::yield();
  Note(status);
  memory_->set_error_hook(hook_);
  if (history_.writes().size() != num_writes + 4) {
    Note(absl::InternalError("the flush synced no older log"));
  }
}

void CrashWorkload::CompactEverything() {
  if (db_ == nullptr) return;
  absl::Status status = db_->CompactRange(std::nullopt, std::nullopt);
  status.Update(db_->WaitForBackgroundWork());
  Note(status);
}

void CrashWorkload::Run() {
  memory_->set_error_hook(hook_);
  Open();
  WriteSome(10);
  CreateSecondFamily("cuckoo:12+range:8");
  WriteSome(16);
  if (db_ != nullptr) Flush(db_->DefaultColumnFamily());
  DeleteRange(/*sync=*/false);
  WriteSome(14);
  Transact(TransactionOptions::Mode::kOptimistic, /*sync=*/true);
  SetFilter("bloom:12");
  FlushWhileWriting();
  WriteSome(6);
  IngestTables(/*move=*/true, "ingested by a move");
  Flush(second_);
  WriteSome(6);
  CompactEverything();
  Refilter("ribbon:1%");
  MakeCheckpoint();
  WriteSome(6);
  DropSecondFamily();
  WriteSome(4);
  CreateSecondFamily("blocked_bloom:10");
  WriteSome(6);
  DeleteRange(/*sync=*/true);
  IngestTables(/*move=*/false, "ingested by a copy");
  Transact(TransactionOptions::Mode::kPessimistic, /*sync=*/false);
  WriteSome(6);
  Close();
  Open();
  DeleteRange(/*sync=*/false);
  WriteSome(10);
  if (db_ != nullptr) Flush(db_->DefaultColumnFamily());
  Refilter("cuckoo:12");
  WriteSome(8);
  Close();
  memory_->set_error_hook(nullptr);
}

}  // namespace winnow
