// Tickets are given out in the order of the log, and each has a place in a ring. Two come there
// once each: the turn, from the group before, and the group itself, when it has been inserted.
// Whoever comes second finds the first, and goes on:
//
//  - The group finds the turn: it publishes itself and brings the turn to the next place.
//  - The turn finds the group, which waits: whoever brought it publishes that group as well.
//
// So there is always one thread at most that has the turn, and what it alone touches needs no lock.
// Both come by one atomic exchange, with release for what they did before and acquire for what the
// other did: all insertions up to a sequence number happen before the store that makes it visible.
#include "engine/write/publish_queue.h"

namespace winnow {

namespace {

// Its address stands for the turn.
Publication turn;

}  // namespace

PublishQueue::PublishQueue() { Place(0).store(&turn, std::memory_order_relaxed); }

// One place is left for AwaitAll's own ticket: so nobody enters whose place is still in use.
void PublishQueue::MakeRoomFor(size_t bytes) {
  const bool has_place = next_ticket_ - all_left_before_ < kPlaces - 1;
  if (!has_place || bytes_since_ + bytes > kMaxBytesUnderWay) AwaitAll();
  bytes_since_ += bytes;
}

// A group of nobody's, which has its turn when all before it have had theirs.
void PublishQueue::AwaitAll() {
  Publication last;
  Enter(&last);
  Publish(&last);
  all_left_before_ = next_ticket_;
  bytes_since_ = 0;
}

bool PublishQueue::Publish(Publication* publication) {
  std::atomic<Publication*>& place = Place(publication->ticket);
  if (place.load(std::memory_order_acquire) != &turn) {
    Publication* found = nullptr;
    if (place.compare_exchange_strong(found, publication, std::memory_order_acq_rel)) {
      const int state = publication->state.AwaitChange(Publication::kWaits, /*takes_long=*/false);
      return state == Publication::kVisible;
    }
  }
  return PublishFrom(publication);
}

// Release, for the number: whoever reads it sees all insertions up to it. A place is emptied before
// the turn goes on, and so before anybody can enter who has the same one.
bool PublishQueue::PublishFrom(Publication* first) {
  Publication* publication = first;
  bool first_is_visible = false;
  for (uint64_t ticket = first->ticket;;) {
    Place(ticket).store(nullptr, std::memory_order_relaxed);
    if (publication->failed) halted_ = true;
    if (!halted_ && publication->last_sequence != 0) {
      visible_.store(publication->last_sequence, std::memory_order_release);
    }
    if (publication == first) {
      first_is_visible = !halted_;
    } else {
      publication->state.Set(halted_ ? Publication::kNeverVisible : Publication::kVisible);
    }
    ticket++;
    publication = Place(ticket).exchange(&turn, std::memory_order_acq_rel);
    if (publication == nullptr) return first_is_visible;
  }
}

}  // namespace winnow
