// An internal iterator over entries in memory that can be told to fail.
#ifndef WINNOW_TESTS_SUPPORT_SORTED_ENTRIES_H_
#define WINNOW_TESTS_SUPPORT_SORTED_ENTRIES_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/internal_iterator.h"
#include "engine/base/internal_key.h"

namespace winnow {

// Internal key and value.
using Entry = std::pair<std::string, std::string>;

inline void SortEntries(std::vector<Entry>* entries, const InternalKeyComparator& comparator) {
  std::sort(entries->begin(), entries->end(), [&](const Entry& a, const Entry& b) {
    return comparator.Compare(a.first, b.first) < 0;
  });
}

class SortedEntries final : public InternalIterator {
 public:
  SortedEntries(std::vector<Entry> entries, const InternalKeyComparator& comparator)
      : entries_(std::move(entries)), comparator_(comparator), at_(entries_.size()) {}

  // From now on arriving at this entry is an error.
  void FailAt(size_t index) { fail_at_ = index; }

  bool Valid() const override { return at_ < entries_.size() && status_.ok(); }
  void SeekToFirst() override { MoveTo(0); }
  void SeekToLast() override { MoveTo(entries_.size() - 1); }
  void Seek(std::string_view target) override { MoveTo(LowerBound(target)); }
  void SeekForPrev(std::string_view target) override {
    const size_t found = LowerBound(target);
    const bool equal = found < entries_.size() && entries_[found].first == target;
    MoveTo(equal ? found : found - 1);
  }
  void Next() override { MoveTo(at_ + 1); }
  void Prev() override { MoveTo(at_ - 1); }
  std::string_view key() const override { return entries_[at_].first; }
  std::string_view value() const override { return entries_[at_].second; }
  absl::Status status() const override { return status_; }

 private:
  size_t LowerBound(std::string_view target) const {
    return static_cast<size_t>(
        std::partition_point(
            entries_.begin(), entries_.end(),
            [&](const Entry& entry) { return comparator_.Compare(entry.first, target) < 0; }) -
        entries_.begin());
  }
  void MoveTo(size_t index) {
    at_ = index;  // the index before the first wraps round: not valid either
    status_ = at_ == fail_at_ && at_ < entries_.size() ? absl::UnavailableError("injected error")
                                                       : absl::OkStatus();
  }

  const std::vector<Entry> entries_;
  const InternalKeyComparator comparator_;
  size_t at_;
  size_t fail_at_ = SIZE_MAX;
  absl::Status status_;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_SORTED_ENTRIES_H_
