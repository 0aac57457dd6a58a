#include "engine/transaction/batch_tombstones.h"

#include <algorithm>
#include <utility>

namespace winnow {

namespace {

// Views of what the run owns; the index borrows them.
std::vector<RangeTombstone> ForIndex(const BatchTombstones::Tombstones& tombstones) {
  std::vector<RangeTombstone> views;
  views.reserve(tombstones.size());
  for (const auto& tombstone : tombstones) {
    views.push_back({tombstone->begin, tombstone->end, tombstone->offset});
  }
  return views;
}

}  // namespace

BatchTombstones::Run::Run(const InternalKeyComparator& comparator, size_t first,
                          Tombstones tombstones)
    : first_(first),
      tombstones_(std::move(tombstones)),
      index_(comparator, ForIndex(tombstones_)) {}

void BatchTombstones::Add(std::string_view begin, std::string_view end, uint32_t offset) {
  tombstones_.push_back(
      std::make_shared<const Tombstone>(Tombstone{std::string(begin), std::string(end), offset}));
}

// A run that reaches behind what is left goes as a whole: what it had of older ones is indexed by
// the next read. Cursors have their own hold on the runs that they walk.
void BatchTombstones::RemoveFrom(size_t offset) {
  while (!tombstones_.empty() && tombstones_.back()->offset >= offset) tombstones_.pop_back();
  while (!runs_.empty() && runs_.back()->end() > tombstones_.size()) runs_.pop_back();
}

// Out of memory: what is not indexed yet is by the next read.
const BatchTombstones::Runs& BatchTombstones::Indexed() const {
  // The runs are of the first tombstones without a gap. Those behind them make one run, together
  // with runs that are less than twice as large, so that sizes at least halve from each run to the
  // next.
  size_t first = runs_.empty() ? 0 : runs_.back()->end();
  if (first == tombstones_.size()) return runs_;
  size_t kept = runs_.size();
  while (kept > 0 && runs_[kept - 1]->size() < 2 * (tombstones_.size() - first)) {
    first = runs_[--kept]->first();
  }
  auto run = std::make_shared<const Run>(
      comparator_, first,
      Tombstones(tombstones_.begin() + static_cast<ptrdiff_t>(first), tombstones_.end()));
  // The one thing that may still fail comes before anything is taken away.
  runs_.reserve(kept + 1);
  runs_.resize(kept);
  runs_.push_back(std::move(run));
  return runs_;
}

uint32_t BatchTombstones::NewestCovering(std::string_view key) const {
  SequenceNumber newest = 0;
  for (const auto& run : Indexed()) {
    newest = std::max(newest, run->index().NewestCovering(key, kMaxSequenceNumber));
  }
  return static_cast<uint32_t>(newest);
}

BatchTombstoneCursor::BatchTombstoneCursor(BatchTombstones::Runs runs) : runs_(std::move(runs)) {
  indexes_.reserve(runs_.size());
  cursors_.reserve(runs_.size());
  for (const auto& run : runs_) {
    indexes_.push_back(&run->index());
    // Reserved above: the cursor keeps this address.
    cursors_.emplace_back(std::span(&indexes_.back(), 1), kMaxSequenceNumber);
  }
}

uint32_t BatchTombstoneCursor::Find(std::string_view key) {
  SequenceNumber newest = 0;
  for (RangeTombstoneCursor& cursor : cursors_) {
    const SequenceNumber covers = cursor.Find(key);
    if (covers <= newest) continue;
    newest = covers;
    covering_ = &cursor;
  }
  return static_cast<uint32_t>(newest);
}

}  // namespace winnow
