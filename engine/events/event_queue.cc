#include "engine/events/event_queue.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/ongoing_call.h"
#include "engine/base/start_thread.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// Bounds the memory that a database full of damage takes here; further damage is not reported as an
// event, only to whoever reads.
constexpr size_t kMaxCorruptions = 1000;  // whose messages are remembered

// Between two events of one kind and family, so that a flood of failures, or of scans over deleted
// keys, does not drive all else out of LOG.
constexpr std::chrono::minutes kSilence{1};

// From so many on those whose silence is over are forgotten: names come and go with families.
constexpr size_t kManyFamilies = 1000;

template <typename Key, typename Entry>
void ForgetEnded(std::map<Key, Entry>* by_family, SteadyTime now) {
  if (by_family->size() < kManyFamilies) return;
  std::erase_if(*by_family, [&](const auto& entry) { return entry.second.silent_until <= now; });
}

}  // namespace

EventQueue::EventQueue(std::vector<std::shared_ptr<EventListener>> listeners)
    : listeners_(std::move(listeners)) {}

EventQueue::~EventQueue() { Stop(); }

absl::Status EventQueue::Start(InfoLogPlace place, const InfoLogLimits& limits) {
  log_place_ = std::move(place);
  UseLog(limits);
  // With nobody to tell, events must not pile up: from here on Add drops them.
  if (log_ == nullptr && listeners_.empty()) {
    MutexLock lock(&mutex_);
    idle_ = true;
    waiting_.clear();
    return absl::OkStatus();
  }
  const absl::Status started = StartDelivery();
  // Without a thread, what is added from now on is dropped.
  if (!started.ok()) Stop();
  return started;
}

absl::Status EventQueue::EnsureThread() {
  {
    MutexLock lock(&mutex_);
    if (!idle_) return absl::OkStatus();
    // Before the thread runs, so that events of the change that asked for it are not dropped.
    idle_ = false;
  }
  const absl::Status started = StartDelivery();
  if (!started.ok()) {
    MutexLock lock(&mutex_);
    idle_ = true;
    waiting_.clear();
  }
  return started;
}

absl::Status EventQueue::StartDelivery() {
  {
    MutexLock lock(&mutex_);
    // Before the thread exists, so that a Drain that comes first waits for it.
    running_ = true;
  }
  const absl::Status started = StartThread(&thread_, [this] { NotifyAll(); });
  if (!started.ok()) {
    MutexLock lock(&mutex_);
    running_ = false;
    delivered_.SignalAll();
  }
  return started;
}

void EventQueue::SetLog(const InfoLogLimits& limits) {
  MutexLock lock(&mutex_);
  if (!running_) return;
  UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // By their place among the events that wait: those before it are written under the old limits.
    log_changes_.push_back({waiting_.size(), limits});
  });
  added_.Signal();
}

// Without memory for it there is no LOG.
void EventQueue::UseLog(const InfoLogLimits& limits) {
  UnlessOutOfMemory([&] {
    if (limits.file_bytes == 0) {
      log_.reset();
    } else if (log_ == nullptr) {
      log_ = std::make_unique<InfoLog>(log_place_, limits);
    } else {
      log_->SetLimits(limits);
    }
  });
}

void EventQueue::Drain() {
  MutexLock lock(&mutex_);
  // A queue that does not run has nobody who would take what waits. A listener that called this
  // would wait for itself: `delivering_` is true while it runs.
  while (running_ && (delivering_ || !waiting_.empty() || !log_changes_.empty())) {
    delivered_.Wait(&mutex_);
  }
}

void EventQueue::Stop() {
  {
    MutexLock lock(&mutex_);
    // Not an order to leave at once: the thread ends when nothing waits, so that what was added
    // before this is delivered.
    stopping_ = true;
    added_.Signal();
  }
  // Without the lock, which the thread takes to end.
  if (thread_.joinable()) thread_.join();
}

bool EventQueue::Add(Event event) {
  event.time = std::chrono::system_clock::now();
  // A copy of its own: copies of a status share their text by a count that lives in Abseil's
  // library, where ThreadSanitizer sees one thread read and another delete.
  const bool copied = UnlessOutOfMemory([&] {
    if (!event.status.ok()) {
      event.status = absl::Status(event.status.code(), event.status.message());
    }
  });
  MutexLock lock(&mutex_);
  // The time is taken, and the copy made, before the lock. Callers may hold the locks of a
  // database: what happens under this one is a few moves and never a call of somebody's code.
  if (stopping_ || idle_) return false;
  // The newest is dropped and not the oldest: how trouble began tells more than its thousandth
  // repetition. The next event that fits in says how many are missing before it.
  const bool has_place =
      copied && waiting_.size() < kMaxWaiting &&
      UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { waiting_.emplace_back(); });
  if (!has_place) {
    num_lost_++;
    return false;
  }
  // Place is taken first, and the event moved in last: where there is no memory nothing is half
  // done, and the count of losses is not lost itself.
  event.num_lost_before = std::exchange(num_lost_, 0);
  waiting_.back() = std::move(event);
  added_.Signal();
  return true;
}

