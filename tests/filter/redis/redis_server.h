// A redis-server of a test's own, on a free port of the loopback interface, which ends with it.

#ifndef WINNOW_TESTS_FILTER_REDIS_REDIS_SERVER_H_
#define WINNOW_TESTS_FILTER_REDIS_REDIS_SERVER_H_

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/scratch_directory.h"
#include "winnow/filter/redis/client.h"

namespace winnow::filter::redis {

// A socket that listens on a free loopback port, which it tells.
inline int ListenOnLoopback(int* port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(::listen(listener, 64), 0);
  EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  *port = ntohs(address.sin_port);
  return listener;
}

// What redis-cli prints for these arguments, without the last newline.
inline std::string RunRedisCli(int port, const std::string& arguments) {
  const std::string command = "redis-cli -p " + std::to_string(port) + " " + arguments + " 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) text.append(buffer, n);
  ::pclose(pipe);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

class RedisServer {
 public:
  static bool IsInstalled() { return ::access("/usr/bin/redis-server", X_OK) == 0; }

  explicit RedisServer(const std::vector<std::string>& more = {}) : directory_("redis") {
    for (int attempt = 0; attempt < 5 && !Start(more); ++attempt) Stop();
    EXPECT_NE(process_, -1) << "redis-server does not start";
  }
  // For tests that hold on a cluster as well: within tools/redis-cluster its nodes, otherwise a
  // server of the test's own. What was there is gone.
  static std::unique_ptr<RedisServer> StartOrJoinCluster() {
    const char* ports = std::getenv("WINNOW_REDIS_CLUSTER");
    if (ports == nullptr) return std::make_unique<RedisServer>();
    std::unique_ptr<RedisServer> server(new RedisServer(std::istringstream(ports)));
    server->Cli("FLUSHALL");
    return server;
  }
  ~RedisServer() { Stop(); }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  int port() const { return port_; }
  bool is_cluster() const { return !nodes_.empty(); }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

  void Stop() {
    if (process_ == -1) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  // Stopped it takes connections and answers nothing.
  void Freeze() const { ::kill(process_, SIGSTOP); }
  void Thaw() const { ::kill(process_, SIGCONT); }
  // Again on the same port, with nothing in it.
  bool Restart(const std::vector<std::string>& more = {}) {
    Stop();
    return Launch(more);
  }

  std::unique_ptr<Client> NewClient(const ClientOptions& options = PatientOptions()) const {
    auto client = Client::Open(url(), options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  // On a machine with much to do, even loopback takes a while.
  static ClientOptions PatientOptions() {
    ClientOptions options;
    options.connect_timeout = std::chrono::seconds(20);
    options.command_timeout = std::chrono::seconds(60);
    options.reconnect_delay = std::chrono::milliseconds(0);
    return options;
  }

  // RunRedisCli; on a cluster it follows keys, and what has none is asked of every node: what they
  // print, once where all print the same.
  std::string Cli(const std::string& arguments) const {
    if (nodes_.empty()) return RunRedisCli(port_, arguments);
    bool is_of_all = false;
    for (const char* command : {"FLUSHALL", "SCRIPT", "CONFIG", "INFO", "DBSIZE", "--raw KEYS"}) {
      is_of_all = is_of_all || arguments.rfind(command, 0) == 0;
    }
    if (!is_of_all) return RunRedisCli(port_, "-c " + arguments);
    std::string text = RunRedisCli(port_, arguments);
    for (const int node : nodes_) {
      const std::string more = RunRedisCli(node, arguments);
      if (more != text) text += "\n" + more;
    }
    return text;
  }

 private:
  explicit RedisServer(std::istringstream ports) : directory_("redis") {
    for (int port; ports >> port;) nodes_.push_back(port);
    EXPECT_EQ(nodes_.size(), 3u) << "WINNOW_REDIS_CLUSTER";
    if (!nodes_.empty()) port_ = nodes_[0];
  }

  bool Start(const std::vector<std::string>& more) {
    // Free a moment ago: another process may take it before the server does.
    ::close(ListenOnLoopback(&port_));
    return Launch(more);
  }

  bool Launch(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"redis-server",
                                      "--port",
                                      std::to_string(port_),
                                      "--bind",
                                      "127.0.0.1",
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "no",
                                      "--dir",
                                      directory_.path(),
                                      "--databases",
                                      "16"};
    words.insert(words.end(), more.begin(), more.end());
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      const int log = ::open((directory_.path() + "/log").c_str(), O_CREAT | O_WRONLY, 0600);
      ::dup2(log, 1);
      ::dup2(log, 2);
      std::vector<char*> pointers;
      for (std::string& word : words) pointers.push_back(word.data());
      pointers.push_back(nullptr);
      ::execvp(pointers[0], pointers.data());
      ::_exit(127);
    }
    return WaitUntilItAnswers();
  }

  bool WaitUntilItAnswers() const {
    const auto client = NewClient();
    for (int i = 0; i < 1000; ++i) {
      Request request;
      request.Command({"PING"});
      if (client->ExecuteOne("", request).ok()) return true;
      if (::waitpid(process_, nullptr, WNOHANG) == process_) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  ScratchDirectory directory_;
  int port_ = 0;
  pid_t process_ = -1;
  std::vector<int> nodes_;  // of a cluster that others started
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_TESTS_FILTER_REDIS_REDIS_SERVER_H_
