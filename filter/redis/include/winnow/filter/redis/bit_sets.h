// Two exact sets that are bits of a string in Redis, without false positives: the days on which a
// user signed in, and ids that are small numbers.

#ifndef WINNOW_FILTER_REDIS_BIT_SETS_H_
#define WINNOW_FILTER_REDIS_BIT_SETS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/filter/redis/client.h"
#include "winnow/filter/redis/query_counts.h"

namespace winnow::filter::redis {

// A month of one user.
class SignInMonth {
 public:
  // From the string in Redis, whose highest bit is day 1; more than 31 bits do not count.
  static SignInMonth FromString(std::string_view value);

  bool SignedIn(int day) const;  // 1 to 31
  int Count() const;
  std::vector<int> Days() const;  // ascending
  // How many days in a row the user had signed in on `day`, that day included; 0 if not then.
  int Streak(int day) const;
  int LongestStreak() const;
  int FirstMissedDay() const;  // 1 to 32

 private:
  uint32_t days_ = 0;  // bit i: day i + 1
};

// Sign-ins under the keys "sign:USER:YYYYMM". Missing keys are months without any. All calls fail
// as Client::Execute does; InvalidArgument: no such day or month. Thread-safe.
class SignInCalendar {
 public:
  explicit SignInCalendar(Client* client, std::string_view prefix = "sign")
      : client_(client), prefix_(prefix) {}

  // Ok(true) if it is the first time on that day.
  absl::StatusOr<bool> SignIn(std::string_view user, int year, int month, int day);
  absl::StatusOr<SignInMonth> Month(std::string_view user, int year, int month);

 private:
  std::string KeyOf(std::string_view user, int year, int month) const;

  Client* const client_;
  const std::string prefix_;
};

// A set of ids from 0 on, a bit each, as SETBIT has them.
//
//   DenseIdSet ids(client, "ids", 999'999);
//   ids.Create();                                       // once, and again after its key was lost
//   ids.Add(std::vector<uint64_t>{17, 4711});
//
// The string has its whole length from Create on. One that is missing or shorter was lost: it has
// expired, was evicted, or was made again by a program that knows nothing of that, and would deny
// the ids of before. So MayContain says maybe then, and the other calls fail with NotFound; no call
// but Create makes a key. All processes give the same limit. A string that other programs have made
// with SETBIT is a set once it is whole: "SETBIT key max_id 0" makes it so, unless it is already.
// Calls fail as Client::Execute does. Thread-safe.
class DenseIdSet {
 public:
  static constexpr uint64_t kDefaultMaxId = (uint64_t{64} << 23) - 1;  // 64 MiB

  // Ids above `max_id` are refused. InvalidArgument from a call if it is above 2^32 - 1.
  DenseIdSet(Client* client, std::string_view key, uint64_t max_id = kDefaultMaxId);
  ~DenseIdSet();

  // Makes an empty set. Redis makes room for all ids up to the limit at once, during which it
  // answers nobody. AlreadyExists: there is such a key, whole or not.
  absl::Status Create();
  // Gives how many were new. OutOfRange: an id above the limit; nothing is added then.
  absl::StatusOr<uint64_t> Add(std::span<const uint64_t> ids);
  absl::StatusOr<uint64_t> Remove(std::span<const uint64_t> ids);
  // False: certainly not in the set, and ids above the limit never are. True: in it, or it could
  // not be asked, which counts() tells apart.
  bool MayContain(uint64_t id);
  std::vector<bool> MayContain(std::span<const uint64_t> ids);
  absl::StatusOr<uint64_t> Count();

  QueryCounts counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_BIT_SETS_H_
