#include "winnow/filter/redis/client.h"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "filter/base/mutex.h"
#include "filter/base/out_of_memory.h"
#include "filter/redis/connection.h"
#include "filter/redis/key_slot.h"
#include "filter/redis/url.h"

namespace winnow::filter::redis {
namespace {

using Clock = std::chrono::steady_clock;

// Servers of a cluster that are remembered: more than any has. A cluster that names ever new ones
// is forgotten and learnt again.
constexpr size_t kMaxServers = 1000;

// The system counts what it waits for in milliseconds that fit an int.
constexpr std::chrono::milliseconds kLongestTime = std::chrono::hours(7 * 24);

// What one answer asks for before the command counts as done.
enum class Next { kDone, kMoved, kAsk, kAgain, kWholeScript };

// Errors that do not mean that the command failed: the server did nothing, and says where or how it
// is to be sent. Everything else is the caller's answer.
Next NextStep(const Reply& reply) {
  if (!reply.is_error()) return Next::kDone;
  if (absl::StartsWith(reply.text, "MOVED ")) return Next::kMoved;
  if (absl::StartsWith(reply.text, "ASK ")) return Next::kAsk;
  if (absl::StartsWith(reply.text, "TRYAGAIN")) return Next::kAgain;
  if (absl::StartsWith(reply.text, "NOSCRIPT")) return Next::kWholeScript;
  return Next::kDone;
}

// A slot that moves does so key by key: asked again at once, the server would give the same answer.
constexpr std::chrono::milliseconds kTryAgainPause(20);

// Lets the next command alone touch a slot that the server is importing.
constexpr std::string_view kAsking = "*1\r\n$6\r\nASKING\r\n";

}  // namespace

class Client::Impl {
 public:
  Impl(ServerUrl url, const ClientOptions& options) : url_(std::move(url)), options_(options) {}

  absl::StatusOr<std::vector<Reply>> Execute(std::string_view key, const Request& request);

  const ClientOptions& options() const { return options_; }

 private:
  struct Server {
    std::vector<std::unique_ptr<Connection>> idle;
    int num_open = 0;  // idle ones included
    Clock::time_point not_before = {};
    absl::Status failure;  // why it is not tried before that
  };

  // A command under way.
  struct Pending {
    size_t index;
    bool whole_script = false;
  };

  // Where the key is, as far as is known.
  Endpoint EndpointOf(uint16_t slot) ABSL_LOCKS_EXCLUDED(mutex_);
  void Learn(uint16_t slot, const Endpoint& endpoint) ABSL_LOCKS_EXCLUDED(mutex_);
  void Forget(uint16_t slot) ABSL_LOCKS_EXCLUDED(mutex_);

  // `name` is the endpoint's, made once so that giving back takes no memory. Connecting moves the
  // deadline, waiting for a connection does not.
  absl::StatusOr<std::unique_ptr<Connection>> Take(const Endpoint& endpoint,
                                                   const std::string& name, SteadyTime* deadline)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Null: it was closed.
  void GiveBack(const std::string& name, std::unique_ptr<Connection> connection)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::vector<Reply>> ExchangeWith(const Endpoint& endpoint, std::string_view bytes,
                                                  size_t num_replies, SteadyTime* deadline);
  // Of the answers, keeps those that are final in `*replies` and gives what is still to be done;
  // `*is_moving` tells that the slot is about to move.
  absl::StatusOr<std::vector<Pending>> Sort(std::vector<Pending> sent, std::vector<Reply> answers,
                                            uint16_t slot, Endpoint* endpoint, bool* asking,
                                            bool* is_moving, std::vector<Reply>* replies);

  const ServerUrl url_;
  const ClientOptions options_;

