#include "engine/write/write_queue.h"

namespace winnow {

namespace {

constexpr size_t kMaxGroupBytes = size_t{1} << 20;
// A small write does not wait for a large group.
constexpr size_t kSmallWriteBytes = size_t{128} << 10;
constexpr size_t kMaxGroupRequests = 256;
// Spinning for about a microsecond saves a futex call when the leader is nearly done.
constexpr int kSpins = 100;

inline void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void WriteQueue::SetState(WriteRequest* request, WriteRequest::State state) {
  // Release: what the leader wrote into the request is visible to its owner. The request may be
  // gone as soon as the state is set: the notification only uses the address.
  request->state.store(state, std::memory_order_release);
  request->state.notify_one();
}

WriteRequest::State WriteQueue::AwaitChange(WriteRequest* request, WriteRequest::State from) {
  for (int spin = 0; spin < kSpins; spin++) {
    const int state = request->state.load(std::memory_order_acquire);
    if (state != from) return static_cast<WriteRequest::State>(state);
    CpuRelax();
  }
  request->state.wait(from, std::memory_order_acquire);
  return static_cast<WriteRequest::State>(request->state.load(std::memory_order_acquire));
}

WriteRequest::State WriteQueue::Join(WriteRequest* request) {
  WriteRequest* newest = newest_.load(std::memory_order_relaxed);
  do {
    request->older = newest;
  } while (!newest_.compare_exchange_weak(newest, request, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
  if (newest == nullptr) return WriteRequest::kLeads;
  return AwaitChange(request, WriteRequest::kWaiting);
}

void WriteQueue::LinkNewer(WriteRequest* newest) {
  for (WriteRequest* request = newest; request->older != nullptr; request = request->older) {
    if (request->older->newer != nullptr) break;  // linked before
    request->older->newer = request;
  }
}

void WriteQueue::FormGroup(WriteRequest* leader, WriteGroup* group) {
  group->leader_ = leader;
  group->requests.push_back(leader);
  if (leader->batch == nullptr) return;
  group->batch_bytes = leader->batch->size_bytes();
  group->wants_sync = leader->options.sync;
  group->disable_wal = leader->options.disable_wal;
  const size_t limit = group->batch_bytes <= kSmallWriteBytes
                           ? group->batch_bytes + kSmallWriteBytes
                           : kMaxGroupBytes;
  WriteRequest* const newest = newest_.load(std::memory_order_acquire);
  if (newest == leader) return;
  LinkNewer(newest);
  WriteRequest* request = leader;
  while (request != newest && group->requests.size() < kMaxGroupRequests) {
    request = request->newer;
    // A gap in the middle of a group is not possible: the first misfit ends it.
    if (request->batch == nullptr || request->options.disable_wal != group->disable_wal) break;
    // Do not make others wait for a sync.
    if (request->options.sync && !group->wants_sync) break;
    if (group->batch_bytes + request->batch->size_bytes() > limit) break;
    group->batch_bytes += request->batch->size_bytes();
    request->group = group;
    group->requests.push_back(request);
  }
}

void WriteQueue::StartInserts(WriteGroup* group) {
  group->still_inserting_.store(group->requests.size(), std::memory_order_relaxed);
  for (size_t i = 1; i < group->requests.size(); i++) {
    SetState(group->requests[i], WriteRequest::kInserts);
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
  if (group->still_inserting_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    group->still_inserting_.notify_one();
  }
  AwaitChange(request, WriteRequest::kInserts);
}

void WriteQueue::Complete(WriteGroup* group) {
  WriteRequest* const last = group->requests.back();
  WriteRequest* next = nullptr;
  WriteRequest* newest = last;
  if (!newest_.compare_exchange_strong(newest, nullptr, std::memory_order_acq_rel)) {
    // Others wait behind the group: cut it off and let the first of them lead.
    LinkNewer(newest);
    next = last->newer;
    next->older = nullptr;
  }
  WriteRequest* const leader = group->leader_;
  // The members before the next leader: once that one runs, `group` is still the old leader's.
  for (WriteRequest* request : group->requests) {
    if (request != leader) SetState(request, WriteRequest::kDone);
  }
  if (next != nullptr) SetState(next, WriteRequest::kLeads);
}

}  // namespace winnow
