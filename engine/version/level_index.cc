#include "engine/version/level_index.h"

#include <algorithm>

namespace winnow {

// Three parallel arrays, so that a search touches one of them: eight bytes a file, eight files a
// cache line. The shared prefix is left out because keys of one table often start alike ("user:"),
// and eight equal bytes would tell nothing.
LevelIndex::LevelIndex(const std::vector<std::shared_ptr<SstableFile>>& files,
                       const InternalKeyComparator& comparator)
    : comparator_(comparator), bytewise_(comparator.is_bytewise()) {
  files_.reserve(files.size());
  for (const auto& file : files) files_.push_back(file.get());
  if (files_.empty() || !bytewise_) return;
  // The level is sorted: what its first and last key share, all its keys share.
  const std::string_view first = files_.front()->smallest_user_key();
  const std::string_view last = files_.back()->largest_user_key();
  const size_t shared = CommonPrefix(first, last);
  shared_prefix_ = SharedPrefix(first.substr(0, shared));
  largest_.reserve(files.size());
  smallest_.reserve(files.size());
  for (const SstableFile* file : files_) {
    largest_.push_back(KeyPrefix64(file->largest_user_key().substr(shared)));
    smallest_.push_back(KeyPrefix64(file->smallest_user_key().substr(shared)));
  }
}

// By the eight bytes as far as they tell; of files where they are equal whole keys do.
template <typename IsBefore>
size_t LevelIndex::CountBefore(const std::vector<uint64_t>& heads, std::string_view user_key,
                               const IsBefore& is_before) const {
  auto begin = files_.begin();
  auto end = files_.end();
  if (bytewise_ && !files_.empty()) {
    const int order = shared_prefix_.Compare(user_key);
    if (order != 0) return order < 0 ? 0 : files_.size();
    const uint64_t head = shared_prefix_.HeadOf(user_key);
    const auto tie_begin = std::lower_bound(heads.begin(), heads.end(), head);
    auto tie_end = tie_begin;
    if (tie_end != heads.end() && *tie_end == head) {
      tie_end = std::upper_bound(tie_begin, heads.end(), head);
    }
    end = begin + (tie_end - heads.begin());
    begin += tie_begin - heads.begin();
  }
  return static_cast<size_t>(std::partition_point(begin, end, is_before) - files_.begin());
}

size_t LevelIndex::LowerBound(std::string_view user_key) const {
  return CountBefore(largest_, user_key, [&](const SstableFile* file) {
    return file->EndsBefore(user_key, comparator_);
  });
}

size_t LevelIndex::NumBefore(std::string_view user_key) const {
  return CountBefore(smallest_, user_key, [&](const SstableFile* file) {
    return comparator_.CompareUserKeys(file->smallest_user_key(), user_key) < 0;
  });
}

bool LevelIndex::BeginsBehind(size_t file, std::string_view prefix) const {
  return files_[file]->smallest_user_key().substr(0, prefix.size()) > prefix;
}

// Mostly eight bytes tell, of the first file and of the one behind the last: where those of the
// prefix are as many, all keys that begin with it have them.
LevelIndex::FileRange LevelIndex::FilesWithPrefix(std::string_view prefix) const {
  FileRange range;
  const size_t head_end = shared_prefix_.bytes().size() + sizeof(uint64_t);
  if (files_.empty() || prefix.size() < head_end || shared_prefix_.Compare(prefix) != 0) {
    range.begin = range.end = LowerBound(prefix);
    while (range.end < files_.size() && !BeginsBehind(range.end, prefix)) range.end++;
    return range;
  }
  const uint64_t head = shared_prefix_.HeadOf(prefix);
  range.begin = NumLess(largest_, head);
  if (range.begin < files_.size() && largest_[range.begin] == head) [[unlikely]] {
    range.begin = LowerBound(prefix);  // whole keys tell
  }
  range.end = range.begin;
  for (; range.end < files_.size(); range.end++) {
    if (smallest_[range.end] > head) break;
    if (smallest_[range.end] == head && BeginsBehind(range.end, prefix)) break;
  }
  return range;
}

const SstableFile* LevelIndex::FindByComparing(std::string_view user_key) const {
  const size_t found = LowerBound(user_key);
  if (found == files_.size()) return nullptr;
  const SstableFile* file = files_[found];
  return comparator_.CompareUserKeys(file->smallest_user_key(), user_key) <= 0 ? file : nullptr;
}

// Files [first, end) have the key's eight bytes as those of their largest key: whole keys decide
// among them. If none of them reaches the key, the file after them is the candidate, and it
// includes the key only if it begins at or before it.
//
//        file 3          file 4        file 5
//   ...abcdefgh1]   [abcdefgh3 ... abcdefgh7]   [abcdefgi...
//                  ^ abcdefgh2: ties with 3 and 4, lies between them
const SstableFile* LevelIndex::ResolveTie(size_t first, uint64_t prefix,
                                          std::string_view user_key) const {
  const auto tie_begin = largest_.begin() + static_cast<ptrdiff_t>(first);
  const auto tie_end = std::upper_bound(tie_begin, largest_.end(), prefix);
  const auto end = first + static_cast<size_t>(tie_end - tie_begin);
  // The prefixes are equal from here to `end`, and only whole keys can tell.
  first = static_cast<size_t>(std::partition_point(files_.begin() + static_cast<ptrdiff_t>(first),
                                                   files_.begin() + static_cast<ptrdiff_t>(end),
                                                   [&](const SstableFile* file) {
                                                     return file->EndsBefore(user_key, comparator_);
                                                   }) -
                              files_.begin());
  if (first == files_.size() || smallest_[first] > prefix) return nullptr;
  const SstableFile* file = files_[first];
  return CompareBytes(file->smallest_user_key(), user_key) <= 0 ? file : nullptr;
}

}  // namespace winnow
