// Runs a program as people do, and takes what it prints.
#ifndef WINNOW_TESTS_SUPPORT_SHELL_COMMAND_H_
#define WINNOW_TESTS_SUPPORT_SHELL_COMMAND_H_

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace winnow {

struct ShellResult {
  std::string output;  // what standard output, and where it was joined, standard error held
  int exit_code = -1;  // -1: killed by a signal
};

// With /bin/sh.
inline ShellResult RunShellCommand(const std::string& command) {
  ShellResult result;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    ADD_FAILURE() << "cannot run a shell";
    return result;
  }
  std::array<char, 4096> buffer;
  while (const size_t count = fread(buffer.data(), 1, buffer.size(), pipe)) {
    result.output.append(buffer.data(), count);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_SHELL_COMMAND_H_
