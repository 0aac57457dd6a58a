// The last results of a pure function that takes microseconds. Internal.
//
// The same few specs are sized for each table and each partition of a filter, which may be small:
// sizing would cost more than building.

#ifndef WINNOW_FILTER_BASE_SMALL_MEMO_H_
#define WINNOW_FILTER_BASE_SMALL_MEMO_H_

#include <array>
#include <cstddef>

namespace winnow::filter::internal {

// For one thread: declare it thread_local. Key compares by ==; one that is not equal to itself is
// never found.
template <typename Key, typename Value>
class SmallMemo {
 public:
  template <typename Function>
  Value Of(const Key& key, const Function& compute) {
    for (size_t i = 0; i < num_entries_; ++i) {
      if (entries_[i].key == key) return entries_[i].value;
    }
    const Value value = compute();
    entries_[next_] = {key, value};
    next_ = (next_ + 1) % entries_.size();
    if (num_entries_ < entries_.size()) ++num_entries_;
    return value;
  }

 private:
  struct Entry {
    Key key;
    Value value;
  };
  std::array<Entry, 4> entries_{};
  size_t num_entries_ = 0;
  size_t next_ = 0;
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_BASE_SMALL_MEMO_H_
