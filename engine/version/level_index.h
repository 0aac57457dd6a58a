// Finds the one file of a sorted level that can hold a key, touching as little memory as possible.
#ifndef WINNOW_ENGINE_VERSION_LEVEL_INDEX_H_
#define WINNOW_ENGINE_VERSION_LEVEL_INDEX_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/base/shared_prefix.h"
#include "engine/version/sstable_file.h"

namespace winnow {

// Immutable. The files of a level below level 0 do not overlap and are sorted. Under the bytewise
// order a search compares eight bytes of each file's largest key, those after the prefix that all
// keys of the level share, and looks at whole keys only where these are equal.
class LevelIndex {
 public:
  LevelIndex() = default;
  // `files` must outlive the index.
  LevelIndex(const std::vector<std::shared_ptr<SstableFile>>& files,
             const InternalKeyComparator& comparator);

  // The file whose key range includes the key; null if none.
  const SstableFile* Find(std::string_view user_key) const {
    if (files_.empty()) return nullptr;
    if (!bytewise_) return FindByComparing(user_key);
    if (shared_prefix_.Compare(user_key) != 0) return nullptr;
    const uint64_t prefix = shared_prefix_.HeadOf(user_key);
    const size_t first = NumLess(largest_, prefix);
    if (first == files_.size()) return nullptr;  // after the last file
    if (largest_[first] == prefix || smallest_[first] >= prefix) {
      return ResolveTie(first, prefix, user_key);
    }
    return files_[first];
  }

  // Index of the first file that does not end before the user key; the number of files if none.
  size_t LowerBound(std::string_view user_key) const;
  // The number of files, from the first on, whose smallest key is < the user key.
  size_t NumBefore(std::string_view user_key) const;
  // The files that may hold keys that begin with `prefix`: from `begin` to before `end`. Under the
  // bytewise order alone.
  struct FileRange {
    size_t begin = 0;
    size_t end = 0;
  };
  FileRange FilesWithPrefix(std::string_view prefix) const;

 private:
  // How many of the ascending numbers, of which there are some, are less. Branch-free.
  static size_t NumLess(const std::vector<uint64_t>& numbers, uint64_t number) {
    size_t first = 0;
    for (size_t length = numbers.size(); length > 1;) {
      const size_t half = length / 2;
      first += numbers[first + half - 1] < number ? half : 0;
      length -= half;
    }
    return first + (numbers[first] < number ? 1 : 0);
  }
  // All keys of the file are greater than those that begin with `prefix`.
  bool BeginsBehind(size_t file, std::string_view prefix) const;
  // The files of which `is_before` is true: all that come before one of which it is not. `heads`
  // are the eight bytes of that key of each file which it compares with `user_key`.
  template <typename IsBefore>
  size_t CountBefore(const std::vector<uint64_t>& heads, std::string_view user_key,
                     const IsBefore& is_before) const;
  const SstableFile* FindByComparing(std::string_view user_key) const;
  const SstableFile* ResolveTie(size_t first, uint64_t prefix, std::string_view user_key) const;

  InternalKeyComparator comparator_{BytewiseComparator()};
  bool bytewise_ = true;
  SharedPrefix shared_prefix_;     // of a file's smallest key
  std::vector<uint64_t> largest_;  // eight bytes after the shared prefix
  std::vector<uint64_t> smallest_;
  std::vector<const SstableFile*> files_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_LEVEL_INDEX_H_
