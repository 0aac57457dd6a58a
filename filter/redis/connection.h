// One socket to one server.

#ifndef WINNOW_FILTER_REDIS_CONNECTION_H_
#define WINNOW_FILTER_REDIS_CONNECTION_H_

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "filter/redis/reply_reader.h"
#include "filter/redis/url.h"
#include "winnow/filter/redis/client.h"

struct redisContext;

namespace winnow::filter::redis {

using SteadyTime = std::chrono::steady_clock::time_point;

// Used by one thread at a time.
class Connection {
 public:
  // Connects, and sends AUTH and SELECT as the URL asks for. Unavailable, DeadlineExceeded,
  // PermissionDenied.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const Endpoint& endpoint,
                                                          const ServerUrl& url,
                                                          const ClientOptions& options);

  // Sends the bytes of some commands and waits for `num_replies`, until `deadline`. After an error
  // it must not be used again: replies may still come.
  absl::StatusOr<std::vector<Reply>> Exchange(std::string_view bytes, size_t num_replies,
                                              SteadyTime deadline);

  // False if the server has closed it, or sent what nobody asked for.
  bool IsIdle() const;

 private:
  struct Free {
    void operator()(redisContext* context) const;
  };

  Connection(std::unique_ptr<redisContext, Free> context, std::string name, uint64_t max_bytes);

  absl::Status Introduce(const ServerUrl& url, SteadyTime deadline);
  // Waits until the socket can be read, or written if `wants_write`.
  absl::Status Wait(bool wants_write, SteadyTime deadline) const;
  absl::Status Send(std::string_view* bytes) const;
  absl::Status Receive();

  const std::unique_ptr<redisContext, Free> context_;
  const std::string name_;
  ReplyReader reader_;
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_CONNECTION_H_
