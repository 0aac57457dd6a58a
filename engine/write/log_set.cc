// The suffix rule: what a power failure takes is a suffix of all writes, never something from the
// middle. Within one log the order of its bytes sees to that. Across logs it holds since nothing of
// a later log, and no table made from later writes, is synced before every older log is. The start
// record checks it afterwards: it says how many batches the log before must hold.
#include "engine/write/log_set.h"

#include <algorithm>
#include <utility>

#include "engine/base/coding.h"
#include "engine/base/status.h"
#include "engine/version/file_names.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

std::string LogStart::Encode() const {
  std::string payload(1, static_cast<char>(LogPayload::kLogStart));
  PutFixed64(&payload, previous_log);
  PutFixed64(&payload, previous_records);
  return payload;
}

bool LogStart::Decode(std::string_view payload, LogStart* start) {
  if (payload.empty() || payload[0] != static_cast<char>(LogPayload::kLogStart)) return false;
  payload.remove_prefix(1);
  return GetFixed64(&payload, &start->previous_log) &&
         GetFixed64(&payload, &start->previous_records) && payload.empty();
}

LogSet::LogSet(FileSystem* file_system, std::string directory)
    : file_system_(file_system), directory_(std::move(directory)) {}

void LogSet::AddExisting(uint64_t number, uint64_t bytes) {
  MutexLock lock(&mutex_);
  files_[number] = bytes;
}

// Nothing about the present log changes here: on an error it goes on as if nobody had tried.
absl::StatusOr<std::shared_ptr<LogWriter>> LogSet::CreateLog(uint64_t number) {
  const std::string path = LogFileName(directory_, number);
  std::shared_ptr<LogWriter> writer;
  absl::Status status = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
    WINNOW_ASSIGN_OR_RETURN(writer, LogWriter::Create(*file_system_, path, {number, database_id_},
                                                      WritableFileOptions::Mode::kLog));
    return absl::OkStatus();
  });
  // No predecessor is named for the first log of an opening: what replay found has been made tables
  // by then, and no hole can lie between. Nor after a log that was given up, of which nobody can
  // say how many records it holds.
  const LogStart start = {current_ == nullptr ? 0 : current_number(), current_records_};
  if (status.ok()) status = CatchOutOfMemory([&] { return writer->Append(start.Encode()); });
  if (status.ok()) return writer;
  file_system_->Remove(path).IgnoreError();  // half a log among whole ones is in replay's way
  return status;
}

absl::Status LogSet::StartNew(uint64_t number) {
  WINNOW_RETURN_IF_ERROR(CheckInPlace());
  // The places that the older log takes, before there is a new one: from then on nothing fails.
  std::list<Older> older;
  std::map<uint64_t, uint64_t> older_file;
  if (current_ != nullptr) {
    older.push_back({current_number(), current_});
    older_file[current_number()] = current_->size();
  }
  std::string path = LogFileName(directory_, number);
  WINNOW_ASSIGN_OR_RETURN(std::shared_ptr<LogWriter> writer, CreateLog(number));
  FileInPlace file;  // without memory the new log is not watched, which is the lesser evil
  UnlessOutOfMemory(
      [&] { file = FileInPlace(*file_system_, std::move(path), FileInPlace::Size::kOnlyGrows); });
  {
    // Before the older one can be closed, which cuts it, or removed.
    MutexLock lock(&mutex_);
    current_file_ = std::move(file);
  }
  // Neither the new log's name nor the older log is synced here, where a leader and all writers
  // behind it would wait, on a journaling file system for whatever else the disk has to write. The
  // next sync of a write, or the flush of the memtable that goes with the older log, does it; until
  // then count and flag make both look.
  names_created_.fetch_add(1, std::memory_order_release);
  if (current_ != nullptr) {
    bytes_before_current_ += current_->size();
    MutexLock lock(&mutex_);
    files_.merge(older_file);
    older_.splice(older_.end(), older);
    older_unsynced_.store(true, std::memory_order_release);
  }
  current_ = std::move(writer);
  current_records_ = 0;
  current_number_.store(number, std::memory_order_release);
  current_bytes_.store(current_->size(), std::memory_order_relaxed);
  return absl::OkStatus();
}

