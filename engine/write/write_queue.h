// Group commit: writers queue up, one leads, the others ride along.
#ifndef WINNOW_ENGINE_WRITE_WRITE_QUEUE_H_
#define WINNOW_ENGINE_WRITE_WRITE_QUEUE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "engine/base/capabilities.h"
#include "engine/base/internal_key.h"
#include "engine/write/awaited_state.h"
#include "engine/write/publish_queue.h"
#include "winnow/options.h"
#include "winnow/write_batch.h"

namespace winnow {

class CommitValidator;
class WriteGroup;

// One writer's place in the queue; lives on its stack for the time of the call.
struct WriteRequest {
  enum State : int {
    kWaiting = 0,
    kLeads = 1,    // it must lead the next group
    kInserts = 2,  // it must insert its batch into the memtables
    kDone = 3,     // status is final
  };

  const WriteBatch* batch = nullptr;     // null: an exclusive stretch that groups with nobody
  CommitValidator* validator = nullptr;  // null: the batch depends on nothing
  WriteOptions options;
  bool is_of_owner = false;  // it may go to families that are reserved
  SequenceNumber first_sequence = 0;
  uint32_t num_range_deletions = 0;  // in the batch; counted when the leader looks through it
  absl::Status status;

  // Queue internals.
  AwaitedState state{kWaiting};
  WriteRequest* older = nullptr;
  WriteRequest* newer = nullptr;
  WriteGroup* group = nullptr;
};

// The requests that one leader commits together.
class WriteGroup {
 public:
  // Oldest first: the leader's own is the first.
  std::span<WriteRequest* const> requests() const { return {requests_.data(), num_requests_}; }

  bool wants_sync = false;
  bool disable_wal = false;
  bool has_validators = false;  // of some member
  size_t batch_bytes = 0;
  Publication publication;

 private:
  friend class WriteQueue;
  static constexpr size_t kMaxRequests = 256;

  // In place and left as it is: whoever leads must come to hand leadership on, and so may not ask
  // for memory on the way.
  std::array<WriteRequest*, kMaxRequests> requests_;
  size_t num_requests_ = 0;
  std::atomic<size_t> still_inserting_{0};
};

// A lock-free stack of waiting writers, newest first. Invariant: the oldest request in it leads,
// and while it leads it alone holds the capability `write_leadership`. Its group leaves the stack,
// and leadership goes to the next, as soon as the group is in the log.
class WriteQueue {
 public:
  // Joins and waits. kLeads: the caller is leader and must lead a group (LeaderScope). kInserts:
  // the caller must insert its batch (InsertScope). kDone: the request has been served.
  WriteRequest::State Join(WriteRequest* request);

  // Lets the other members insert their batches while the leader inserts its own; WaitForInserts
  // returns when all have.
  void StartInserts(WriteGroup* group) ABSL_SHARED_LOCKS_REQUIRED(memtable_insertion);
  void WaitForInserts(WriteGroup* group) ABSL_SHARED_LOCKS_REQUIRED(memtable_insertion);

  // The groups that have left the log.
  PublishQueue& publishing() { return publishing_; }
  const PublishQueue& publishing() const { return publishing_; }

 private:
  friend class LeaderScope;
  friend class InsertScope;

  // Leader: collects waiting requests that can go together. `group` must live until Complete.
  void FormGroup(WriteRequest* leader, WriteGroup* group);
  // Leader: the next may lead.
  void HandOn(WriteGroup* group);
  // Ends the group, whose requests all have their status.
  static void Complete(WriteGroup* group);
  // Member after kInserts: reports that its batch is inserted, then waits until the group is done.
  void FinishInsert(WriteRequest* request);
  static WriteRequest::State AwaitChange(WriteRequest* request, WriteRequest::State from);
  // Sets the `newer` links from the newest request down to those that have them.
  static void LinkNewer(WriteRequest* newest);

  std::atomic<WriteRequest*> newest_{nullptr};
  PublishQueue publishing_;
};

// A leader's time with its group: at the head of the queue, until it hands leadership on, then
// beside the groups after it.
class ABSL_SCOPED_LOCKABLE LeaderScope {
 public:
  // `leader` got kLeads from Join.
  LeaderScope(WriteQueue* queue, WriteRequest* leader)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(write_leadership) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : queue_(queue) {
    queue_->FormGroup(leader, &group_);
  }
  ~LeaderScope() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (leads_) HandOn();
    queue_->Complete(&group_);
  }
  LeaderScope(const LeaderScope&) = delete;
  LeaderScope& operator=(const LeaderScope&) = delete;

  WriteGroup* group() { return &group_; }
  // Once: the group is in the log, or nothing will become of it.
  void HandOn() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    leads_ = false;
    queue_->HandOn(&group_);
  }

 private:
  WriteQueue* const queue_;
  bool leads_ = true;
  WriteGroup group_;
};

// A member's time to insert its batch, for which its leader waits.
class ABSL_SCOPED_LOCKABLE InsertScope {
 public:
  // `member` got kInserts from Join.
  InsertScope(WriteQueue* queue, WriteRequest* member)
      ABSL_SHARED_LOCK_FUNCTION(memtable_insertion) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : queue_(queue),
        member_(member) {}
  ~InsertScope() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    queue_->FinishInsert(member_);
  }
  InsertScope(const InsertScope&) = delete;
  InsertScope& operator=(const InsertScope&) = delete;

 private:
  WriteQueue* const queue_;
  WriteRequest* const member_;
};

// Waits its turn in the queue, and for all groups before it to be visible, and leads until
// destroyed, in a group with nobody: no write is under way. The holder may do what only a leader
// may, such as switching memtables or changing the set of column families.
class ABSL_SCOPED_LOCKABLE ExclusiveWrites {
 public:
  explicit ExclusiveWrites(WriteQueue* queue)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(write_leadership,
                                   memtable_insertion) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : leader_(queue, Joined(queue, &request_)) {
    queue->publishing().AwaitAll();
  }
  ~ExclusiveWrites() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS = default;
  ExclusiveWrites(const ExclusiveWrites&) = delete;
  ExclusiveWrites& operator=(const ExclusiveWrites&) = delete;

 private:
  // A request without a batch can only come to lead.
  static WriteRequest* Joined(WriteQueue* queue, WriteRequest* request) {
    queue->Join(request);
    return request;
  }

  WriteRequest request_;
  LeaderScope leader_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_WRITE_WRITE_QUEUE_H_
