// One load a key at a time: whoever asks for a key that is being loaded waits for that load.
// Internal.

#ifndef WINNOW_GUARD_FLIGHTS_H_
#define WINNOW_GUARD_FLIGHTS_H_

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "filter/base/mutex.h"

namespace winnow::guard::internal {

// A load of one key, from its begin until its result is stored.
class Flight {
 public:
  // Queued: whoever takes it up first loads the key.
  explicit Flight(std::string_view key, bool is_queued = false)
      : key_(key), is_queued_(is_queued) {}

  const std::string& key() const { return key_; }

  enum class Outcome : uint8_t {
    kDone,       // status and value are there
    kOvertaken,  // the key was written meanwhile: the value may be older than the waiter's question
    kTimeout,
  };
  // Waits for the end, so long at most. The value of a load that succeeded is assigned.
  Outcome Wait(std::chrono::microseconds max_wait, absl::Status* status, std::string* value);
  // False if it has not come in time. Being overtaken is an end too.
  bool WaitForEnd(std::chrono::microseconds max_wait);

  // For a flight that was begun for later: true for the first who asks, who is to load the key. A
  // caller must not wait for what only stands in a queue.
  bool TakeUp() {
    MutexLock lock(&mutex_);
    return std::exchange(is_queued_, false);
  }

  // Runs `store` unless the flight was overtaken, and no Overtake() while it runs. False if it was,
  // or if `store` returns false: then it is.
  template <typename Store>
  bool StoreUnlessOvertaken(Store store) {
    MutexLock lock(&mutex_);
    if (!overtaken_) overtaken_ = !store();
    return !overtaken_;
  }

 private:
  friend class Flights;
  friend class OwnFlight;

  // From now on its result is neither stored nor given to those that wait.
  void Overtake() {
    MutexLock lock(&mutex_);
    overtaken_ = true;
    ended_.SignalAll();
  }
  void End(const absl::Status& status, const std::string& value);
  bool WaitForEndLocked(std::chrono::microseconds max_wait) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string key_;
  Mutex mutex_;
  CondVar ended_;
  bool is_queued_ ABSL_GUARDED_BY(mutex_);
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool overtaken_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::string value_ ABSL_GUARDED_BY(mutex_);
};

class Flights {
 public:
  // The flight of the key, and whether the caller has begun it, and so owns it.
  struct Place {
    std::shared_ptr<Flight> flight;
    bool is_first;
    std::shared_ptr<Flight> previous;  // one that has departed, and may not have ended; or null
    bool is_queued = false;
  };
  Place Join(std::string_view key);
  // The same for who loads it later: Begin() says whether it is still to be done.
  Place JoinForLater(std::string_view key);
  // From now on nobody joins the flight: who comes begins another, which is to wait for this one's
  // end. For a load that another process's write cannot overtake: those who have joined came before
  // it began, and may have what it reads.
  void Depart(const Flight& flight);
  // From now on nobody joins the flight, and Overtake does not find it: who stores its value sees
  // for itself whether the key has been written.
  void Close(const Flight& flight);
  // A flight that nobody joins, and whose value is not stored.
  static std::shared_ptr<Flight> Alone(std::string_view key);
  // The key is being written: its flight, if there is one, has been overtaken, and who comes from
  // now on begins another. Waits until a value that is just being stored is stored.
  void Overtake(std::string_view key);

 private:
  friend class OwnFlight;

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };
  struct Entry {
    std::shared_ptr<Flight> flight;
    bool has_departed = false;
  };
  using Entries = std::unordered_map<std::string, Entry, Hash, std::equal_to<>>;
  struct alignas(64) Shard {
    Mutex mutex;
    Entries flights ABSL_GUARDED_BY(mutex);

    // The entry of this very flight, or the end: after Overtake another one may be there.
    Entries::iterator Find(const Flight& flight) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  };
  static constexpr size_t kShards = 64;

  Place Join(std::string_view key, bool is_for_later);
  Shard& ShardOf(std::string_view key) { return shards_[Hash()(key) % kShards]; }
  std::array<Shard, kShards> shards_;
};

// A flight that was begun here. If it is not ended, those that wait try again.
class OwnFlight {
 public:
  OwnFlight(std::shared_ptr<Flights> flights, Flights::Place place)
      : flights_(std::move(flights)),
        flight_(std::move(place.flight)),
        previous_(std::move(place.previous)),
        is_queued_(place.is_queued) {}
  OwnFlight(OwnFlight&& other) noexcept
      : flights_(other.flights_),
        flight_(std::move(other.flight_)),
        previous_(std::move(other.previous_)),
        is_queued_(other.is_queued_),
        has_ended_(std::exchange(other.has_ended_, true)) {}
  OwnFlight& operator=(OwnFlight&&) = delete;
  ~OwnFlight();

  Flight* flight() const { return flight_.get(); }
  // Of a flight that was to be loaded later: false if somebody else has taken it up, who ends it.
  bool Begin() {
    if (std::exchange(is_queued_, false)) has_ended_ = !flight_->TakeUp();
    return !has_ended_;
  }
  // Waits for the end of the one that departed before it; false if that has not come in time.
  bool WaitForTurn(std::chrono::microseconds max_wait) {
    return previous_ == nullptr || previous_->WaitForEnd(max_wait);
  }
  // It ends without a result: those that wait try again.
  void GiveUp();
  // The load has ended with this; the value counts if the status is OK.
  void End(const absl::Status& status, const std::string& value);

 private:
  const std::shared_ptr<Flights> flights_;
  std::shared_ptr<Flight> flight_;
  std::shared_ptr<Flight> previous_;
  bool is_queued_;
  bool has_ended_ = false;  // or is another's to end
};

}  // namespace winnow::guard::internal

#endif  // WINNOW_GUARD_FLIGHTS_H_
