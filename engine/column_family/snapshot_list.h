// The snapshots that have not been released.
#ifndef WINNOW_ENGINE_COLUMN_FAMILY_SNAPSHOT_LIST_H_
#define WINNOW_ENGINE_COLUMN_FAMILY_SNAPSHOT_LIST_H_

#include <memory>
#include <set>
#include <vector>

#include "engine/base/internal_key.h"
#include "filter/base/mutex.h"
#include "winnow/db.h"

namespace winnow {

class SnapshotImpl final : public Snapshot {
 public:
  explicit SnapshotImpl(SequenceNumber sequence) : sequence_(sequence) {}
  ~SnapshotImpl() override = default;
  uint64_t sequence() const override { return sequence_; }

 private:
  const SequenceNumber sequence_;
};

// Thread-safe.
class SnapshotList {
 public:
  // `visible_sequence` is read under the list's lock: a flush that lists the snapshots afterwards
  // either sees this one or was given only entries that it includes.
  const Snapshot* Add(const std::atomic<SequenceNumber>& visible_sequence) {
    MutexLock lock(&mutex_);
    auto snapshot =
        std::make_unique<SnapshotImpl>(visible_sequence.load(std::memory_order_acquire));
    sequences_.insert(snapshot->sequence());
    const Snapshot* handle = snapshot.get();
    snapshots_.push_back(std::move(snapshot));
    return handle;
  }

  // Null or a foreign pointer does nothing.
  void Remove(const Snapshot* snapshot) {
    MutexLock lock(&mutex_);
    for (auto it = snapshots_.begin(); it != snapshots_.end(); ++it) {
      if (it->get() != snapshot) continue;
      sequences_.erase(sequences_.find(snapshot->sequence()));
      snapshots_.erase(it);
      return;
    }
  }

  // Distinct sequence numbers, ascending.
  std::vector<SequenceNumber> Sequences() const {
    MutexLock lock(&mutex_);
    std::vector<SequenceNumber> distinct;
    for (const SequenceNumber sequence : sequences_) {
      if (distinct.empty() || distinct.back() != sequence) distinct.push_back(sequence);
    }
    return distinct;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<SnapshotImpl>> snapshots_ ABSL_GUARDED_BY(mutex_);
  std::multiset<SequenceNumber> sequences_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COLUMN_FAMILY_SNAPSHOT_LIST_H_
