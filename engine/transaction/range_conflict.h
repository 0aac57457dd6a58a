// Whether anybody has written into a range of keys since a transaction relied on it.
#ifndef WINNOW_ENGINE_TRANSACTION_RANGE_CONFLICT_H_
#define WINNOW_ENGINE_TRANSACTION_RANGE_CONFLICT_H_

#include <string_view>

#include "absl/status/status.h"
#include "engine/column_family/column_family_state.h"

namespace winnow {

// CheckUnchanged (conflict_check.h) for all keys from `begin` to before `end`, which is greater: no
// entry and no range deletion with a larger sequence number than `above` concerns one of them. The
// message names the range.
//
// What memtables hold of the range is looked at entry by entry. Tables in which nothing is newer
// are not read, nor are those that lie within the range: what is newer in them is a conflict.
absl::Status CheckRangeUnchanged(const ColumnFamilyState& family, std::string_view begin,
                                 std::string_view end, SequenceNumber above, bool* is_conflict);

absl::Status RangeConflict(const ColumnFamilyState& family, std::string_view begin,
                           std::string_view end);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TRANSACTION_RANGE_CONFLICT_H_
