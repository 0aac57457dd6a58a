// The range deletions of one column family in a write batch, indexed for reads.
#ifndef WINNOW_ENGINE_TRANSACTION_BATCH_TOMBSTONES_H_
#define WINNOW_ENGINE_TRANSACTION_BATCH_TOMBSTONES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/base/range_tombstones.h"

namespace winnow {

// They come with the batch's growth and go where it is cut back. In the place of sequence numbers
// they have their offsets in the batch. For one thread at a time.
//
// The index is made by whoever reads, in several runs, each at least twice as large as the next
// (the logarithmic method: Bentley and Saxe, 1980). What came since the last read joins the runs
// that are not much larger; so each range deletion is indexed anew a logarithmic number of times,
// whatever reads come in between, and a read asks a logarithmic number of runs. To cut back takes
// whole runs away, whose rest is indexed anew by the next read.
class BatchTombstones {
 public:
  // Owns its keys: the batch's bytes move as it grows.
  struct Tombstone {
    std::string begin;
    std::string end;
    uint32_t offset;
  };
  using Tombstones = std::vector<std::shared_ptr<const Tombstone>>;  // oldest first

  // Immutable. Of neighbours, the first of which is the one of that number.
  class Run {
   public:
    Run(const InternalKeyComparator& comparator, size_t first, Tombstones tombstones);

    size_t first() const { return first_; }
    size_t end() const { return first_ + tombstones_.size(); }
    size_t size() const { return tombstones_.size(); }
    const RangeTombstoneIndex& index() const { return index_; }

   private:
    const size_t first_;
    const Tombstones tombstones_;
    const RangeTombstoneIndex index_;
  };
  using Runs = std::vector<std::shared_ptr<const Run>>;  // oldest first

  explicit BatchTombstones(const InternalKeyComparator& comparator) : comparator_(comparator) {}

  bool empty() const { return tombstones_.empty(); }
  // Of the keys from `begin` to before `end`, which is greater. `offset` is the largest so far.
  void Add(std::string_view begin, std::string_view end, uint32_t offset);
  // Those with this offset, or a larger one, are no more. Takes no memory.
  void RemoveFrom(size_t offset);

  // All of them, as they are now. Copies stay what they are.
  const Runs& Indexed() const;
  // The offset of the newest one that covers the key; 0: none does.
  uint32_t NewestCovering(std::string_view key) const;

 private:
  const InternalKeyComparator comparator_;
  Tombstones tombstones_;
  mutable Runs runs_;  // of the first ones
};

// The present place in range deletions that are asked for keys next to each other.
class BatchTombstoneCursor {
 public:
  // As they were when `runs` were made. None is fine.
  explicit BatchTombstoneCursor(BatchTombstones::Runs runs);
  BatchTombstoneCursor(const BatchTombstoneCursor&) = delete;
  BatchTombstoneCursor& operator=(const BatchTombstoneCursor&) = delete;

  // The offset of the newest one that covers the key; 0: none does.
  uint32_t Find(std::string_view key);
  // After a Find that gave one: keys around it that are covered too, without a gap, begin at the
  // one and end before the other.
  std::string_view CoveredFrom() { return covering_->CoveredFrom(); }
  std::string_view CoveredUpTo() { return covering_->CoveredUpTo(); }

 private:
  const BatchTombstones::Runs runs_;
  std::vector<const RangeTombstoneIndex*> indexes_;
  std::vector<RangeTombstoneCursor> cursors_;
  RangeTombstoneCursor* covering_ = nullptr;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TRANSACTION_BATCH_TOMBSTONES_H_
