#include "filter/guard/flights.h"

#include <string>
#include <utility>

#include "filter/base/out_of_memory.h"

namespace winnow::guard::internal {

Flight::Outcome Flight::Wait(std::chrono::microseconds max_wait, absl::Status* status,
                             std::string* value) {
  const auto deadline = std::chrono::steady_clock::now() + max_wait;
  MutexLock lock(&mutex_);
  // Who waits need not wait for a load whose result it will not take.
  while (!has_ended_ && !overtaken_) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= left.zero()) return Outcome::kTimeout;
    ended_.WaitFor(&mutex_, std::chrono::ceil<std::chrono::microseconds>(left));
  }
  if (overtaken_) return Outcome::kOvertaken;
  *status = status_;
  if (status_.ok()) value->assign(value_);
  return Outcome::kDone;
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
  if (found != shard.flights.end()) return {found->second, false};
  auto flight = std::make_shared<Flight>(key);
  shard.flights.emplace(key, flight);
  return {std::move(flight), true};
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
  // After Overtake another one may be there.
  const auto found = shard.flights.find(flight.key());
  if (found != shard.flights.end() && found->second.get() == &flight) shard.flights.erase(found);
}

void Flights::Overtake(std::string_view key) {
  Shard& shard = ShardOf(key);
  std::shared_ptr<Flight> flight;
  {
    MutexLock lock(&shard.mutex);
    const auto found = shard.flights.find(key);
    if (found == shard.flights.end()) return;
    flight = std::move(found->second);
    shard.flights.erase(found);
  }
  flight->Overtake();
}

}  // namespace winnow::guard::internal
