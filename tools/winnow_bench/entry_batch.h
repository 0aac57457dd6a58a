// The entries of one batch, for engines that have no such object of their own.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_ENTRY_BATCH_H_
#define WINNOW_TOOLS_WINNOW_BENCH_ENTRY_BATCH_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace winnow::bench {

class EntryBatch {
 public:
  void Add(std::string_view key, std::string_view value) {
    bytes_.append(key).append(value);
    sizes_.push_back({key.size(), value.size()});
  }

  void Clear() {
    bytes_.clear();
    sizes_.clear();
  }

  // Calls write(key, value) for each entry, in the order in which they were added, until it returns
  // an error code other than 0, and returns that.
  template <typename Write>
  int ForEach(const Write& write) const {
    std::string_view rest(bytes_);
    for (const Sizes& sizes : sizes_) {
      const std::string_view key = rest.substr(0, sizes.key);
      const std::string_view value = rest.substr(sizes.key, sizes.value);
      rest.remove_prefix(sizes.key + sizes.value);
      if (const int error = write(key, value); error != 0) return error;
    }
    return 0;
  }

 private:
  struct Sizes {
    size_t key;
    size_t value;
  };
  std::string bytes_;  // key and value of each entry, one behind the other
  std::vector<Sizes> sizes_;
};

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_ENTRY_BATCH_H_
