#include "filter/guard/flights.h"

#include <string>
#include <utility>

#include "filter/base/out_of_memory.h"

namespace winnow::guard::internal {

Flight::Outcome Flight::Wait(std::chrono::microseconds max_wait, absl::Status* status,
                             std::string* value) {
  MutexLock lock(&mutex_);
  if (!WaitForEndLocked(max_wait)) return Outcome::kTimeout;
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

Flights::Place Flights::Join(std::string_view key) {
  Shard& shard = ShardOf(key);
  MutexLock lock(&shard.mutex);
  const auto found = shard.flights.find(key);
  if (found != shard.flights.end() && !found->second.has_departed) {
    return {found->second.flight, false, nullptr};
  }
  auto flight = std::make_shared<Flight>(key);
  if (found == shard.flights.end()) {
    shard.flights.emplace(key, Entry{flight});
    return {std::move(flight), true, nullptr};
  }
  Entry previous = std::exchange(found->second, Entry{flight});
  return {std::move(flight), true, std::move(previous.flight)};
}

void Flights::Depart(const Flight& flight) {
  Shard& shard = ShardOf(flight.key());
  MutexLock lock(&shard.mutex);
  const auto found = shard.Find(flight);
  if (found != shard.flights.end()) found->second.has_departed = true;
}

std::shared_ptr<Flight> Flights::Alone(std::string_view key) {
  auto flight = std::make_shared<Flight>(key);
  flight->Overtake();
  return flight;
}

void OwnFlight::End(const absl::Status& status, const std::string& value) {
  flights_->Close(*flight_);
  has_ended_ = true;
  flight_->End(status, value);
}

OwnFlight::~OwnFlight() {
  if (has_ended_) return;
  flights_->Close(*flight_);
  flight_->Overtake();
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
  flight->Overtake();
}

}  // namespace winnow::guard::internal
