// The snapshots that have not been released.
#ifndef WINNOW_ENGINE_COLUMN_FAMILY_SNAPSHOT_LIST_H_
#define WINNOW_ENGINE_COLUMN_FAMILY_SNAPSHOT_LIST_H_

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/base/out_of_memory.h"
#include "filter/base/mutex.h"
#include "winnow/db.h"

namespace winnow {

class SnapshotList;

class SnapshotImpl final : public Snapshot {
 public:
  SnapshotImpl(SequenceNumber sequence, const SnapshotList* list)
      : sequence_(sequence), list_(list) {}
  ~SnapshotImpl() override = default;
  uint64_t sequence() const override { return sequence_; }
  // The list that it is in, as long as it has not been released.
  const SnapshotList* list() const { return list_; }

 private:
  const SequenceNumber sequence_;
  const SnapshotList* const list_;
};

// Thread-safe.
class SnapshotList {
 public:
  // `visible_sequence` is read under the list's lock: a flush that lists the snapshots afterwards
  // either sees this one or was given only entries that it includes. Null or std::bad_alloc: no
  // memory, and no snapshot.
  const Snapshot* Add(const std::atomic<SequenceNumber>& visible_sequence) {
    MutexLock lock(&mutex_);
    auto snapshot =
        std::make_unique<SnapshotImpl>(visible_sequence.load(std::memory_order_acquire), this);
    const Snapshot* handle = snapshot.get();
    const auto added = snapshots_.emplace(handle, std::move(snapshot)).first;
    const bool counted = UnlessOutOfMemory(
        [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { sequences_[handle->sequence()]++; });
    if (counted) return handle;
    snapshots_.erase(added);
    return nullptr;
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

  // False for a snapshot of another database. Reads nothing but the snapshot.
  bool Has(const Snapshot& snapshot) const {
    return static_cast<const SnapshotImpl&>(snapshot).list() == this;
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