  Mutex mutex_;
  CondVar connection_freed_;
  std::map<std::string, Server> servers_ ABSL_GUARDED_BY(mutex_);  // by Endpoint::ToString
  std::map<uint16_t, Endpoint> slots_ ABSL_GUARDED_BY(mutex_);     // those that MOVED told
};

// Slots are learnt one by one from redirections, not by CLUSTER SLOTS: a filter has one slot, and a
// server without cluster never redirects.
Endpoint Client::Impl::EndpointOf(uint16_t slot) {
  const MutexLock lock(&mutex_);
  const auto known = slots_.find(slot);
  return known == slots_.end() ? url_.endpoint : known->second;
}

void Client::Impl::Learn(uint16_t slot, const Endpoint& endpoint) {
  const MutexLock lock(&mutex_);
  slots_[slot] = endpoint;
}

// The next call asks the server of the URL again, which knows who has the slot by then.
void Client::Impl::Forget(uint16_t slot) {
  const MutexLock lock(&mutex_);
  slots_.erase(slot);
}

// An idle connection, the youngest first, or a new one; at most max_connections are open to a
// server. `num_open` is raised before connecting, outside the mutex, so that no two threads take
// the last place. A server that cannot be reached is not tried again for a while: its failure is
// what all callers get meanwhile, without waiting.
absl::StatusOr<std::unique_ptr<Connection>> Client::Impl::Take(const Endpoint& endpoint,
                                                               const std::string& name,
                                                               SteadyTime* deadline) {
  {
    const MutexLock lock(&mutex_);
    if (servers_.size() >= kMaxServers && servers_.count(name) == 0) {
      // Connections under way are closed when they come back to a server that is not known.
      servers_.clear();
      slots_.clear();
      connection_freed_.SignalAll();
    }
    // `servers_` may have been cleared while this thread waited: the reference is taken anew each
    // time.
    for (;;) {
      Server& server = servers_[name];
      while (!server.idle.empty()) {
        std::unique_ptr<Connection> connection = std::move(server.idle.back());
        server.idle.pop_back();
        // One that the server has closed is dropped here, a system call each, rather than found out
        // by a command whose fate would then be unknown.
        if (connection->IsIdle()) return connection;
        --server.num_open;
      }
      if (Clock::now() < server.not_before) return server.failure;
      if (server.num_open < options_.max_connections) {
        ++server.num_open;
        break;
      }
      const auto left =
          std::chrono::duration_cast<std::chrono::microseconds>(*deadline - Clock::now());
      if (left.count() <= 0) {
        return absl::DeadlineExceededError(absl::StrCat(
            "Redis at ", name, ": all ", options_.max_connections, " connections are in use"));
      }
      connection_freed_.WaitFor(&mutex_, left);
    }
  }
  const Clock::time_point before = Clock::now();
  absl::StatusOr<std::unique_ptr<Connection>> connection =
      CatchOutOfMemory([&] { return Connection::Open(endpoint, url_, options_); });
  // Connecting has a time-out of its own.
  *deadline += std::min<Clock::duration>(Clock::now() - before, options_.connect_timeout);
  if (!connection.ok()) {
    const MutexLock lock(&mutex_);
    Server& server = servers_[name];
    // At least 0: the server may have been forgotten and made anew since it was raised.
    server.num_open = std::max(0, server.num_open - 1);
    server.not_before = Clock::now() + options_.reconnect_delay;
    server.failure = connection.status();
    // All of them get this failure: who was woken alone would leave the others waiting.
    connection_freed_.SignalAll();
  }
  return connection;
}

void Client::Impl::GiveBack(const std::string& name, std::unique_ptr<Connection> connection) {
  const MutexLock lock(&mutex_);
  const auto server = servers_.find(name);
  if (server == servers_.end()) return;
  std::vector<std::unique_ptr<Connection>>& idle = server->second.idle;
  const bool is_kept = connection != nullptr && server->second.num_open > 0 &&
                       UnlessOutOfMemory([&] { idle.push_back(std::move(connection)); });
  if (!is_kept) server->second.num_open = std::max(0, server->second.num_open - 1);
  // One is enough if it waits for this server; of several servers it may be another's.
  servers_.size() == 1 ? connection_freed_.Signal() : connection_freed_.SignalAll();
}

absl::StatusOr<std::vector<Reply>> Client::Impl::ExchangeWith(const Endpoint& endpoint,
                                                              std::string_view bytes,
                                                              size_t num_replies,
                                                              SteadyTime* deadline) {
  const std::string name = endpoint.ToString();
  absl::StatusOr<std::unique_ptr<Connection>> connection = Take(endpoint, name, deadline);
  if (!connection.ok()) return connection.status();
  // A connection that is cut short by a lack of memory is given back as well: closed.
  absl::StatusOr<std::vector<Reply>> replies =
      CatchOutOfMemory([&] { return (*connection)->Exchange(bytes, num_replies, *deadline); });
  // Answers may still come: the connection must not serve the next call.
  if (!replies.ok()) connection->reset();
  GiveBack(name, *std::move(connection));
  return replies;
}

// Commands with errors of other kinds are done: their replies say so, and the caller decides. Those
// that are sent again keep their order among themselves.
absl::StatusOr<std::vector<Client::Impl::Pending>> Client::Impl::Sort(
    std::vector<Pending> sent, std::vector<Reply> answers, uint16_t slot, Endpoint* endpoint,
    bool* asking, bool* is_moving, std::vector<Reply>* replies) {
  std::vector<Pending> left;
  const Endpoint asked = *endpoint;
  // An answer to ASKING before each. Whoever is not redirected is asked again in the same way.
  const size_t stride = *asking ? 2 : 1;
  // All commands have keys of one slot, so that they are redirected together; but a slot may move
  // in the midst of them. What was answered is kept, the rest is sent to where the last one points.
  for (size_t i = 0; i < sent.size(); ++i) {
    Reply& answer = answers[i * stride + stride - 1];
    const Next next = NextStep(answer);
    *is_moving = *is_moving || next == Next::kAgain;
    if (next == Next::kMoved || next == Next::kAsk) {
      const std::vector<std::string> words = absl::StrSplit(answer.text, ' ');
      absl::StatusOr<Endpoint> other =
          words.size() == 3 ? ParseHostPort(words[2], asked)
                            : absl::DataLossError("Redis: a redirection without an address");
      if (!other.ok()) return absl::DataLossError(absl::StrCat("Redis: ", answer.text));
      *endpoint = *std::move(other);
      *asking = next == Next::kAsk;
      // ASK is for this once: the slot is still the asked server's until it has moved.
      if (next == Next::kMoved) Learn(slot, *endpoint);
    }
    if (next == Next::kDone || (next == Next::kWholeScript && sent[i].whole_script)) {
      (*replies)[sent[i].index] = std::move(answer);
    } else {
      left.push_back({sent[i].index, sent[i].whole_script || next == Next::kWholeScript});
    }
  }
  return left;
}

absl::StatusOr<std::vector<Reply>> Client::Impl::Execute(std::string_view key,
                                                         const Request& request) {
  std::vector<Reply> replies(request.num_commands());
  std::vector<Pending> pending;
  for (size_t i = 0; i < request.num_commands(); ++i) pending.push_back({i});
  const uint16_t slot = SlotOf(key);
  Endpoint endpoint = EndpointOf(slot);
  bool asking = false;
  bool is_moving = false;
  // One for all rounds: redirections do not prolong the call, but for connecting.
  SteadyTime deadline = Clock::now() + options_.command_timeout;
  // One round more than redirections, and one for scripts that a server did not know.
  for (int round = 0; round <= options_.max_redirects + 1 && !pending.empty(); ++round) {
    if (is_moving) {
      std::this_thread::sleep_for(
          std::min<Clock::duration>(kTryAgainPause, deadline - Clock::now()));
    }
    is_moving = false;
    std::string bytes;
    for (const Pending& command : pending) {
      if (asking) bytes.append(kAsking);
      request.AppendCommand(command.index, command.whole_script, &bytes);
    }
    absl::StatusOr<std::vector<Reply>> answers =
        ExchangeWith(endpoint, bytes, pending.size() * (asking ? 2 : 1), &deadline);
    if (!answers.ok()) {
      // The server may be gone: the next call begins at the one that the URL names.
      Forget(slot);
      return answers.status();
    }
    absl::StatusOr<std::vector<Pending>> left = Sort(std::move(pending), *std::move(answers), slot,
                                                     &endpoint, &asking, &is_moving, &replies);
    if (!left.ok()) return left.status();
    pending = *std::move(left);
  }
  if (pending.empty()) return replies;
  Forget(slot);
  if (is_moving) {
    return absl::UnavailableError(
        absl::StrCat("Redis at ", endpoint.ToString(), ": TRYAGAIN, as the slot is being moved"));
  }
  return absl::UnavailableError(absl::StrCat("Redis: redirected more than ", options_.max_redirects,
                                             " times, at last to ", endpoint.ToString()));
}

absl::StatusOr<std::unique_ptr<Client>> Client::Open(std::string_view url,
                                                     const ClientOptions& options) {
  if (options.connect_timeout.count() <= 0 || options.command_timeout.count() <= 0 ||
      options.reconnect_delay.count() < 0 || options.max_connections < 1 ||
      options.max_redirects < 0 || options.max_reply_bytes == 0) {
    return absl::InvalidArgumentError(
        "Redis client: time-outs, connections and reply bytes must be above 0, delay and "
        "redirections at least 0");
  }
  if (std::max({options.connect_timeout, options.command_timeout, options.reconnect_delay}) >
      kLongestTime) {
    return absl::InvalidArgumentError("Redis client: times may be 7 days at most");
  }
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<Client>> {
    absl::StatusOr<ServerUrl> parsed = ParseServerUrl(url);
    if (!parsed.ok()) return parsed.status();
    return std::unique_ptr<Client>(new Client(std::make_unique<Impl>(*std::move(parsed), options)));
  });
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

const ClientOptions& Client::options() const { return impl_->options(); }

absl::StatusOr<std::vector<Reply>> Client::Execute(std::string_view key, const Request& request) {
  return CatchOutOfMemory([&] { return impl_->Execute(key, request); });
}

absl::StatusOr<Reply> Client::ExecuteOne(std::string_view key, const Request& request) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Reply> {
    absl::StatusOr<std::vector<Reply>> replies = impl_->Execute(key, request);
    if (!replies.ok()) return replies.status();
    if (replies->size() != 1) return absl::InvalidArgumentError("Redis: a request of one command");
    const absl::Status status = replies->front().ToStatus();
    if (!status.ok()) return status;
    return std::move(replies->front());
  });
}

}  // namespace winnow::filter::redis
