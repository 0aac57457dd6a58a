#include "filter/redis/connection.h"

#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace winnow::filter::redis {
namespace {

// On the stack: a system call for each 64 KiB, with no allocation and no copy but hiredis's own.
constexpr size_t kReceiveBytes = 64 << 10;
// Far above what any command of this library asks for, and small beside any memory.
constexpr uint64_t kMaxReplyElements = 65536;

timeval ToTimeval(std::chrono::milliseconds duration) {
  timeval value;
  value.tv_sec = static_cast<time_t>(duration.count() / 1000);
  value.tv_usec = static_cast<suseconds_t>(duration.count() % 1000 * 1000);
  return value;
}

std::string SystemReason(int error) { return std::generic_category().message(error); }

}  // namespace

void Connection::Free::operator()(redisContext* context) const { redisFree(context); }

Connection::Connection(std::unique_ptr<redisContext, Free> context, std::string name,
                       uint64_t max_bytes)
    : context_(std::move(context)), name_(std::move(name)), reader_(max_bytes, kMaxReplyElements) {}

// hiredis connects and parses; sending and receiving are done here, since its own calls have one
// time-out for each system call, which a server that trickles can make last for ever.
absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const Endpoint& endpoint,
                                                             const ServerUrl& url,
                                                             const ClientOptions& options) {
  const timeval timeout = ToTimeval(options.connect_timeout);
  // For AUTH and SELECT as well: a server that accepts but does not answer is as good as one out of
  // reach.
  const SteadyTime deadline = std::chrono::steady_clock::now() + options.connect_timeout;
  std::unique_ptr<redisContext, Free> context(
      endpoint.host.empty()
          ? redisConnectUnixWithTimeout(endpoint.socket_path.c_str(), timeout)
          : redisConnectWithTimeout(endpoint.host.c_str(), endpoint.port, timeout));
  const std::string name = endpoint.ToString();
  if (context == nullptr) return absl::ResourceExhaustedError("Redis: no memory to connect");
  if (context->err != 0) {
    return absl::UnavailableError(
        absl::StrCat("Redis at ", name, ": cannot connect: ", context->errstr));
  }
  std::unique_ptr<Connection> connection(
      new Connection(std::move(context), name, options.max_reply_bytes));
  const absl::Status introduced = connection->Introduce(url, deadline);
  if (!introduced.ok()) return introduced;
  return connection;
}

absl::Status Connection::Introduce(const ServerUrl& url, SteadyTime deadline) {
  Request request;
  // A user may need no password, but one who is named is not to become the default user.
  if (!url.user.empty()) {
    request.Command({"AUTH", url.user, url.password});
  } else if (!url.password.empty()) {
    request.Command({"AUTH", url.password});
  }
  if (url.database != 0) request.Command({"SELECT", absl::StrCat(url.database)});
  if (request.num_commands() == 0) return absl::OkStatus();
  std::string bytes;
  for (size_t i = 0; i < request.num_commands(); ++i) request.AppendCommand(i, false, &bytes);
  const absl::StatusOr<std::vector<Reply>> replies =
      Exchange(bytes, request.num_commands(), deadline);
  if (!replies.ok()) return replies.status();
  for (const Reply& reply : *replies) {
    const absl::Status status = reply.ToStatus();
    if (status.ok()) continue;
    // "ERR AUTH called without any password configured", "ERR DB index is out of range": whatever
    // the code, this URL does not fit the server.
    return absl::IsUnavailable(status)
               ? status
               : absl::PermissionDeniedError(absl::StrCat("Redis at ", name_, ": ", reply.text));
  }
  return absl::OkStatus();
}

// Anything to read is wrong: the end of the connection, or the late answer to a question that timed
// out, which the next one would take for its own.
bool Connection::IsIdle() const {
  char byte;
  const ssize_t received = recv(context_->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

absl::Status Connection::Wait(bool wants_write, SteadyTime deadline) const {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return absl::DeadlineExceededError(
          absl::StrCat("Redis at ", name_, ": no answer within the time-out"));
    }
    // Readable in any case: while our bytes do not go out, the server may be waiting for us to take
    // its answers, and each side for the other for ever.
    pollfd socket = {context_->fd, static_cast<int16_t>(wants_write ? POLLIN | POLLOUT : POLLIN),
                     0};
    // A minute at most: an int of milliseconds holds no more than 24 days.
    const auto most = static_cast<int>(std::min<int64_t>(left.count(), 60'000));
    const int ready = poll(&socket, 1, most);
    // Errors and hang-ups are readiness, too: sending or receiving then says what happened.
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) {
      return absl::UnavailableError(
          absl::StrCat("Redis at ", name_, ": poll: ", SystemReason(errno)));
    }
  }
}

// Without MSG_NOSIGNAL a server that went away would end the process.
absl::Status Connection::Send(std::string_view* bytes) const {
  const ssize_t sent =
      send(context_->fd, bytes->data(), bytes->size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) {
    bytes->remove_prefix(static_cast<size_t>(sent));
    return absl::OkStatus();
  }
  // Nothing was sent; Wait looks at the deadline before the next attempt.
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("Redis at ", name_, ": cannot send: ", SystemReason(errno)));
}

absl::Status Connection::Receive() {
  char buffer[kReceiveBytes];
  const ssize_t received = recv(context_->fd, buffer, sizeof(buffer), MSG_DONTWAIT);
  if (received > 0) {
    return reader_.Feed(std::string_view(buffer, static_cast<size_t>(received)));
  }
  if (received == 0) {
    return absl::UnavailableError(absl::StrCat("Redis at ", name_, ": closed the connection"));
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("Redis at ", name_, ": cannot receive: ", SystemReason(errno)));
}

// Reads while it writes: a server stops reading once its answers fill the buffers between.
absl::StatusOr<std::vector<Reply>> Connection::Exchange(std::string_view bytes, size_t num_replies,
                                                        SteadyTime deadline) {
  std::vector<Reply> replies;
  replies.reserve(num_replies);
  // At once, without poll: small requests fit the socket's buffer nearly always.
  if (!bytes.empty()) {
    const absl::Status sent = Send(&bytes);
    if (!sent.ok()) return sent;
  }
  // The parser first: one Receive may have brought several replies, after which there is nothing to
  // wait for.
  while (replies.size() < num_replies) {
    absl::StatusOr<std::optional<Reply>> reply = reader_.Next();
    if (!reply.ok()) return reply.status();
    if (reply->has_value()) {
      replies.push_back(**std::move(reply));
      continue;
    }
    absl::Status status = Wait(!bytes.empty(), deadline);
    if (status.ok() && !bytes.empty()) status = Send(&bytes);
    if (status.ok()) status = Receive();
    if (!status.ok()) return status;
  }
  // What was sent beyond that would be taken for the answer to the next question.
  if (reader_.HasUnread()) {
    return absl::DataLossError(absl::StrCat("Redis at ", name_, ": more answers than questions"));
  }
  return replies;
}

}  // namespace winnow::filter::redis