// The sync covers the records before the one that failed, whose callers were told that they are in
// the log. No clean-close marker follows: nothing may stand behind bytes that are unknown.
absl::Status LogSet::AbandonCurrent() {
  WINNOW_RETURN_IF_ERROR(Sync());
  MutexLock lock(&mutex_);
  current_file_ = FileInPlace();  // it is cut to its size now
  files_[current_number()] = current_->size();
  bytes_before_current_ += current_->size();
  current_.reset();
  current_records_ = 0;
  current_bytes_.store(0, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status LogSet::AppendBegunRecord() {
  WINNOW_RETURN_IF_ERROR(current_->AppendBegunRecord());
  current_records_++;
  current_bytes_.store(current_->size(), std::memory_order_relaxed);
  return absl::OkStatus();
}

// A later sync that succeeds proves nothing about a name whose sync has failed, so that the error
// stays; unless the directory could not even be opened.
absl::Status LogSet::SyncNames() {
  const auto all_synced = [this] {
    return names_synced_.load(std::memory_order_acquire) ==
           names_created_.load(std::memory_order_acquire);
  };
  if (all_synced()) return absl::OkStatus();
  MutexLock sync(&sync_mutex_);
  WINNOW_RETURN_IF_ERROR(name_error_);
  if (all_synced()) return absl::OkStatus();
  const uint64_t created = names_created_.load(std::memory_order_acquire);
  absl::Status status = file_system_->SyncDirectory(directory_);
  if (status.ok()) {
    names_synced_.store(created, std::memory_order_release);
  } else if (!absl::IsResourceExhausted(status)) {
    name_error_ = status;
  }
  return status;
}

// Ends the older logs with their marker, which includes the sync, oldest first. An error stays: a
// writer whose sync has failed returns that error for ever, and so does each later call here. A
// full disk is no error: the sync needs no room, and the marker only tells that all was well.
absl::Status LogSet::SyncOlder() {
  if (!older_unsynced_.load(std::memory_order_acquire)) return absl::OkStatus();
  MutexLock sync(&sync_mutex_);  // whoever else comes must wait for the syncs anyway
  for (;;) {
    std::shared_ptr<LogWriter> writer;
    {
      MutexLock lock(&mutex_);
      if (older_.empty()) {
        older_unsynced_.store(false, std::memory_order_release);
        return absl::OkStatus();
      }
      writer = older_.front().writer;
    }
    bool has_marker = false;
    WINNOW_RETURN_IF_ERROR(writer->CloseSynced(&has_marker));
    if (!has_marker) newest_without_marker_ = writer->log_number();
    MutexLock lock(&mutex_);
    // It may have been removed meanwhile, when nothing in it was needed any more.
    if (!older_.empty() && older_.front().writer == writer) older_.pop_front();
  }
}

absl::Status LogSet::Sync() {
  WINNOW_RETURN_IF_ERROR(SyncOlder());
  WINNOW_RETURN_IF_ERROR(current_->Sync());
  // A sync succeeds for a file that has no name any more. Looking costs next to nothing beside it.
  return CheckInPlace();
}

// Without the lock while the file is looked at. Meanwhile it may have become an older log, which
// may be cut and removed: then nothing is said about it.
absl::Status LogSet::CheckInPlace() {
  FileInPlace looked_at;
  {
    MutexLock lock(&mutex_);
    looked_at = current_file_;
  }
  const absl::Status status = looked_at.Check(*file_system_);
  MutexLock lock(&mutex_);
  if (!current_file_.IsSameFile(looked_at)) return absl::OkStatus();
  if (status.ok()) current_file_ = std::move(looked_at);
  return status;
}

// Called once the manifest needs those logs no more. The number is kept, and only grows, so that a
// pause delays a removal without forgetting it.
void LogSet::RemoveBefore(uint64_t number) {
  MutexLock removal(&removal_mutex_);
  {
    MutexLock lock(&mutex_);
    remove_before_ = std::max(remove_before_, number);
  }
  RemoveUnneeded();
}

// Under the lock, for which a leader that begins a log waits, the logs are only taken out: to cut,
// close and unlink a file takes the longer the more of it is in the page cache. A pause that begins
// meanwhile comes too late for these, and whoever asked for it does not need them.
//
// A log that goes before it was synced is closed as it is: nothing in it is needed any more, so
// that later logs need not wait for it.
void LogSet::RemoveUnneeded() {
  std::list<Older> unsynced;
  std::map<uint64_t, uint64_t> files;
  {
    MutexLock lock(&mutex_);
    if (removal_pauses_ > 0) return;
    while (!older_.empty() && older_.front().number < remove_before_) {
      unsynced.splice(unsynced.end(), older_, older_.begin());
    }
    if (older_.empty()) older_unsynced_.store(false, std::memory_order_release);
    while (!files_.empty() && files_.begin()->first < remove_before_) {
      files.insert(files_.extract(files_.begin()));
    }
  }
  unsynced.clear();
  // A log that cannot be removed now is removed by the next open, and one that there is no memory
  // to name by the next call.
  while (!files.empty() && UnlessOutOfMemory([&] {
    file_system_->Remove(LogFileName(directory_, files.begin()->first)).IgnoreError();
  })) {
    files.erase(files.begin());
  }
  MutexLock lock(&mutex_);
  files_.merge(files);
}

void LogSet::PauseRemoval() {
  MutexLock lock(&mutex_);
  removal_pauses_++;
}

void LogSet::ResumeRemoval() {
  MutexLock removal(&removal_mutex_);
  {
    MutexLock lock(&mutex_);
    removal_pauses_--;
  }
  RemoveUnneeded();
}

std::map<uint64_t, uint64_t> LogSet::Sizes() const {
  MutexLock lock(&mutex_);
  std::map<uint64_t, uint64_t> sizes = files_;
  if (current_ != nullptr) sizes[current_number()] = current_->size();
  return sizes;
}

// Oldest first here as well. If an older one fails, the newest is closed all the same; the caller
// is told, and must not let the manifest say that all have their marker.
absl::Status LogSet::Close(uint64_t oldest_needed, bool* all_have_markers) {
  absl::Status status = CatchOutOfMemory([&] { return SyncNames(); });
  status.Update(CatchOutOfMemory([&] { return SyncOlder(); }));
  {
    MutexLock sync(&sync_mutex_);
    *all_have_markers = newest_without_marker_ < oldest_needed;
  }
  if (current_ != nullptr) {
    status.Update(CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
      // No marker for a log that others have spoilt; where it was cut, there is no room for one.
      const absl::Status in_place = CheckInPlace();
      const absl::Status closed = in_place.ok() ? current_->CloseCleanly() : current_->Close();
      return in_place.ok() ? closed : in_place;
    }));
    current_.reset();
  }
  *all_have_markers = *all_have_markers && status.ok();
  return status;
}

uint64_t LogSet::BytesFrom(uint64_t number) const {
  MutexLock lock(&mutex_);
  uint64_t bytes = current_bytes_.load(std::memory_order_relaxed);
  for (auto file = files_.lower_bound(number); file != files_.end(); ++file) bytes += file->second;
  return bytes;
}

}  // namespace winnow
