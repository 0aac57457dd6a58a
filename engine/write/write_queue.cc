// The queue is a stack of requests that lie on their writers' own stacks. Joining is one
// compare-and-exchange; nothing is allocated and nobody is locked out. Three facts carry it:
//
//  - Whoever pushes on an empty stack leads; everyone else waits for their own state to change.
//  - Only the leader follows links, writes `newer` links and takes requests off, so that those need
//    no atomics. `older` is written by its owner before the push that publishes it.
//  - A push reads and writes `newest_` at once with acquire and release. So who loads the newest
//    request sees, through the chain of pushes, the fields of all older ones.
//
// Leadership is handed over by one of two pairs: the leader's release in HandOn and the acquire
// of the push that finds the stack empty, or the release of the next leader's state and the acquire
// of its wait. Either way what one leader did to the log happens before what the next one does.
#include "engine/write/write_queue.h"

namespace winnow {

namespace {

constexpr size_t kMaxGroupBytes = size_t{1} << 20;
// A small write does not wait for a large group.
constexpr size_t kSmallWriteBytes = size_t{128} << 10;

}  // namespace

// A sync is slow for certain.
WriteRequest::State WriteQueue::AwaitChange(WriteRequest* request, WriteRequest::State from) {
  return static_cast<WriteRequest::State>(request->state.AwaitChange(from, request->options.sync));
}

// Acquire on success, for a caller that comes to lead: the leader before it released the stack
// empty.
WriteRequest::State WriteQueue::Join(WriteRequest* request) {
  WriteRequest* newest = newest_.load(std::memory_order_relaxed);
  do {
    request->older = newest;
    // An address that has left the stack and come back meanwhile does no harm: whatever is there
    // now is the newest request, and nothing of it was read.
  } while (!newest_.compare_exchange_weak(newest, request, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
  if (newest == nullptr) return WriteRequest::kLeads;
  return AwaitChange(request, WriteRequest::kWaiting);
}

// Links are set from the newest down and always all the way, so that the first one found set has
// only set ones below it. The leader's own `older` is null: there the walk ends at the latest. Each
// request is walked over once in all.
void WriteQueue::LinkNewer(WriteRequest* newest) {
  for (WriteRequest* request = newest; request->older != nullptr; request = request->older) {
    if (request->older->newer != nullptr) break;  // linked before
    request->older->newer = request;
  }
}

void WriteQueue::FormGroup(WriteRequest* leader, WriteGroup* group) {
  group->requests_[group->num_requests_++] = leader;
  if (leader->batch == nullptr) return;
  group->batch_bytes = leader->batch->size_bytes();
  group->wants_sync = leader->options.sync;
  group->disable_wal = leader->options.disable_wal;
  group->has_validators = leader->validator != nullptr;
  const size_t limit = group->batch_bytes <= kSmallWriteBytes
                           ? group->batch_bytes + kSmallWriteBytes
                           : kMaxGroupBytes;
  // One look: who joins later is for the next group. Otherwise a leader among busy writers might
  // never finish collecting.
  WriteRequest* const newest = newest_.load(std::memory_order_acquire);
  if (newest == leader) return;
  LinkNewer(newest);
  WriteRequest* request = leader;
  while (request != newest && group->num_requests_ < WriteGroup::kMaxRequests) {
    request = request->newer;
    // A gap in the middle of a group is not possible: the first misfit ends it.
    if (request->batch == nullptr || request->options.disable_wal != group->disable_wal) break;
    // Do not make others wait for a sync.
    if (request->options.sync && !group->wants_sync) break;
    if (group->batch_bytes + request->batch->size_bytes() > limit) break;
    group->batch_bytes += request->batch->size_bytes();
    group->has_validators |= request->validator != nullptr;
    request->group = group;
    group->requests_[group->num_requests_++] = request;
  }
}

// Relaxed suffices for the count: the members see it through the release of their state.
void WriteQueue::StartInserts(WriteGroup* group) {
  group->still_inserting_.store(group->num_requests_, std::memory_order_relaxed);
  for (WriteRequest* request : group->requests().subspan(1)) {
    request->state.Set(WriteRequest::kInserts);
  }
}

void WriteQueue::WaitForInserts(WriteGroup* group) {
  // Acquire: the members' insertions happen before the leader publishes their sequence numbers.
  group->still_inserting_.fetch_sub(1, std::memory_order_acq_rel);
  for (;;) {
    const size_t left = group->still_inserting_.load(std::memory_order_acquire);
    if (left == 0) return;
    group->still_inserting_.wait(left, std::memory_order_acquire);
  }
}

void WriteQueue::FinishInsert(WriteRequest* request) {
  // The group lives on the leader's stack until Complete has set this request's state.
  WriteGroup* group = request->group;
  // The leader may see zero by itself and be gone before the notification below, which therefore
  // uses no more than the address.
  if (group->still_inserting_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    group->still_inserting_.notify_one();
  }
  // The write may not return before the whole group is visible, which only the leader can say.
  AwaitChange(request, WriteRequest::kInserts);
}

// If nobody has joined, the stack becomes empty, and the next to push leads at once. From then on
// nobody comes to the group by way of the stack.
void WriteQueue::HandOn(WriteGroup* group) {
  WriteRequest* const last = group->requests().back();
  WriteRequest* newest = last;
  if (newest_.compare_exchange_strong(newest, nullptr, std::memory_order_acq_rel)) return;
  // Others wait behind the group: cut it off and let the first of them lead.
  LinkNewer(newest);
  WriteRequest* const next = last->newer;
  next->older = nullptr;
  next->state.Set(WriteRequest::kLeads);
}

void WriteQueue::Complete(WriteGroup* group) {
  for (WriteRequest* request : group->requests().subspan(1)) {
    request->state.Set(WriteRequest::kDone);
  }
}

}  // namespace winnow
