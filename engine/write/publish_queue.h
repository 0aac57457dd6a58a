// Writes become visible in the order of the log, in whatever order their insertions end.
#ifndef WINNOW_ENGINE_WRITE_PUBLISH_QUEUE_H_
#define WINNOW_ENGINE_WRITE_PUBLISH_QUEUE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/base/capabilities.h"
#include "engine/base/internal_key.h"
#include "engine/write/awaited_state.h"

namespace winnow {

// A group's place in the order. It lives on the stack of the group's leader.
struct Publication {
  enum State : int { kWaits, kVisible, kNeverVisible };

  SequenceNumber last_sequence = 0;  // that becomes visible; 0: nothing does
  // Entries of it may be missing: neither it nor anything after it may become visible.
  bool failed = false;

  // The queue's.
  uint64_t ticket = 0;
  AwaitedState state{kWaits};
};

// The groups that are in the log and not yet visible, as Pebble's commit pipeline has them: a
// leader enters its group while it leads, so that the order is the log's; then the group is
// inserted, beside those before and after it; whoever has inserted reports that, and whose turn it
// is makes visible what has been reported, its own group and all those that follow without a gap.
// So a writer waits for insertions of others at most, and never for a thread to be woken that has
// inserted.
class PublishQueue {
 public:
  PublishQueue();
  PublishQueue(const PublishQueue&) = delete;
  PublishQueue& operator=(const PublishQueue&) = delete;

  // Every entry up to this number is in the memtables. Acquire: what it covers is seen.
  SequenceNumber visible_sequence() const { return visible_.load(std::memory_order_acquire); }
  const std::atomic<SequenceNumber>& visible_sequence_source() const { return visible_; }
  // While nobody inserts.
  void StartAt(SequenceNumber last) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
    visible_.store(last);
  }

  // Before a group of so many bytes is logged: waits if too much is under way. A memtable exceeds
  // its size by no more than what is inserted beside the entry that fills it.
  void MakeRoomFor(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);
  // After MakeRoomFor, once the group is in the log. Publish must follow.
  void Enter(Publication* publication) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
    publication->ticket = next_ticket_++;
  }
  // The group has been inserted, or has failed. Returns when it is visible; false: it never will
  // be, since it or a group before it has failed.
  bool Publish(Publication* publication);
  // Returns once all that have entered are visible or never will be.
  void AwaitAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership)
      ABSL_LOCKS_EXCLUDED(database_mutex);  // which a group that has failed needs

 private:
  // Groups that can be under way at one time.
  static constexpr size_t kPlaces = 256;
  static constexpr size_t kMaxBytesUnderWay = size_t{1} << 20;
  // Between what different threads write. (No alignment: it would become that of the database.)
  using Padding = std::array<char, 64>;

  std::atomic<Publication*>& Place(uint64_t ticket) { return places_[ticket % kPlaces]; }
  bool PublishFrom(Publication* first);

  // The leader's: every ticket below `all_left_before_` has left.
  uint64_t next_ticket_ ABSL_GUARDED_BY(write_leadership) = 0;
  uint64_t all_left_before_ ABSL_GUARDED_BY(write_leadership) = 0;
  size_t bytes_since_ ABSL_GUARDED_BY(write_leadership) = 0;

  [[maybe_unused]] Padding padding_before_visible_;
  std::atomic<SequenceNumber> visible_{0};
  bool halted_ = false;  // of whose turn it is
  [[maybe_unused]] Padding padding_before_places_;
  // A ticket's place is null until it is its turn or its group has been inserted, whichever is
  // first, and null again afterwards.
  std::array<std::atomic<Publication*>, kPlaces> places_{};
};

// A leader's time between the log, where its group has entered the queue, and its end. What ends
// before Publish, by whatever error, has failed.
class ABSL_SCOPED_LOCKABLE PublishScope {
 public:
  PublishScope(PublishQueue* queue, Publication* publication)
      ABSL_SHARED_LOCK_FUNCTION(memtable_insertion) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : queue_(queue),
        publication_(publication) {}
  ~PublishScope() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (publication_ == nullptr) return;
    publication_->failed = true;
    queue_->Publish(publication_);
  }
  PublishScope(const PublishScope&) = delete;
  PublishScope& operator=(const PublishScope&) = delete;

  // As PublishQueue::Publish.
  bool Publish() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    Publication* const publication = publication_;
    publication_ = nullptr;
    return queue_->Publish(publication);
  }

 private:
  PublishQueue* const queue_;
  Publication* publication_;
};

// A leader's: waits until nobody inserts; nobody can begin to before leadership is handed on. (That
// it leads cannot be required here: a scope gives back at its end what its constructor requires.)
class ABSL_SCOPED_LOCKABLE NobodyInserts {
 public:
  explicit NobodyInserts(PublishQueue* queue)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(memtable_insertion) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    queue->AwaitAll();
  }
  ~NobodyInserts() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {}
  NobodyInserts(const NobodyInserts&) = delete;
  NobodyInserts& operator=(const NobodyInserts&) = delete;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_WRITE_PUBLISH_QUEUE_H_
