#include "engine/memtable/memtable_tombstones.h"

#include <algorithm>
#include <utility>

#include "engine/base/hazard_slot.h"

namespace winnow {

namespace {

// So many replaced ones wait before it is looked who still reads them, which costs a system call.
constexpr size_t kRetiredAtOnce = 32;

}  // namespace

// Two ranges overlap where one covers the other's first key.
bool MemtableTombstoneRuns::Overlap(std::string_view smallest, std::string_view largest) const {
  for (const auto& run : runs_) {
    const RangeTombstoneIndex& index = run->index;
    if (index.NewestCovering(smallest, kMaxSequenceNumber) != 0) return true;
    const size_t first = index.NumBoundsUpTo(smallest);
    const size_t last = index.NumBoundsUpTo(largest);
    // Fragments that begin behind `smallest`, and not behind `largest`.
    for (size_t bound = first; bound < std::min(last, index.num_fragments()); bound++) {
      if (index.NewestIn(bound, kMaxSequenceNumber) != 0) return true;
    }
  }
  return false;
}

void MemtableTombstoneRuns::AppendTo(std::vector<RangeTombstone>* tombstones) const {
  for (const auto& run : runs_) {
    tombstones->insert(tombstones->end(), run->tombstones.begin(), run->tombstones.end());
  }
}

size_t MemtableTombstoneRuns::memory_bytes() const {
  size_t bytes = sizeof(*this);
  for (const auto& run : runs_) {
    bytes += sizeof(run) + run->tombstones.capacity() * sizeof(RangeTombstone) +
             run->index.memory_bytes();
  }
  return bytes;
}

// Writers of one memtable come here one at a time; what they build is linear in what it replaces,
// but for the sorting.
size_t MemtableTombstones::Add(const RangeTombstone& tombstone) {
  MutexLock lock(&mutex_);
  auto next = owner_ == nullptr ? std::make_shared<Runs>() : std::make_shared<Runs>(*owner_);
  // From the smallest run on, as in a binary counter: sizes stay apart by a factor of two.
  std::vector<RangeTombstone> joined = {tombstone};
  auto& runs = next->runs_;
  while (!runs.empty() && runs.back()->tombstones.size() <= joined.size()) {
    const std::vector<RangeTombstone>& smaller = runs.back()->tombstones;
    joined.insert(joined.end(), smaller.begin(), smaller.end());
    runs.pop_back();
  }
  runs.push_back(std::make_shared<const Runs::Run>(comparator_, std::move(joined)));
  retired_.reserve(retired_.size() + 1);  // from here on nothing fails
  // The pointer before the retirement: see hazard_slot.h.
  current_.store(next.get(), std::memory_order_seq_cst);
  if (owner_ != nullptr) retired_.push_back(std::move(owner_));
  owner_ = std::move(next);
  if (retired_.size() >= kRetiredAtOnce) FreeUnread();
  const size_t bytes = owner_->memory_bytes();
  const size_t growth = bytes - std::min(bytes, most_bytes_);
  most_bytes_ += growth;
  return growth;
}

// One that is announced now is looked at again later.
void MemtableTombstones::FreeUnread() {
  std::erase_if(retired_, [](const auto& runs) { return !HazardSlot::AnyAnnounces(runs.get()); });
}

SequenceNumber MemtableTombstones::NewestCovering(std::string_view user_key,
                                                  SequenceNumber snapshot) const {
  HazardGuard guard(HazardSlot::kRangeTombstones);
  // A look-up inside a look-up: a comparator that reads a database.
  if (!guard.is_free()) [[unlikely]] {
    const std::shared_ptr<const Runs> runs = Shared();
    return runs == nullptr ? 0 : runs->NewestCovering(user_key, snapshot);
  }
  const Runs* const runs = guard.Announce(current_);
  return runs == nullptr ? 0 : runs->NewestCovering(user_key, snapshot);
}

std::shared_ptr<const MemtableTombstoneRuns> MemtableTombstones::Shared() const {
  MutexLock lock(&mutex_);
  return owner_;
}

}  // namespace winnow
