// Which rings of io_uring(7) the process has.
#ifndef WINNOW_TESTS_SUPPORT_OPEN_RINGS_H_
#define WINNOW_TESTS_SUPPORT_OPEN_RINGS_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>

namespace winnow {

inline size_t OpenRings() {
  size_t open = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    open += target.find("io_uring") != std::string::npos ? 1 : 0;
  }
  return open;
}

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_OPEN_RINGS_H_
