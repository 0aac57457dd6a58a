// A directory of a test's own, which goes with it.
#ifndef WINNOW_TESTS_SUPPORT_SCRATCH_DIRECTORY_H_
#define WINNOW_TESTS_SUPPORT_SCRATCH_DIRECTORY_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"

namespace winnow {

// In memory if there is such a file system: no sync is waited for. Objects that use it are declared
// after it.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::string& name) {
    const std::filesystem::path memory = "/dev/shm";
    const std::filesystem::path parent =
        std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
    path_ = (parent / absl::StrCat("winnow-", name, "-XXXXXX")).string();
    EXPECT_NE(mkdtemp(path_.data()), nullptr) << path_;
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_SCRATCH_DIRECTORY_H_
