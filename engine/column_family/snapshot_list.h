// The snapshots that have not been released.
#ifndef WINNOW_ENGINE_COLUMN_FAMILY_SNAPSHOT_LIST_H_
#define WINNOW_ENGINE_COLUMN_FAMILY_SNAPSHOT_LIST_H_

#include <map>
#include <memory>
#include <unordered_map>
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
    const Snapshot* handle = snapshot.get();
    sequences_[handle->sequence()]++;
    snapshots_.emplace(handle, std::move(snapshot));
    return handle;
  }

  // Null, a foreign pointer and one that has been removed before do nothing.
  void Remove(const Snapshot* snapshot) {
    MutexLock lock(&mutex_);
    const auto found = snapshots_.find(snapshot);
    if (found == snapshots_.end()) return;
    const auto sequence = sequences_.find(found->second->sequence());
    if (--sequence->second == 0) sequences_.erase(sequence);
    snapshots_.erase(found);
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
  mutable Mutex mutex_;
  std::unordered_map<const Snapshot*, std::unique_ptr<SnapshotImpl>> snapshots_
      ABSL_GUARDED_BY(mutex_);
  std::map<SequenceNumber, size_t> sequences_ ABSL_GUARDED_BY(mutex_);  // and how many have it
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COLUMN_FAMILY_SNAPSHOT_LIST_H_
