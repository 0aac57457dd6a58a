// Events on their way from where they happen to the listeners and the LOG.
#ifndef WINNOW_ENGINE_EVENTS_EVENT_QUEUE_H_
#define WINNOW_ENGINE_EVENTS_EVENT_QUEUE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/steady_clock.h"
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

  // Starts to deliver, also what was added before. Called at most once. An error: there is no
  // thread to be had, and nothing will be delivered.
  absl::Status Start(InfoLogPlace place, const InfoLogLimits& limits) ABSL_LOCKS_EXCLUDED(mutex_);
  // Once it has started, with nobody to deliver to, there is no thread until this. An error as
  // that of Start; it may be tried again. Not beside Stop.
  absl::Status EnsureThread() ABSL_LOCKS_EXCLUDED(mutex_);
  // Begins or ends a LOG, or changes its limits: behind the events that were added before, and
  // before those that are added later. Without a thread, or memory for it, nothing happens.
  void SetLog(const InfoLogLimits& limits) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until everything added so far has been delivered. Not from a listener.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells what waits, then no more.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // Sets the event's time. False: it was dropped. One that there is no place or memory for is
  // counted as lost.
  bool Add(Event event) ABSL_LOCKS_EXCLUDED(mutex_);
  // Does nothing unless it is DataLoss, with a message that was not delivered before.
  void AddIfCorruption(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // An iterator passed so many deleted or hidden entries in a row. An event comes once a minute for
  // each family, and tells of the longest row since the last.
  void AddGarbage(std::string_view family, uint64_t num_entries) ABSL_LOCKS_EXCLUDED(mutex_);
  // An operator made no value of `count` keys of the family, the first of them with this error.
  // Most are only counted: however many there are, an event comes once a minute.
  void AddMergeFailures(std::string_view family, std::string_view call, const absl::Status& status,
                        uint64_t count) ABSL_LOCKS_EXCLUDED(mutex_) {
    AddCounted(Event::Kind::kMergeFailed, family, call, status, count);
  }
  // A transaction was refused a lock. Told as seldom.
  void AddDeadlock(std::string_view family, const absl::Status& status)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    AddCounted(Event::Kind::kDeadlockFound, family, "", status, 1);
  }

 private:
  void AddCounted(Event::Kind kind, std::string_view family, std::string_view message,
                  const absl::Status& status, uint64_t count) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status StartDelivery() ABSL_LOCKS_EXCLUDED(mutex_);
  void UseLog(const InfoLogLimits& limits);
  void NotifyAll() ABSL_LOCKS_EXCLUDED(mutex_);
  void Notify(const Event& event);

  const std::vector<std::shared_ptr<EventListener>> listeners_;
  InfoLogPlace log_place_;        // written before the thread runs
  std::unique_ptr<InfoLog> log_;  // the thread's, once it runs
  std::thread thread_;

  Mutex mutex_;
  CondVar added_;
  CondVar delivered_;
  std::vector<Event> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t num_lost_ ABSL_GUARDED_BY(mutex_) = 0;
  bool delivering_ ABSL_GUARDED_BY(mutex_) = false;  // events that have left `waiting_`
  bool running_ ABSL_GUARDED_BY(mutex_) = false;     // somebody will take what waits
  bool idle_ ABSL_GUARDED_BY(mutex_) = false;  // nobody is to be told: what is added is dropped
  struct LogChange {
    size_t num_before;  // of the events that wait
    InfoLogLimits limits;
  };
  std::vector<LogChange> log_changes_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::string> corruptions_reported_ ABSL_GUARDED_BY(mutex_);
  struct Counted {
    uint64_t count = 0;  // that no event has told of
    SteadyTime silent_until;
  };
  // By kind and family.
  std::map<std::pair<Event::Kind, std::string>, Counted> counted_ ABSL_GUARDED_BY(mutex_);
  struct Garbage {
    uint64_t longest = 0;  // that no event has told of
    SteadyTime silent_until;
  };
  std::map<std::string, Garbage> garbage_ ABSL_GUARDED_BY(mutex_);  // by family
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_EVENTS_EVENT_QUEUE_H_
