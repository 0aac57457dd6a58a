#include "tests/tools/winnow_cli_shell.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace winnow {

ScratchShell::ScratchShell() {
  std::string pattern = (std::filesystem::temp_directory_path() / "winnow_cli_XXXXXX").string();
  const char* made = mkdtemp(pattern.data());
  if (made == nullptr) {
    ADD_FAILURE() << "cannot make a scratch directory";
    return;
  }
  directory_ = made;
}

ScratchShell::~ScratchShell() {
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

ShellResult ScratchShell::Run(const std::string& command) const {
  return RunScript("exec 2>&1\n" + command);
}

ShellResult ScratchShell::RunForOutput(const std::string& command) const {
  return RunScript("exec 2>/dev/null\n" + command);
}

ShellResult ScratchShell::RunScript(const std::string& script) const {
  const std::string program_directory =
      std::filesystem::path(WINNOW_PROGRAM).parent_path().string();
  const std::string whole = "exec </dev/null\ncd '" + directory_ + "' || exit 125\nPATH='" +
                            program_directory + "':\"$PATH\"\n" + script + "\n";
  return RunShellCommand(whole);
}

}  // namespace winnow
