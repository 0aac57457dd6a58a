// Runs shell commands that call the winnow program, each in a scratch directory of its own.
#ifndef WINNOW_TESTS_TOOLS_WINNOW_CLI_SHELL_H_
#define WINNOW_TESTS_TOOLS_WINNOW_CLI_SHELL_H_

#include <string>

#include "tests/support/shell_command.h"

namespace winnow {

// A directory that is removed, with all in it, at the end of the scope.
class ScratchShell {
 public:
  ScratchShell();
  ~ScratchShell();

  ScratchShell(const ScratchShell&) = delete;
  ScratchShell& operator=(const ScratchShell&) = delete;

  // Runs `command` with /bin/sh in the directory, `winnow` on its path, nothing on standard input.
  // Standard error is joined to the output.
  ShellResult Run(const std::string& command) const;
  // The same without standard error.
  ShellResult RunForOutput(const std::string& command) const;

  const std::string& directory() const { return directory_; }

 private:
  ShellResult RunScript(const std::string& script) const;

  std::string directory_;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_TOOLS_WINNOW_CLI_SHELL_H_
