// Writes the trace of an open database.
#ifndef WINNOW_ENGINE_TRACE_TRACE_RECORDER_H_
#define WINNOW_ENGINE_TRACE_TRACE_RECORDER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/steady_clock.h"
#include "engine/trace/trace_file.h"
#include "filter/base/mutex.h"
#include "winnow/file_system.h"
#include "winnow/trace.h"

namespace winnow {

// Thread-safe. Off, it costs a call one load of a flag that nobody writes to.
class TraceRecorder {
 public:
  bool is_on() const { return is_on_.load(std::memory_order_relaxed); }

  // AlreadyExists, InvalidArgument, FailedPrecondition as DB::StartTrace.
  absl::Status Start(const TraceOptions& options, FileSystem* file_system, const std::string& path,
                     uint64_t hash_seed) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<TraceInfo> End() ABSL_LOCKS_EXCLUDED(mutex_);

  // Of look-ups the part of the key counts of which `record` has the hash; it may change.
  bool wants_parts() const { return wants_parts_.load(std::memory_order_relaxed); }
  // Does a trace want this key? `record` is then filled in but for its time. `hashed_part` as
  // AppendTracePart takes it, where wants_parts(); empty: of a call that is no look-up.
  void Add(TraceRecord record, std::string_view key, std::string_view hashed_part)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A call that no record can say.
  void CountNotRecorded() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void WriteFrame() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<bool> is_on_{false};
  std::atomic<bool> wants_parts_{false};
  Mutex mutex_;
  TraceOptions options_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<WritableFile> file_ ABSL_GUARDED_BY(mutex_);  // null: nothing is recorded
  SteadyTime began_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_micros_ ABSL_GUARDED_BY(mutex_) = 0;     // of the last record
  uint64_t micros_written_ ABSL_GUARDED_BY(mutex_) = 0;  // of the last one that is in the file
  std::string payload_ ABSL_GUARDED_BY(mutex_);
  uint64_t in_payload_ ABSL_GUARDED_BY(mutex_) = 0;  // calls
  // By family, as they stand in payload_: each frame says them, since one before may be missing.
  std::map<uint32_t, std::string> parts_in_payload_ ABSL_GUARDED_BY(mutex_);
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  TraceInfo info_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TRACE_TRACE_RECORDER_H_
