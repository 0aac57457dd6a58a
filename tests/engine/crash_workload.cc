#include "tests/engine/crash_workload.h"

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"

namespace winnow {

Options CrashOptions(FileSystem* file_system) {
  Options options;
  options.file_system = file_system;
  options.background_threads = 1;
  options.write_buffer_bytes = size_t{64} << 10;
  options.block_bytes = 512;
  options.block_cache_bytes = 0;
  return options;
}

CrashWorkload::CrashWorkload(MemoryFileSystem* memory, FileSystem* file_system, uint64_t seed,
                             MemoryFileSystem::ErrorHook hook)
    : memory_(memory), file_system_(file_system), random_(seed), hook_(std::move(hook)) {
  for (int i = 0; i < 24; i++) keys_.push_back(absl::StrCat("key", i));
  keys_.insert(keys_.end(), {"", "never written", "zzz"});
}

void CrashWorkload::Note(const absl::Status& status) {
  if (!status.ok()) errors_.push_back(status);
}

std::string CrashWorkload::RandomKey() { return keys_[random_() % 24]; }

std::optional<std::string> CrashWorkload::RandomValue() {
  if (random_() % 6 == 0) return std::nullopt;
  std::string value = absl::StrCat("value ", num_writes_, " ");
  value.resize(value.size() + random_() % 400, static_cast<char>('a' + random_() % 26));
  return value;
}

void CrashWorkload::Open() {
  auto opened = DB::Open(CrashOptions(file_system_), kCrashDatabase);
  Note(opened.status());
  if (!opened.ok()) return;
  db_ = *std::move(opened);
  if (created_at_ == CallTime::kNever) created_at_ = memory_->num_operations();
  const absl::StatusOr<ColumnFamily*> second = db_->FindColumnFamily("second");
  second_ = second.ok() ? *second : nullptr;
}

void CrashWorkload::Close() {
  if (db_ == nullptr) return;
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
    if (update.value.has_value()) {
      batch.Put(family, update.key, *update.value);
    } else {
      batch.Delete(family, update.key);
    }
  }
  History::Write write = {updates, sync, {memory_->num_operations(), CallTime::kNever}};
  WriteOptions options;
  options.sync = sync;
  const absl::Status status = db_->Write(options, batch);
  if (status.ok()) write.time.acknowledged = memory_->num_operations();
  Note(status);
  history_.AddWrite(std::move(write));
}

void CrashWorkload::WriteSome(int count) {
  for (int i = 0; i < count; i++) {
    std::vector<Update> updates;
    const size_t num_updates = random_() % 3 == 0 ? 1 + random_() % 6 : 1;
    for (size_t j = 0; j < num_updates; j++) {
      const uint32_t family_id = second_ != nullptr && random_() % 2 == 0 ? second_->id() : 0;
      updates.push_back({family_id, RandomKey(), RandomValue()});
    }
    Write(/*sync=*/random_() % 5 == 0, updates);
  }
}

void CrashWorkload::CreateSecondFamily(std::string_view filter) {
  if (db_ == nullptr) return;
  ColumnFamilyOptions options = CrashOptions(file_system_);
  options.filter = filter;
  HistoryOfFamily family;
  family.id = static_cast<uint32_t>(history_.families().size() + 1);
  family.name = "second";
  family.created.begin = memory_->num_operations();
  const absl::StatusOr<ColumnFamily*> created = db_->CreateColumnFamily(options, "second");
  Note(created.status());
  if (created.ok()) {
    family.created.acknowledged = memory_->num_operations();
    second_ = *created;
  }
  history_.families().push_back(family);
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
      // The set of logs is locked now, and a write that met an error would wait for it.
      for (int i = 0; i < 4 && errors_.empty(); i++) {
        Write(false, {{0, RandomKey(), RandomValue()}});
      }
      finished = true;
    }
    return hook_ == nullptr ? absl::OkStatus() : hook_(operation);
  });
  const size_t num_writes = history_.writes().size();
  absl::Status status = db_->Flush(db_->DefaultColumnFamily());
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
  absl::Status status = db_->CompactRange(db_->DefaultColumnFamily(), std::nullopt, std::nullopt);
  status.Update(db_->WaitForBackgroundWork());
  Note(status);
}

void CrashWorkload::Run() {
  memory_->set_error_hook(hook_);
  Open();
  WriteSome(10);
  CreateSecondFamily("cuckoo:12");
  WriteSome(16);
  if (db_ != nullptr) Flush(db_->DefaultColumnFamily());
  WriteSome(14);
  if (db_ != nullptr) Note(db_->SetFilter(db_->DefaultColumnFamily(), "bloom:12", ""));
  FlushWhileWriting();
  WriteSome(6);
  Flush(second_);
  WriteSome(6);
  CompactEverything();
  WriteSome(6);
  DropSecondFamily();
  WriteSome(4);
  CreateSecondFamily("blocked_bloom:10");
  WriteSome(12);
  Close();
  Open();
  WriteSome(10);
  if (db_ != nullptr) Flush(db_->DefaultColumnFamily());
  WriteSome(8);
  Close();
  memory_->set_error_hook(nullptr);
}

}  // namespace winnow
