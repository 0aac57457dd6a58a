// The last step of a search in an index: among entries whose heads are alike.
#ifndef WINNOW_ENGINE_SSTABLE_EQUAL_HEADS_H_
#define WINNOW_ENGINE_SSTABLE_EQUAL_HEADS_H_

#include <cstdint>
#include <string_view>

namespace winnow {

// The first entry of [first, last) that is not smaller, or `last`.
template <typename IsSmaller>
uint32_t LowerBound(uint32_t first, uint32_t last, const IsSmaller& is_smaller) {
  while (first < last) {
    const uint32_t middle = first + (last - first) / 2;
    if (is_smaller(middle)) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

// The first entry at or after (suffix, trailer), where `first` is the first one whose head is that
// of `suffix`. `Entries` has size(), HeadAt(entry), TrailerAt(entry) and CompareSuffix(entry,
// suffix), which is asked of entries with that head alone.
template <typename Entries>
uint32_t FindAmongEqualHeads(const Entries& entries, uint32_t first, std::string_view suffix,
                             uint64_t trailer) {
  const uint64_t head = entries.HeadAt(first);
  // Heads are sorted, so that "equal" holds for a run from `first` on.
  const uint32_t last = LowerBound(first, entries.size(),
                                   [&](uint32_t entry) { return entries.HeadAt(entry) == head; });
  return LowerBound(first, last, [&](uint32_t entry) {
    const int order = entries.CompareSuffix(entry, suffix);
    return order != 0 ? order < 0 : entries.TrailerAt(entry) > trailer;
  });
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_EQUAL_HEADS_H_
