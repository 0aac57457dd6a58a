// Group commit: writers queue up, one leads, the others ride along.
#ifndef WINNOW_ENGINE_WRITE_WRITE_QUEUE_H_
#define WINNOW_ENGINE_WRITE_WRITE_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "engine/base/internal_key.h"
#include "winnow/options.h"
#include "winnow/write_batch.h"

namespace winnow {

class WriteGroup;

// One writer's place in the queue; lives on its stack for the time of the call.
struct WriteRequest {
  enum State : int {
    kWaiting = 0,
    kLeads = 1,    // it must lead the next group
    kInserts = 2,  // it must insert its batch into the memtables
    kDone = 3,     // status is final
  };

  const WriteBatch* batch = nullptr;  // null: an exclusive stretch that groups with nobody
  WriteOptions options;
  SequenceNumber first_sequence = 0;
  absl::Status status;

  // Queue internals.
  std::atomic<int> state{kWaiting};
  WriteRequest* older = nullptr;
  WriteRequest* newer = nullptr;
  WriteGroup* group = nullptr;
};

// The requests that one leader commits together, oldest first.
class WriteGroup {
 public:
  std::vector<WriteRequest*> requests;
  bool wants_sync = false;
  bool disable_wal = false;
  size_t batch_bytes = 0;

 private:
  friend class WriteQueue;
  std::atomic<size_t> still_inserting_{0};
  WriteRequest* leader_ = nullptr;
};

// A lock-free stack of waiting writers, newest first. Invariant: the oldest request that is not
// done leads, and while it leads it alone touches the log, assigns sequence numbers and switches
// memtables.
class WriteQueue {
 public:
  // Joins and waits. kLeads: the caller is leader and must call FormGroup and Complete. kInserts:
  // the caller must insert its batch and call FinishInsert, which waits for the end. kDone: the
  // request has been served.
  WriteRequest::State Join(WriteRequest* request);

  // Leader: collects waiting requests that can go together. `group` must live until Complete.
  void FormGroup(WriteRequest* leader, WriteGroup* group);

  // Leader: lets the other members insert their batches while it inserts its own; then
  // WaitForInserts returns when all have.
  void StartInserts(WriteGroup* group);
  void WaitForInserts(WriteGroup* group);
  // Member after kInserts: reports that its batch is inserted, then waits until the group is done.
  void FinishInsert(WriteRequest* request);

  // Leader: ends the group, whose requests all have their status, and hands leadership on.
  void Complete(WriteGroup* group);

 private:
  static void SetState(WriteRequest* request, WriteRequest::State state);
  static WriteRequest::State AwaitChange(WriteRequest* request, WriteRequest::State from);
  // Sets the `newer` links from the newest request down to those that have them.
  static void LinkNewer(WriteRequest* newest);

  std::atomic<WriteRequest*> newest_{nullptr};
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_WRITE_WRITE_QUEUE_H_
