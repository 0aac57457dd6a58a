#include "tools/winnow_bench/child.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nlohmann/json.hpp"

#include "absl/strings/str_cat.h"
#include "tools/process/standard_streams.h"

namespace winnow::bench {
namespace {

volatile std::sig_atomic_t interrupted = 0;
volatile std::sig_atomic_t child_pid = 0;

void Interrupt(int) {
  interrupted = 1;
  if (child_pid > 0) kill(child_pid, SIGTERM);
}

void SetSignalHandler(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void WriteLine(int pipe, const nlohmann::json& message) {
  const std::string line =
      message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = write(pipe, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // the parent has gone; this process is told to end
    written += static_cast<size_t>(count);
  }
}

[[noreturn]] void BeChild(int pipe, pid_t parent,
                          const std::function<absl::Status(const ResultSink&)>& work) {
  SetSignalHandler(SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // it went before prctl
  absl::Status status = work([pipe](const BenchmarkResult& result) {
    WriteLine(pipe, {{"result", ToJson(result)}});
  });
  status.Update(process::FlushStandardOutput());
  if (!status.ok()) {
    WriteLine(pipe, {{"error", std::string(status.message())},
                     {"code", static_cast<int>(status.code())}});
  }
  _exit(status.ok() ? 0 : 1);
}

// Everything the child writes until it closes its end, line by line.
absl::Status ReadResults(int pipe, const ResultSink& sink) {
  absl::Status status;
  std::string pending;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(pipe, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return status;
    pending.append(buffer, static_cast<size_t>(count));
    for (size_t end; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1)) {
      const nlohmann::json message =
          nlohmann::json::parse(pending.substr(0, end), nullptr, /*allow_exceptions=*/false);
      if (message.contains("result")) sink(ResultFromJson(message["result"]));
      if (message.contains("error")) {
        status = absl::Status(static_cast<absl::StatusCode>(message["code"].get<int>()),
                              message["error"].get<std::string>());
      }
    }
  }
}

absl::Status StatusOfExit(int exit_status, const absl::Status& reported) {
  if (interrupted != 0) return absl::CancelledError("interrupted");
  if (WIFSIGNALED(exit_status)) {
    // The reader of standard output, which is this process's too, has gone: end as it did.
    if (WTERMSIG(exit_status) == SIGPIPE) std::raise(SIGPIPE);
    return absl::InternalError(
        absl::StrCat("the process crashed: ", strsignal(WTERMSIG(exit_status))));
  }
  if (!reported.ok() || WEXITSTATUS(exit_status) == 0) return reported;
  return absl::InternalError(
      absl::StrCat("the process ended with exit code ", WEXITSTATUS(exit_status)));
}

}  // namespace

void KeepResultsOnInterrupt() { SetSignalHandler(Interrupt); }

absl::Status RunInChild(const std::function<absl::Status(const ResultSink&)>& work,
                        const ResultSink& sink) {
  if (interrupted != 0) return absl::CancelledError("interrupted");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::UnavailableError(absl::StrCat("pipe: ", std::strerror(errno)));
  }
  std::fflush(stdout);  // or the child prints it again
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    return absl::UnavailableError(absl::StrCat("fork: ", std::strerror(error)));
  }
  if (pid == 0) {
    close(ends[0]);
    BeChild(ends[1], parent, work);
  }
  child_pid = pid;
  close(ends[1]);
  const absl::Status reported = ReadResults(ends[0], sink);
  close(ends[0]);
  int exit_status = 0;
  while (waitpid(pid, &exit_status, 0) < 0 && errno == EINTR) {
  }
  child_pid = 0;
  return StatusOfExit(exit_status, reported);
}

}  // namespace winnow::bench
