// What a database reports about its own work: flushes, compactions, stalls, errors, files, damage.
//
//   class Alarm final : public winnow::EventListener {
//     void OnEvent(const winnow::Event& event) override {
//       if (event.kind == winnow::Event::Kind::kBackgroundError) Page(event.ToString());
//     }
//   };
//   options.listeners.push_back(std::make_shared<Alarm>());
#ifndef WINNOW_EVENT_LISTENER_H_
#define WINNOW_EVENT_LISTENER_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace winnow {

// Something that happened. Each kind says which fields are set; `time` and
// `num_lost_before` always are.
struct Event {
  enum class Kind {
    kDatabaseOpened,  // message: what recovery reports, may be empty
    kDatabaseClosed,  // status: as Close returns it
    kFlushBegin,      // column_family, num_inputs (memtables)
    kFlushEnd,        // the same, and status, num_outputs (files), bytes_written, duration
    // column_family, num_inputs (files), input_level, output_level; message: why, as "level 0 is
    // full", "manual compaction", "expired" (a time to live), "range deleted" (files that go
    // unread, since range deletions cover them) or "snapshots released" (a file of the deepest
    // level, without what only they could see)
    kCompactionBegin,
    kCompactionEnd,  // the same, and status, num_outputs, bytes_read, bytes_written, duration
    // column_family; message: the filter that its files are to have; path: the one SSTable that the
    // planner of Options::filter_memory_budget chose by itself, empty where Refilter was called
    kRefilterBegin,
    kRefilterEnd,  // the same, and status, num_outputs (files), bytes_read, bytes_written, duration
    kIngestEnd,    // status, num_inputs (files), bytes_written, duration; message: their levels
    // column_family, num_inputs: an iterator passed so many deleted or hidden entries between two
    // that it showed; the SSTables that they are in are compacted early. At most once a minute for
    // each column family, and then the most of that minute
    kGarbageMet,
    kWriteStallBegin,  // column_family, message: writes are delayed or wait from now on
    kWriteStallEnd,    // column_family, duration; reported with the first write that is not stalled
    kBackgroundError,  // message (what failed), status, will_retry
    kFileCreated,      // path of an SSTable, a filter file, a write-ahead log or a manifest
    kFileRemoved,      // the same
    kCorruptionFound,  // status, which names the file; each message once while open
    kFilterDegraded,   // column_family, path, message: answers "may contain" from now on
    kOptionsChanged,   // column_family, if any of its own; message: "zstd_level=9, ..."
    // message: the false-positive rate of the last minutes and the interval that filters promise,
    // which it has left (Options::filter_memory_budget)
    kFilterRateOffPromise,
    // column_family; message: the call, as "get", "multi-get", "iterator", "flush" or "compaction";
    // status: key, operator and reason, as the call has it; num_inputs: failures of the family
    // since the last such event, which there is at most once a minute for each
    kMergeFailed,
    // column_family of the key that was asked for; status: which transactions wait for which keys,
    // as the call has it that was refused; num_inputs: deadlocks of the family since the last such
    // event, which there is at most once a minute for each
    kDeadlockFound,
    kFilterNotWritten,  // column_family: SSTables were written without the filter that the options
                        // specify
  };

  Kind kind = Kind::kDatabaseOpened;
  std::chrono::system_clock::time_point time;
  std::string column_family;
  std::string path;
  std::string message;
  absl::Status status;
  // Background work is tried again by itself; otherwise writes stay refused until reopening.
  bool will_retry = false;
  int input_level = -1;
  int output_level = -1;
  uint64_t num_inputs = 0;
  uint64_t num_outputs = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  std::chrono::microseconds duration{0};
  // Events before this one that were dropped because listeners were slower than events came.
  uint64_t num_lost_before = 0;

  // One line without time: "compaction of default from level 0 to 1 begins: 4 files, level 0 is
  // full".
  std::string ToString() const;
};

// "flush-begin", "write-stall-end", ...
std::string_view EventKindName(Event::Kind kind);

// Notified of events, one at a time and in the order in which they happened, by a thread that each
// open database has for this: soon after the event, with no lock of the database held. It may call
// the database (reading, writing, statistics) but not Close it (FailedPrecondition), wait for its
// own further events, or throw. Up to 4096 events wait for a slow listener, then new ones are
// dropped and counted. All that were not dropped have been delivered when Close returns. A listener
// given to several databases is called by several threads.
class EventListener {
 public:
  virtual ~EventListener() = default;
  virtual void OnEvent(const Event& event) = 0;
};

}  // namespace winnow

#endif  // WINNOW_EVENT_LISTENER_H_