void EventQueue::AddIfCorruption(const absl::Status& status) {
  if (!absl::IsDataLoss(status)) return;
  std::set<std::string>::iterator reported;
  {
    MutexLock lock(&mutex_);
    if (stopping_ || idle_ || corruptions_reported_.size() >= kMaxCorruptions) return;
    bool is_new = false;
    UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      // Each read of a damaged block meets the damage again: told once, it stays visible among
      // other events.
      std::tie(reported, is_new) = corruptions_reported_.emplace(status.message());
    });
    if (!is_new) return;
  }
  // Outside the lock, which Add takes for itself; the message is reserved by now.
  Event event;
  event.kind = Event::Kind::kCorruptionFound;
  event.status = status;
  if (Add(std::move(event))) return;
  // Nobody has been told: who meets the damage next tries again.
  MutexLock lock(&mutex_);
  corruptions_reported_.erase(reported);
}

void EventQueue::AddGarbage(std::string_view family, uint64_t num_entries) {
  UnlessOutOfMemory([&] {
    Event event;
    event.kind = Event::Kind::kGarbageMet;
    event.column_family = std::string(family);
    {
      MutexLock lock(&mutex_);
      if (stopping_ || idle_) return;
      Garbage& garbage = garbage_[event.column_family];
      garbage.longest = std::max(garbage.longest, num_entries);
      const SteadyTime now = SteadyNow();
      if (now < garbage.silent_until) return;
      garbage.silent_until = now + kSilence;
      event.num_inputs = std::exchange(garbage.longest, 0);
      ForgetEnded(&garbage_, now);
    }
    const uint64_t told = event.num_inputs;
    if (Add(std::move(event))) return;
    // The next one may come at once, and tells of this one too.
    MutexLock lock(&mutex_);
    garbage_[std::string(family)] = {told, SteadyTime()};
  });
}

void EventQueue::AddCounted(Event::Kind kind, std::string_view family, std::string_view message,
                            const absl::Status& status, uint64_t count) {
  if (status.ok() || count == 0) return;
  UnlessOutOfMemory([&] {
    Event event;
    event.kind = kind;
    event.column_family = std::string(family);
    event.message = std::string(message);
    event.status = status;
    {
      MutexLock lock(&mutex_);
      if (stopping_ || idle_) return;
      // By name, not by id: whoever reads the events knows families by name.
      Counted& counted = counted_[{kind, event.column_family}];
      counted.count += count;
      const SteadyTime now = SteadyNow();
      if (now < counted.silent_until) return;
      counted.silent_until = now + kSilence;
      // Those that were only counted in the silent minute are told with the next event.
      event.num_inputs = std::exchange(counted.count, 0);
      ForgetEnded(&counted_, now);
    }
    const uint64_t told = event.num_inputs;
    if (Add(std::move(event))) return;
    // Those that an event should have told of are told with the next one, which may come at once.
    MutexLock lock(&mutex_);
    Counted& counted = counted_[{kind, std::string(family)}];
    counted.count += told;
    counted.silent_until = SteadyTime();
  });
}

void EventQueue::NotifyAll() {
  const OngoingCall delivery(this);
  for (;;) {
    std::vector<Event> events;
    std::vector<LogChange> log_changes;
    {
      MutexLock lock(&mutex_);
      // What the last round took has been delivered and flushed by now.
      delivering_ = false;
      const auto is_due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return !waiting_.empty() || !log_changes_.empty();
      };
      if (!is_due()) delivered_.SignalAll();
      // Stop wakes it, too. What waits then is still delivered: it ends only when nothing is due.
      while (!is_due() && !stopping_) added_.Wait(&mutex_);
      if (!is_due()) break;
      // Everything at once: the log is flushed once for all of it, and Add meets an empty queue
      // however long the listeners take.
      events.swap(waiting_);
      log_changes.swap(log_changes_);
      delivering_ = true;
    }
    auto change = log_changes.begin();
    for (size_t i = 0; i <= events.size(); i++) {
      // Each change in its place among the events. They are in order, since places only grow while
      // nothing is taken out.
      for (; change != log_changes.end() && change->num_before == i; ++change) {
        UseLog(change->limits);
      }
      if (i < events.size()) Notify(events[i]);
    }
    if (log_ != nullptr) log_->Flush();
  }
  // Closed before Stop returns and the database's lock is released: another process that opens the
  // database renames the file.
  log_.reset();
  MutexLock lock(&mutex_);
  running_ = false;
  delivered_.SignalAll();
}

void EventQueue::Notify(const Event& event) {
  if (log_ != nullptr) {
    // Without memory for a line the line is left out: nothing else may fail for want of the log.
    CatchOutOfMemory([&] {
      if (event.num_lost_before > 0) {
        log_->Write(
            event.time,
            absl::StrCat(event.num_lost_before,
                         event.num_lost_before == 1 ? " event was" : " events were", " lost here"));
      }
      log_->Write(event.time, event.ToString());
      return absl::OkStatus();
    }).IgnoreError();
  }
  // No lock is held: a listener may call the database, which adds events.
  for (const auto& listener : listeners_) listener->OnEvent(event);
}

}  // namespace winnow
