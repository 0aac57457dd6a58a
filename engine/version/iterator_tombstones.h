// What range tombstones hide from an iterator, and how it passes over that.
#ifndef WINNOW_ENGINE_VERSION_ITERATOR_TOMBSTONES_H_
#define WINNOW_ENGINE_VERSION_ITERATOR_TOMBSTONES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/counter.h"
#include "engine/base/internal_iterator.h"
#include "engine/base/range_tombstones.h"

namespace winnow {

// What an iterator has stepped over because a tombstone of the same source hides it.
struct StepsUnderTombstones {
  static constexpr uint64_t kMany = 1024;

  uint64_t num_entries = 0;
  uint64_t most_in_a_row = 0;  // a multiple of kMany
  std::string key;             // of the last of these
};

// The tombstones of the sources of one iterator: memtables, files of level 0, deeper levels.
// Sources are begun newest first, and what is hidden is an iterator over the last one that was
// begun.
//
// All entries of a source are older than the tombstones that cover them in a newer one. So where
// one of those covers the key at hand, the iterator over the older source is moved by a seek to
// where the cover ends, whatever lies between. Under a tombstone of the same source there may be
// newer entries, and steps are made one by one.
class IteratorTombstones {
 public:
  // Entries before `lower` and from `upper` on may be shown though they are hidden. Iterators add
  // to `*steps`, which outlives them.
  IteratorTombstones(const InternalKeyComparator& comparator, SequenceNumber snapshot,
                     std::optional<std::string> lower, std::optional<std::string> upper,
                     StepsUnderTombstones* steps);
  IteratorTombstones(const IteratorTombstones&) = delete;
  IteratorTombstones& operator=(const IteratorTombstones&) = delete;

  void BeginSource() { first_of_source_ = runs_.size(); }
  // Indexes in order of their keys, which do not overlap and outlive the iterator; or `holder`
  // keeps them.
  void AddRun(std::vector<const RangeTombstoneIndex*> run,
              std::shared_ptr<const void> holder = nullptr);
  // `iterator` itself where nothing can hide its entries. What is returned keeps what it needs of
  // this.
  std::unique_ptr<InternalIterator> Hide(std::unique_ptr<InternalIterator> iterator) const;

 private:
  struct Bounds {
    std::optional<std::string> lower;
    std::optional<std::string> upper;
  };
  struct Run {
    std::vector<const RangeTombstoneIndex*> indexes;
    std::shared_ptr<const void> holder;
  };
  class HidingIterator;

  const InternalKeyComparator comparator_;
  const SequenceNumber snapshot_;
  const std::shared_ptr<const Bounds> bounds_;
  StepsUnderTombstones* const steps_;
  std::vector<std::shared_ptr<const Run>> runs_;  // newest source first
  size_t first_of_source_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_ITERATOR_TOMBSTONES_H_
