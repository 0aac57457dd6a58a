// The snapshots of a database.
#ifndef WINNOW_ENGINE_COLUMN_FAMILY_SNAPSHOT_LIST_H_
#define WINNOW_ENGINE_COLUMN_FAMILY_SNAPSHOT_LIST_H_

#include <atomic>
#include <deque>
#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

#include "engine/base/internal_key.h"
#include "filter/base/mutex.h"
#include "filter/base/out_of_memory.h"
#include "winnow/db.h"

namespace winnow {

class SnapshotList;

class SnapshotImpl final : public Snapshot {
 public:
  explicit SnapshotImpl(const SnapshotList* list) : list_(list) {}
  ~SnapshotImpl() override = default;
  uint64_t sequence() const override { return sequence_.load(std::memory_order_relaxed); }
  // The list that owns it.
  const SnapshotList* list() const { return list_; }

 private:
  friend class SnapshotList;

  // Written while nobody should read it, and atomic for those who do: see SnapshotList.
  std::atomic<SequenceNumber> sequence_{0};
  const SnapshotList* const list_;
  SnapshotImpl* next_released_ = nullptr;  // the list's
};

// Thread-safe. LevelDB's programs read at snapshots that they have released, and get away with it.
// So an object is not freed before the list is, but serves again for a later snapshot, the longest
// released first: a read at a released one is a read at some number that once was visible, with
// what flushes and compactions have left of that state. There are as many objects as there were
// snapshots at one time.
class SnapshotList {
 public:
  // `visible_sequence` is read under the list's lock: a flush that lists the snapshots afterwards
  // either sees this one or was given only entries that it includes. Null or std::bad_alloc: no
  // memory, and no snapshot.
  const Snapshot* Add(const std::atomic<SequenceNumber>& visible_sequence) {
    MutexLock lock(&mutex_);
    while (num_pauses_ > 0) [[unlikely]] resumed_.Wait(&mutex_);
    if (first_released_ == nullptr) AppendReleased(&objects_.emplace_back(this));
    SnapshotImpl* snapshot = first_released_;
    const SequenceNumber sequence = visible_sequence.load(std::memory_order_acquire);
    held_.insert(snapshot);
    const bool counted =
        UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { sequences_[sequence]++; });
    if (!counted) {
      held_.erase(snapshot);
      return nullptr;
    }
    first_released_ = snapshot->next_released_;
    snapshot->sequence_.store(sequence, std::memory_order_relaxed);
    return snapshot;
  }

  // Null, a foreign pointer and one that has been removed before do nothing.
  void Remove(const Snapshot* snapshot) {
    MutexLock lock(&mutex_);
    const auto found = held_.find(snapshot);
    if (found == held_.end()) return;
    const auto sequence = sequences_.find(snapshot->sequence());
    if (--sequence->second == 0) sequences_.erase(sequence);
    held_.erase(found);
    // It is one of `objects_`, which are not const.
    AppendReleased(const_cast<SnapshotImpl*>(static_cast<const SnapshotImpl*>(snapshot)));
  }

  // False for a snapshot of another database. Reads nothing but the snapshot.
  bool Has(const Snapshot& snapshot) const {
    return static_cast<const SnapshotImpl&>(snapshot).list() == this;
  }

  // Until Resume, Add waits. False, and nothing waits, if a snapshot is held that is newer than
  // `newest`; without it, if any is. Several may pause at once.
  bool PauseUnlessNewer(std::optional<SequenceNumber> newest) {
    MutexLock lock(&mutex_);
    if (!sequences_.empty() && (!newest.has_value() || sequences_.rbegin()->first > *newest)) {
      return false;
    }
    num_pauses_++;
    return true;
  }
  void Resume() {
    MutexLock lock(&mutex_);
    if (--num_pauses_ == 0) resumed_.SignalAll();
  }

  // kMaxSequenceNumber: there is no snapshot.
  SequenceNumber Oldest() const {
    MutexLock lock(&mutex_);
    return sequences_.empty() ? kMaxSequenceNumber : sequences_.begin()->first;
  }

  // Distinct sequence numbers, ascending.
  std::vector<SequenceNumber> Sequences() const {
    MutexLock lock(&mutex_);
    std::vector<SequenceNumber> distinct;
    distinct.reserve(sequences_.size());
    for (const auto& [sequence, count] : sequences_) distinct.push_back(sequence);
    return distinct;
  }

 private:
  void AppendReleased(SnapshotImpl* snapshot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    snapshot->next_released_ = nullptr;
    (first_released_ == nullptr ? first_released_ : last_released_->next_released_) = snapshot;
    last_released_ = snapshot;
  }

  mutable Mutex mutex_;
  int num_pauses_ ABSL_GUARDED_BY(mutex_) = 0;
  CondVar resumed_;
  std::deque<SnapshotImpl> objects_ ABSL_GUARDED_BY(mutex_);
  // Linked, since a release may not ask for memory.
  SnapshotImpl* first_released_ ABSL_GUARDED_BY(mutex_) = nullptr;
  SnapshotImpl* last_released_ ABSL_GUARDED_BY(mutex_) = nullptr;  // if there is a first
  std::unordered_set<const Snapshot*> held_ ABSL_GUARDED_BY(mutex_);
  std::map<SequenceNumber, size_t> sequences_ ABSL_GUARDED_BY(mutex_);  // and how many have it
};

// Keeps snapshots from being taken for as long as it lives, once it has been begun.
class SnapshotPause {
 public:
  explicit SnapshotPause(SnapshotList* list) : list_(list) {}
  ~SnapshotPause() {
    if (is_paused_) list_->Resume();
  }
  SnapshotPause(const SnapshotPause&) = delete;
  SnapshotPause& operator=(const SnapshotPause&) = delete;

  // SnapshotList::PauseUnlessNewer; once.
  bool BeginUnlessNewer(std::optional<SequenceNumber> newest) {
    is_paused_ = list_->PauseUnlessNewer(newest);
    return is_paused_;
  }

 private:
  SnapshotList* const list_;
  bool is_paused_ = false;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COLUMN_FAMILY_SNAPSHOT_LIST_H_
