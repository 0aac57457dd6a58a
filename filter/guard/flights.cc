#include "filter/guard/flights.h"

#include <string>
#include <utility>

#include "filter/base/out_of_memory.h"

namespace winnow::guard::internal {

// One load a key at a time. Who finds no flight begins one and owns it; who finds one waits for it.
// A write of the key overtakes its flight: the flight leaves the table, so that later callers begin
// another, and those who wait are sent to look for themselves, since what it loads may be older
// than the write.
//
// Locks: a shard's mutex and a flight's are never held together. A flight's mutex is held while its
// value is being stored, which makes Overtake wait until that has ended.
Flight::Outcome Flight::Wait(std::chrono::microseconds max_wait, absl::Status* status,
                             std::string* value) {
  MutexLock lock(&mutex_);
  if (!WaitForEndLocked(max_wait)) return Outcome::kTimeout;
  // Looked at before the status: a flight may have ended first and been overtaken then, or the
  // reverse.
  if (overtaken_) return Outcome::kOvertaken;
  *status = status_;
  if (status_.ok()) value->assign(value_);
  return Outcome::kDone;
}

bool Flight::WaitForEnd(std::chrono::microseconds max_wait) {
  MutexLock lock(&mutex_);
  return WaitForEndLocked(max_wait);
}

// Who waits need not wait for a load whose result it will not take.
bool Flight::WaitForEndLocked(std::chrono::microseconds max_wait) {
  // Not the guard's clock: a condition variable can only wait for the system's.
  const auto deadline = std::chrono::steady_clock::now() + max_wait;
  while (!has_ended_ && !overtaken_) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= left.zero()) return false;
    ended_.WaitFor(&mutex_, std::chrono::ceil<std::chrono::microseconds>(left));
  }
  return true;
}

void Flight::End(const absl::Status& status, const std::string& value) {
  MutexLock lock(&mutex_);
  has_ended_ = true;
  status_ = status;
  // Without memory for a copy those that wait see for themselves.
  if (status.ok() && !overtaken_) {
    std::string copy;
    overtaken_ = !UnlessOutOfMemory([&] { copy = value; });
    value_ = std::move(copy);
  }
  ended_.SignalAll();
}

Flights::Place Flights::Join(std::string_view key) { return Join(key, /*is_for_later=*/false); }

Flights::Place Flights::JoinForLater(std::string_view key) {
  return Join(key, /*is_for_later=*/true);
}

Flights::Place Flights::Join(std::string_view key, bool is_for_later) {
  Shard& shard = ShardOf(key);
  MutexLock lock(&shard.mutex);
  const auto found = shard.flights.find(key);
  if (found != shard.flights.end() && !found->second.has_departed) {
    return {found->second.flight, false, nullptr};
  }
  // Under the shard's mutex, so that two callers cannot both find nothing and begin.
  auto flight = std::make_shared<Flight>(key, is_for_later);
  if (found == shard.flights.end()) {
    shard.flights.emplace(key, Entry{flight});
    return {std::move(flight), true, nullptr, is_for_later};
  }
  // The departed flight's load may still run: its successor waits for its end before it begins, or
  // each caller would load beside it for as long as the cache fails.
  Entry previous = std::exchange(found->second, Entry{flight});
  return {std::move(flight), true, std::move(previous.flight), is_for_later};
}

void Flights::Depart(const Flight& flight) {
  Shard& shard = ShardOf(flight.key());
  MutexLock lock(&shard.mutex);
  const auto found = shard.Find(flight);
  if (found != shard.flights.end()) found->second.has_departed = true;
}

std::shared_ptr<Flight> Flights::Alone(std::string_view key) {
  auto flight = std::make_shared<Flight>(key);
  // Overtaken from the beginning: StoreUnlessOvertaken refuses it, and it is in no table.
  flight->Overtake();
  return flight;
}

// Out of the table first: who comes after this looks into the cache, where the value is by now, and
// does not join a flight whose result could be older than a write that follows.
void OwnFlight::End(const absl::Status& status, const std::string& value) {
  flights_->Close(*flight_);
  has_ended_ = true;
  flight_->End(status, value);
}

void OwnFlight::GiveUp() {
  flights_->Close(*flight_);
  has_ended_ = true;
  flight_->Overtake();
}

OwnFlight::~OwnFlight() {
  // An exception, or an executor that dropped the task: those who wait must not wait for ever.
  if (!has_ended_ && Begin()) GiveUp();
}

void Flights::Close(const Flight& flight) {
  Shard& shard = ShardOf(flight.key());
  MutexLock lock(&shard.mutex);
  const auto found = shard.Find(flight);
  if (found != shard.flights.end()) shard.flights.erase(found);
}

Flights::Entries::iterator Flights::Shard::Find(const Flight& flight) {
  const auto found = flights.find(flight.key());
  return found != flights.end() && found->second.flight.get() == &flight ? found : flights.end();
}

void Flights::Overtake(std::string_view key) {
  Shard& shard = ShardOf(key);
  std::shared_ptr<Flight> flight;
  {
    MutexLock lock(&shard.mutex);
    const auto found = shard.flights.find(key);
    if (found == shard.flights.end()) return;
    flight = std::move(found->second.flight);
    shard.flights.erase(found);
  }
  // Outside the shard's mutex: this may wait for a store, which is the cache's round trip, and
  // other keys of the shard must not.
  flight->Overtake();
}

}  // namespace winnow::guard::internal
