// What becomes of values on their way through a compaction, before anything else is decided:
// what has expired, and what the user's compaction filter says.
#ifndef WINNOW_ENGINE_COMPACTION_COMPACTED_VALUES_H_
#define WINNOW_ENGINE_COMPACTION_COMPACTED_VALUES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/internal_iterator.h"
#include "engine/base/range_tombstones.h"
#include "engine/base/write_time.h"
#include "winnow/compaction_filter.h"

namespace winnow {

struct CompactedValueRules {
  ExpiryMoment moment;                       // one for the whole compaction
  const CompactionFilter* filter = nullptr;  // null: none
  std::string column_family;
  int output_level = 0;

  bool any() const { return moment.ttl_micros != 0 || filter != nullptr; }
};

struct CompactedValueCounts {
  uint64_t expired = 0;  // values that became deletions since their time was up
  uint64_t removed = 0;  // those since the filter said so
  uint64_t changed = 0;  // by the filter

  CompactedValueCounts& operator+=(const CompactedValueCounts& other) {
    expired += other.expired;
    removed += other.removed;
    changed += other.changed;
    return *this;
  }
};

// Shows the entries of `input`, which a compaction walks forwards, under `rules`:
//
// 1. A value that has expired is a deletion of the same sequence number, whatever snapshots there
//    are. What may be dropped behind it, and when it may go itself, is then decided as of every
//    deletion, so that no older version can come back, not even where the clock was set back and
//    an older one has not expired.
// 2. The filter is shown a value if it is the newest version of its key in the input and newer than
//    `newest_snapshot`, if there is one: older versions are dropped or needed by a snapshot. Nor is
//    it shown what a tombstone of the compaction hides, and so drops. What it removes becomes a
//    deletion likewise.
//
// `is_last_level`, `end_user_key` and `tombstones` as in CompactionIterator; `counts` and what is
// pointed to outlive the iterator, and entries from `end_user_key` on are as in `input`.
struct CompactedValuesContext {
  InternalKeyComparator comparator{BytewiseComparator()};
  std::optional<SequenceNumber> newest_snapshot;
  std::function<bool(std::string_view user_key)> is_last_level;
  const std::string* end_user_key = nullptr;
  const RangeTombstoneIndex* tombstones = nullptr;
  CompactedValueCounts* counts = nullptr;
};
std::unique_ptr<InternalIterator> NewCompactedValues(std::unique_ptr<InternalIterator> input,
                                                     const CompactedValueRules& rules,
                                                     CompactedValuesContext context);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_COMPACTED_VALUES_H_
