// Ranges of user keys that tables cover, and how they lie to each other.
#ifndef WINNOW_ENGINE_VERSION_USER_KEY_RANGE_H_
#define WINNOW_ENGINE_VERSION_USER_KEY_RANGE_H_

#include <string_view>

#include "engine/base/internal_key.h"

namespace winnow {

// From `smallest` to `largest`. A table that ends with a range tombstone covers the keys up to its
// end and not the end itself, with which the next table of its level may begin.
struct UserKeyRange {
  std::string_view smallest;
  std::string_view largest;
  bool excludes_largest = false;
};

// The bytes are those of the internal keys that a manifest has of a table.
inline UserKeyRange RangeBetween(std::string_view smallest, std::string_view largest) {
  return {UserKey(smallest), UserKey(largest), IsExclusiveEnd(largest)};
}

// No key of the range is the key or greater.
inline bool EndsBefore(const UserKeyRange& range, std::string_view user_key,
                       const InternalKeyComparator& comparator) {
  const int order = comparator.CompareUserKeys(range.largest, user_key);
  return order < 0 || (order == 0 && range.excludes_largest);
}

inline bool Overlap(const UserKeyRange& a, const UserKeyRange& b,
                    const InternalKeyComparator& comparator) {
  return !EndsBefore(a, b.smallest, comparator) && !EndsBefore(b, a.smallest, comparator);
}

// Does `a` end behind `b`?
inline bool EndsBehind(const UserKeyRange& a, const UserKeyRange& b,
                       const InternalKeyComparator& comparator) {
  const int order = comparator.CompareUserKeys(a.largest, b.largest);
  return order > 0 || (order == 0 && b.excludes_largest && !a.excludes_largest);
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_USER_KEY_RANGE_H_
