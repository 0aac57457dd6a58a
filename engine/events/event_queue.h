// Events on their way from where they happen to the listeners and the LOG.
#ifndef WINNOW_ENGINE_EVENTS_EVENT_QUEUE_H_
#define WINNOW_ENGINE_EVENTS_EVENT_QUEUE_H_

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/events/info_log.h"
#include "filter/base/mutex.h"
#include "winnow/event_listener.h"

namespace winnow {

// Thread-safe. Add never waits for a listener or for I/O, so that it may be called with locks held.
class EventQueue {
 public:
  static constexpr size_t kMaxWaiting = 4096;

  explicit EventQueue(std::vector<std::shared_ptr<EventListener>> listeners);
  ~EventQueue();

  // Starts to deliver, also what was added before. `log` may be null. Called at most once. An
  // error: there is no thread to be had, and nothing will be delivered.
  absl::Status Start(std::unique_ptr<InfoLog> log) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until everything added so far has been delivered. Not from a listener.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells what waits, then no more.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // Sets the event's time. An event that there is no memory for is counted as lost.
  void Add(Event event) ABSL_LOCKS_EXCLUDED(mutex_);
  // Does nothing unless it is DataLoss, with a message that was not delivered before.
  void AddIfCorruption(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void NotifyAll() ABSL_LOCKS_EXCLUDED(mutex_);
  void Notify(const Event& event);

  const std::vector<std::shared_ptr<EventListener>> listeners_;
  std::unique_ptr<InfoLog> log_;  // the thread's, once it runs
  std::thread thread_;

  Mutex mutex_;
  CondVar added_;
  CondVar delivered_;
  std::vector<Event> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t num_lost_ ABSL_GUARDED_BY(mutex_) = 0;
  bool delivering_ ABSL_GUARDED_BY(mutex_) = false;  // events that have left `waiting_`
  bool running_ ABSL_GUARDED_BY(mutex_) = false;     // somebody will take what waits
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::string> corruptions_reported_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_EVENTS_EVENT_QUEUE_H_
