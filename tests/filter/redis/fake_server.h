// A server that answers what a test wants it to: errors, halves of replies, garbage, nothing.

#ifndef WINNOW_TESTS_FILTER_REDIS_FAKE_SERVER_H_
#define WINNOW_TESTS_FILTER_REDIS_FAKE_SERVER_H_

#include <poll.h>

#include <atomic>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/filter/redis/redis_server.h"

namespace winnow::filter::redis {

class FakeServer {
 public:
  using Words = std::vector<std::string>;
  // The bytes to send for a command; nothing closes the connection. Called by one thread for each
  // connection.
  using Handler = std::function<std::optional<std::string>(const Words& command)>;

  explicit FakeServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = ListenOnLoopback(&port_);
    accepting_ = std::thread([this] { Accept(); });
  }
  ~FakeServer() {
    stopped_ = true;
    accepting_.join();
    for (std::thread& thread : serving_) thread.join();
    ::close(listener_);
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return "redis://" + address(); }
  int num_connections() const { return num_connections_; }
  int num_commands() const { return num_commands_; }

 private:
  bool IsReady(int socket) const {
    pollfd waited = {socket, POLLIN, 0};
    while (!stopped_) {
      if (::poll(&waited, 1, 10) > 0) return true;
    }
    return false;
  }

  void Accept() {
    while (IsReady(listener_)) {
      const int socket = ::accept(listener_, nullptr, nullptr);
      if (socket < 0) continue;
      ++num_connections_;
      serving_.emplace_back([this, socket] {
        Serve(socket);
        ::close(socket);
      });
    }
  }

  void Serve(int socket) {
    std::string input;
    char buffer[65536];
    while (IsReady(socket)) {
      const ssize_t received = ::recv(socket, buffer, sizeof(buffer), 0);
      if (received <= 0) return;
      input.append(buffer, static_cast<size_t>(received));
      Words command;
      while (TakeCommand(&input, &command)) {
        ++num_commands_;
        const std::optional<std::string> answer = handler_(command);
        if (!answer.has_value()) return;
        if (::send(socket, answer->data(), answer->size(), MSG_NOSIGNAL) < 0) return;
      }
    }
  }

  // An array of bulk strings off the front of the input, if a whole one is there.
  static bool TakeCommand(std::string* input, Words* command) {
    command->clear();
    size_t at = 0;
    const auto number = [&](char mark) {
      const size_t end = input->find("\r\n", at);
      if (end == std::string::npos || (*input)[at] != mark) return -1;
      const int value = std::stoi(input->substr(at + 1, end - at - 1));
      at = end + 2;
      return value;
    };
    const int count = number('*');
    for (int i = 0; i < count; ++i) {
      const int length = at < input->size() ? number('$') : -1;
      if (length < 0 || at + static_cast<size_t>(length) + 2 > input->size()) return false;
      command->push_back(input->substr(at, static_cast<size_t>(length)));
      at += static_cast<size_t>(length) + 2;
    }
    if (count < 0) return false;
    input->erase(0, at);
    return true;
  }

  const Handler handler_;
  int port_ = 0;
  int listener_ = -1;
  std::atomic<bool> stopped_{false};
  std::atomic<int> num_connections_{0};
  std::atomic<int> num_commands_{0};
  std::thread accepting_;
  std::list<std::thread> serving_;
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_TESTS_FILTER_REDIS_FAKE_SERVER_H_
