// The cache guard's cache on a Redis server, with locks across processes.
//
//   auto client = Client::Open("redis://127.0.0.1:6379");
//   GuardCache cache(client->get(), "app:");
//
// Only where the guard was built, too (Winnow::redis_guard).

#ifndef WINNOW_FILTER_REDIS_GUARD_CACHE_H_
#define WINNOW_FILTER_REDIS_GUARD_CACHE_H_

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/filter/redis/client.h"
#include "winnow/guard/cache.h"

namespace winnow::filter::redis {

// A value lies under PREFIX{:KEY}, its lock under PREFIX{:KEY}lock, in one slot of a cluster. Every
// call is one command or one script. Errors are those of Client::Execute, whose command time-out
// says how long the guard waits for a server that is gone: leave it short; FailedPrecondition from
// Get and TryLock where something else lies under their name. For a user who may not run scripts
// all but Get and Remove fail. The client must live longer. Thread-safe.
class GuardCache : public guard::Cache {
 public:
  // InvalidArgument from each call for a prefix with braces.
  explicit GuardCache(Client* client, std::string_view prefix = "");

  absl::StatusOr<bool> Get(std::string_view key, std::string* value) override;
  absl::Status Set(std::string_view key, std::string_view value,
                   std::chrono::milliseconds ttl) override;
  absl::Status Remove(std::string_view key) override;
  bool HasLocks() const override { return true; }
  absl::StatusOr<bool> TryLock(std::string_view key, std::string_view token,
                               std::chrono::milliseconds ttl) override;
  absl::StatusOr<bool> RenewLock(std::string_view key, std::string_view token,
                                 std::chrono::milliseconds ttl) override;
  absl::StatusOr<bool> SetAndUnlock(std::string_view key, std::string_view token,
                                    std::string_view value, std::chrono::milliseconds ttl) override;
  absl::StatusOr<bool> Unlock(std::string_view key, std::string_view token) override;

 private:
  absl::Status CheckPrefix() const;
  absl::StatusOr<Reply> Run(const Script& script, std::string_view key,
                            std::initializer_list<std::string_view> arguments);
  absl::StatusOr<bool> RunForYes(const Script& script, std::string_view key,
                                 std::initializer_list<std::string_view> arguments);

  Client* const client_;
  const std::string prefix_;
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_GUARD_CACHE_H_
