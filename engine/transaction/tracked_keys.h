// The keys on which a transaction's success depends, and the ranges of them.
#ifndef WINNOW_ENGINE_TRANSACTION_TRACKED_KEYS_H_
#define WINNOW_ENGINE_TRANSACTION_TRACKED_KEYS_H_

#include <map>
#include <string>
#include <string_view>

#include "engine/column_family/column_family_state.h"
#include "engine/transaction/tracked_ranges.h"
#include "engine/transaction/user_key_less.h"

namespace winnow {

struct TrackedKey {
  // A write of the key with a larger number, by anybody else, is a conflict.
  SequenceNumber unchanged_since = 0;
  bool is_locked = false;
};

// Of one column family, which lives as long as the database.
struct TrackedFamily {
  explicit TrackedFamily(const ColumnFamilyState* state)
      : family(state), keys(UserKeyLess{state->comparator()}), ranges(state->comparator()) {}

  const ColumnFamilyState* family;
  std::map<std::string, TrackedKey, UserKeyLess> keys;
  TrackedRanges ranges;  // never locked
};

using TrackedKeys = std::map<uint32_t, TrackedFamily>;

// For messages: `key "..."`, without bytes that cannot be printed, cut where it is long, and the
// name of the column family.
std::string DescribeKey(std::string_view family_name, std::string_view key);
// Likewise, `the range from "..." to before "..."`.
std::string DescribeRange(std::string_view family_name, std::string_view begin,
                          std::string_view end);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TRANSACTION_TRACKED_KEYS_H_
