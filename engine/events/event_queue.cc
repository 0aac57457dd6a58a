#include "engine/events/event_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace winnow {

namespace {

constexpr size_t kMaxCorruptions = 1000;  // whose messages are remembered

}  // namespace

EventQueue::EventQueue(std::vector<std::shared_ptr<EventListener>> listeners)
    : listeners_(std::move(listeners)) {}

EventQueue::~EventQueue() { Stop(); }

void EventQueue::Start(std::unique_ptr<InfoLog> log) {
  log_ = std::move(log);
  if (log_ == nullptr && listeners_.empty()) return Stop();
  {
    MutexLock lock(&mutex_);
    running_ = true;
  }
  thread_ = std::thread([this] { NotifyAll(); });
}

void EventQueue::Drain() {
  MutexLock lock(&mutex_);
  while (running_ && (delivering_ || !waiting_.empty())) delivered_.Wait(&mutex_);
}

void EventQueue::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    added_.Signal();
  }
  if (thread_.joinable()) thread_.join();
}

void EventQueue::Add(Event event) {
  event.time = std::chrono::system_clock::now();
  // A copy of its own: copies of a status share their text by a count that lives in Abseil's
  // library, where ThreadSanitizer sees one thread read and another delete.
  if (!event.status.ok()) {
    event.status = absl::Status(event.status.code(), event.status.message());
  }
  MutexLock lock(&mutex_);
  if (stopping_) return;
  if (waiting_.size() >= kMaxWaiting) {
    num_lost_++;
    return;
  }
  event.num_lost_before = std::exchange(num_lost_, 0);
  waiting_.push_back(std::move(event));
  added_.Signal();
}

void EventQueue::AddIfCorruption(const absl::Status& status) {
  if (!absl::IsDataLoss(status)) return;
  {
    MutexLock lock(&mutex_);
    if (stopping_ || corruptions_reported_.size() >= kMaxCorruptions) return;
    if (!corruptions_reported_.emplace(status.message()).second) return;
  }
  Event event;
  event.kind = Event::Kind::kCorruptionFound;
  event.status = status;
  Add(std::move(event));
}

void EventQueue::NotifyAll() {
  for (;;) {
    std::deque<Event> events;
    {
      MutexLock lock(&mutex_);
      delivering_ = false;
      if (waiting_.empty()) delivered_.SignalAll();
      while (waiting_.empty() && !stopping_) added_.Wait(&mutex_);
      if (waiting_.empty()) break;
      events.swap(waiting_);
      delivering_ = true;
    }
    for (const Event& event : events) Notify(event);
    if (log_ != nullptr) log_->Flush();
  }
  log_.reset();
  MutexLock lock(&mutex_);
  running_ = false;
  delivered_.SignalAll();
}

void EventQueue::Notify(const Event& event) {
  if (log_ != nullptr) {
    if (event.num_lost_before > 0) {
      log_->Write(event.time, absl::StrCat(event.num_lost_before, " events were lost here"));
    }
    log_->Write(event.time, event.ToString());
  }
  for (const auto& listener : listeners_) listener->OnEvent(event);
}

}  // namespace winnow
