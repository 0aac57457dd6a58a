// The keys on which a transaction's success depends.
#ifndef WINNOW_ENGINE_TRANSACTION_TRACKED_KEYS_H_
#define WINNOW_ENGINE_TRANSACTION_TRACKED_KEYS_H_

#include <map>
#include <string>
#include <string_view>

#include "engine/column_family/column_family_state.h"

namespace winnow {

// Orders user keys as a column family does, so that keys that compare equal are one.
struct UserKeyLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    return comparator.CompareUserKeys(a, b) < 0;
  }
  InternalKeyComparator comparator;
};

struct TrackedKey {
  // A write of the key with a larger number, by anybody else, is a conflict.
  SequenceNumber unchanged_since = 0;
  bool is_locked = false;
};

// Of one column family, which lives as long as the database.
struct TrackedFamily {
  explicit TrackedFamily(const ColumnFamilyState* state)
      : family(state), keys(UserKeyLess{state->comparator()}) {}

  const ColumnFamilyState* family;
  std::map<std::string, TrackedKey, UserKeyLess> keys;
};

using TrackedKeys = std::map<uint32_t, TrackedFamily>;

// For messages: `key "..."`, without bytes that cannot be printed, cut where it is long, and the
// name of the column family.
std::string DescribeKey(std::string_view family_name, std::string_view key);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TRANSACTION_TRACKED_KEYS_H_
