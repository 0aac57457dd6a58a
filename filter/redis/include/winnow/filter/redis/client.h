// A client of one Redis server or Redis Cluster, for the filters of this folder and whatever else
// stands beside them: time-outs that hold, reconnecting, one round trip for many commands.
//
//   absl::StatusOr<std::unique_ptr<Client>> client = Client::Open("redis://127.0.0.1:6379/0");
//   Request request;
//   request.Command({"GET", "apple"});
//   absl::StatusOr<std::vector<Reply>> replies = (*client)->Execute("apple", request);
//
// Servers: redis-server from version 6 on, Valkey, and what speaks RESP2 as they do.

#ifndef WINNOW_FILTER_REDIS_CLIENT_H_
#define WINNOW_FILTER_REDIS_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/filter/redis/reply.h"
#include "winnow/filter/redis/request.h"

namespace winnow::filter::redis {

// Times are 7 days at most.
struct ClientOptions {
  // For connecting to one server, name look-up not counted.
  std::chrono::milliseconds connect_timeout{500};
  // For one Execute as a whole, redirections included, connecting not. A server that sends a byte
  // now and then does not prolong it.
  std::chrono::milliseconds command_timeout{1000};
  // After a server could not be reached, calls fail at once for so long, rather than wait for the
  // time-out each.
  std::chrono::milliseconds reconnect_delay{100};
  // For one server, at least 1. Threads beyond that number wait for one, within the command
  // time-out.
  int max_connections = 16;
  // How often one command follows MOVED, ASK and TRYAGAIN.
  int max_redirects = 5;
  // A reply of more bytes is refused, and the connection closed.
  uint64_t max_reply_bytes = uint64_t{64} << 20;
};

// Thread-safe. Not to be used in a child of fork that the parent uses it in, too.
class Client {
 public:
  // "redis://[[user]:password@]host[:port][/database]", where user, password and host may have
  // %XX; an IPv6 address stands in brackets; or "unix:///path/of/socket". InvalidArgument: another
  // form, a database that is no number, options outside their ranges. Does not connect: the first
  // call does, and each call after the connection was lost. ResourceExhausted here and from each
  // call, of the filters too: no memory.
  static absl::StatusOr<std::unique_ptr<Client>> Open(std::string_view url,
                                                      const ClientOptions& options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sends all commands at once to the server that has `key`, and gives their replies in order, of
  // which some may be errors. All keys of the commands must be in the slot of `key`. An error means
  // that it is not known which commands were executed, if any:
  // Unavailable: no connection, or lost; or redirected too often. DeadlineExceeded: a time-out.
  // PermissionDenied: the server wants another password. DataLoss: what it sent is no reply.
  absl::StatusOr<std::vector<Reply>> Execute(std::string_view key, const Request& request);

  // Execute of a request of one command; an error reply becomes its ToStatus().
  absl::StatusOr<Reply> ExecuteOne(std::string_view key, const Request& request);

  const ClientOptions& options() const;

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_CLIENT_H_
