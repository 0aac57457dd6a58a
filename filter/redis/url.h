// The address of a server as text.

#ifndef WINNOW_FILTER_REDIS_URL_H_
#define WINNOW_FILTER_REDIS_URL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow::filter::redis {

struct Endpoint {
  std::string host;  // empty: a Unix socket
  uint16_t port = 6379;
  std::string socket_path;  // of a Unix socket

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
  std::string ToString() const;
};

struct ServerUrl {
  Endpoint endpoint;
  std::string user;      // empty: the default user
  std::string password;  // empty: none
  uint32_t database = 0;
};

// As Client::Open documents. InvalidArgument says what is wrong, without the password.
absl::StatusOr<ServerUrl> ParseServerUrl(std::string_view text);

// "host:port" of a redirection; the host is `asked`'s if there is none. InvalidArgument.
absl::StatusOr<Endpoint> ParseHostPort(std::string_view text, const Endpoint& asked);

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_URL_H_
