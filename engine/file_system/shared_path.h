// The path of one of many files in a directory.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_SHARED_PATH_H_
#define WINNOW_ENGINE_FILE_SYSTEM_SHARED_PATH_H_

#include <memory>
#include <string>
#include <utility>

namespace winnow {

// The directory's name is there once for all of its files, and a file's name is short: such a path
// takes no memory of its own, of which a database with many tables would have many times as much
// as of what the paths say. The text is put together when it is wanted.
class SharedPath {
 public:
  // Any path, which shares nothing.
  SharedPath(std::string path) : name_(std::move(path)) {}  // NOLINT: as good as the text
  SharedPath(const char* path) : name_(path) {}             // NOLINT
  SharedPath(std::shared_ptr<const std::string> directory, std::string name)
      : directory_(std::move(directory)), name_(std::move(name)) {}

  std::string ToString() const { return directory_ == nullptr ? name_ : *directory_ + "/" + name_; }

 private:
  std::shared_ptr<const std::string> directory_;  // null: name_ is the whole path
  std::string name_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_SHARED_PATH_H_
