// Calls of all threads come to one mutex, under which a record is appended to the frame in memory;
// a frame that is full is appended to the file there, so that records are in the order of their
// times. No call may fail because it is recorded: what goes wrong is kept for End, and calls that
// find no room, no memory or an error are only counted.
#include "engine/trace/trace_recorder.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/checksum.h"
#include "engine/base/status.h"
#include "filter/base/out_of_memory.h"
#include "winnow/clock.h"
#include "winnow/options.h"

namespace winnow {

namespace {

// A frame is written once it has so many bytes, beside which its head of 12 is nothing.
constexpr size_t kFrameBytes = size_t{64} << 10;
// Room for the header and a few records.
constexpr uint64_t kLeastBytes = uint64_t{1} << 10;
constexpr uint64_t kMostBytes = uint64_t{1} << 40;
constexpr uint32_t kMostOneIn = 1000000;
// Which keys are chosen has nothing to do with how filters hash them.
constexpr uint64_t kChoiceSeed = 0x7472616365;

absl::Status CheckTraceOptions(const TraceOptions& options) {
  if (options.max_bytes < kLeastBytes || options.max_bytes > kMostBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a trace's max_bytes is ", kLeastBytes, " to ",
                                                   kMostBytes, ", not ", options.max_bytes));
  }
  if (options.one_in == 0 || options.one_in > kMostOneIn) {
    return absl::InvalidArgumentError(
        absl::StrCat("a trace's one_in is 1 to ", kMostOneIn, ", not ", options.one_in));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status TraceRecorder::Start(const TraceOptions& options, FileSystem* file_system,
                                  const std::string& path, uint64_t hash_seed) {
  WINNOW_RETURN_IF_ERROR(CheckTraceOptions(options));
  MutexLock lock(&mutex_);
  if (file_ != nullptr) return absl::FailedPreconditionError("a trace is being recorded already");
  WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system->Exists(path));
  if (exists) return absl::AlreadyExistsError(absl::StrCat(path, ": there is such a file"));
  TraceHeader header;
  header.keys_are_hashes = options.hash_keys;
  header.hash_seed = hash_seed;
  header.start_micros = SystemClock()->NowMicros();
  header.one_in = options.one_in;
  WINNOW_ASSIGN_OR_RETURN(auto file, file_system->Create(path, {}));
  if (absl::Status appended = file->Append(header.Encode()); !appended.ok()) {
    // Or the next try would find it.
    file.reset();
    (void)file_system->Remove(path);
    return appended;
  }
  // Nothing has changed up to here: a start that fails leaves the recorder off.
  options_ = options;
  began_ = SteadyNow();
  last_micros_ = 0;
  micros_written_ = 0;
  payload_.clear();
  in_payload_ = 0;
  parts_in_payload_.clear();
  wants_parts_.store(options.hash_keys, std::memory_order_relaxed);
  error_ = absl::OkStatus();
  info_ = TraceInfo();
  file_ = std::move(file);
  // Relaxed: the flag only spares calls the mutex, under which they look again.
  is_on_.store(true, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::StatusOr<TraceInfo> TraceRecorder::End() {
  MutexLock lock(&mutex_);
  if (file_ == nullptr) return absl::FailedPreconditionError("no trace is being recorded");
  // Calls that have seen the flag set find no file once they have the mutex.
  is_on_.store(false, std::memory_order_relaxed);
  WriteFrame();
  // Update keeps the first error. The file is closed whatever has failed before.
  error_.Update(file_->Sync());
  info_.bytes = file_->size();
  error_.Update(file_->Close());
  file_.reset();
  WINNOW_RETURN_IF_ERROR(error_);
  return info_;
}

// Calls that could not be written are as good as never recorded.
void TraceRecorder::WriteFrame() {
  if (payload_.empty()) return;
  // The frame's offset, which its checksum covers, is where the file ends.
  const bool had_memory = UnlessOutOfMemory([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (error_.ok()) error_ = file_->Append(TraceFrame(payload_, file_->size()));
  });
  const bool is_written = had_memory && error_.ok();
  (is_written ? info_.calls_recorded : info_.calls_not_recorded) += in_payload_;
  // The next record's time is told from the last one that readers find.
  if (is_written) {
    micros_written_ = last_micros_;
  } else {
    last_micros_ = micros_written_;
  }
  payload_.clear();
  in_payload_ = 0;
  parts_in_payload_.clear();
}

void TraceRecorder::CountNotRecorded() {
  MutexLock lock(&mutex_);
  if (file_ != nullptr) info_.calls_not_recorded++;
}

void TraceRecorder::Add(TraceRecord record, std::string_view key, std::string_view hashed_part) {
  MutexLock lock(&mutex_);
  if (file_ == nullptr) return;
  // By the key and not by turns: of a key all calls are recorded, or none (TraceOptions).
  if (options_.one_in > 1 && Checksum(key, kChoiceSeed) % options_.one_in != 0) return;
  // What the file would have with the frame written now. 64 bytes are more than all other fields of
  // a record take, whose varints have 10 at most.
  const uint64_t needed =
      payload_.size() + key.size() + hashed_part.size() + 64 + kTraceFrameHeaderBytes;
  // A key that no database takes may still be sought, however long it is.
  if (!error_.ok() || key.size() > kMaxKeyBytes || file_->size() + needed > options_.max_bytes) {
    info_.calls_not_recorded++;
    return;
  }
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(SteadyNow() - began_);
  // Never before the last one: records hold differences, which are not negative.
  record.micros = std::max(last_micros_, static_cast<uint64_t>(since.count()));
  if (!options_.hash_keys) record.key = key;
  const size_t before = payload_.size();
  const bool had_memory = UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (options_.hash_keys && !hashed_part.empty()) {
      std::string& known = parts_in_payload_[record.family_id];
      if (known != hashed_part) {
        AppendTracePart(record.family_id, hashed_part, &payload_);
        known = hashed_part;
      }
    }
    AppendTraceRecord(record, options_.hash_keys, last_micros_, &payload_);
  });
  if (!had_memory) {
    // A piece of a record would make those behind it unreadable.
    payload_.resize(before);
    parts_in_payload_.clear();
    info_.calls_not_recorded++;
    return;
  }
  last_micros_ = record.micros;
  in_payload_++;
  if (payload_.size() >= kFrameBytes) WriteFrame();
}

}  // namespace winnow
