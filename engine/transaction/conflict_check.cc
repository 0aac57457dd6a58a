// Why two steps are enough. Sequence numbers become visible in the order of the log, and a view
// that is pinned after a number was visible has every entry up to it. The first step therefore
// leaves nothing undecided up to `checked_through_`, however long it takes and whoever writes
// meanwhile. The second, under leadership, finds all that was logged since in memtables or tables,
// but for the members of its own group that come first, which are in none yet.
#include "engine/transaction/conflict_check.h"

#include <algorithm>

#include "engine/base/status.h"
#include "engine/transaction/range_conflict.h"

namespace winnow {

namespace {

absl::Status Conflict(const ColumnFamilyState& family, std::string_view key) {
  return absl::AbortedError(absl::StrCat("conflict: ", DescribeKey(family.name(), key),
                                         " has been written since the transaction relied on it"));
}

absl::Status UnknownConflict(const ColumnFamilyState& family, std::string_view key) {
  return absl::AbortedError(absl::StrCat(
      "conflict: ", DescribeKey(family.name(), key),
      " may have been written since the transaction relied on it: tables of since then have been "
      "dropped unread"));
}

// The newest entry of the key in memory; null if there is none. An entry that is not visible yet
// counts: it will be.
const BTree::Entry* NewestInMemory(const ReadView& view, const LookupKey& key) {
  if (view.immutables.empty() && view.active->empty()) return nullptr;
  const uint64_t hash = view.WholeKeyHash(key);
  const auto find = [&](const Memtable& memtable) -> const BTree::Entry* {
    if (memtable.empty() || !memtable.MayContain(key.user_key, hash)) return nullptr;
    return memtable.Find(key.user_key, key.snapshot);
  };
  // The first that has one: whatever lies in an older memtable is older.
  if (const BTree::Entry* entry = find(*view.active)) return entry;
  for (const auto& memtable : view.immutables) {
    if (const BTree::Entry* entry = find(*memtable)) return entry;
  }
  return nullptr;
}

}  // namespace

// The view is pinned after `above` was visible, and so has all entries up to it, and those above it
// that are in memory or in tables by now.
absl::Status CheckUnchanged(const ColumnFamilyState& family, std::string_view key,
                            SequenceNumber above, bool* is_conflict) {
  const ViewGuard view(family.views);
  // After the view: what a family that is dropped still shows is all of it, or nothing.
  if (family.is_dropped()) {
    return absl::FailedPreconditionError(
        absl::StrCat("column family '", ToAbsl(family.name()), "' has been dropped"));
  }
  const LookupKey lookup = view->MakeLookupKey(key, kMaxSequenceNumber);
  if (const BTree::Entry* entry = NewestInMemory(*view, lookup)) {
    // Tables need not be asked, whatever it is: an ingestion flushes what memtables have of its
    // keys, so that no table has anything newer than a memtable.
    *is_conflict = Sequence(entry->internal_key()) > above;
  } else {
    SstableReadOptions read_options;
    WINNOW_ASSIGN_OR_RETURN(const SequenceNumber newest,
                            view->version->NewestSequence(lookup, above, read_options));
    *is_conflict = newest != 0;
  }
  // Range deletions are kept apart from entries, in memtables and tables alike.
  if (!*is_conflict) *is_conflict = view->NewestRangeDeletion(lookup) > above;
  if (*is_conflict) return Conflict(family, key);
  // After the view: whatever is not in it any more has been counted.
  *is_conflict = family.dropped_unread_through() > above;
  return *is_conflict ? UnknownConflict(family, key) : absl::OkStatus();
}

// The number is read before any view is pinned: whatever is up to it is in the views.
// This is the bulk of the work, and may read files; no writer waits for it.
absl::Status ConflictCheck::CheckBefore() {
  const SequenceNumber visible = publishing_->visible_sequence();
  WINNOW_RETURN_IF_ERROR(CheckStored(/*at_least=*/0));
  checked_through_ = visible;
  return absl::OkStatus();
}

// All that was logged before is visible now, and nothing comes before leadership is handed on.
absl::Status ConflictCheck::Validate(EarlierUpdates* earlier) {
  // Every writer waits meanwhile: where nothing has come since, nothing is looked up.
  if (publishing_->visible_sequence() != checked_through_) {
    WINNOW_RETURN_IF_ERROR(CheckStored(checked_through_));
  }
  return earlier->empty() ? absl::OkStatus() : CheckEarlier(earlier);
}

absl::Status ConflictCheck::CheckStored(SequenceNumber at_least) {
  for (const auto& [id, tracked] : *keys_) {
    for (const auto& [key, state] : tracked.keys) {
      // Newer tables are few in the second step, and others are not read (Version::NewestSequence).
      const SequenceNumber above = std::max(state.unchanged_since, at_least);
      WINNOW_RETURN_IF_ERROR(CheckUnchanged(*tracked.family, key, above, &found_conflict_));
    }
    WINNOW_RETURN_IF_ERROR(CheckRangesStored(tracked, at_least));
  }
  return absl::OkStatus();
}

// Pieces that follow each other without a gap are looked up as one where that comes to the same.
absl::Status ConflictCheck::CheckRangesStored(const TrackedFamily& tracked,
                                              SequenceNumber at_least) {
  const TrackedRanges::Pieces& pieces = tracked.ranges.pieces();
  for (auto at = pieces.begin(); at != pieces.end();) {
    const std::string_view begin = at->first;
    const SequenceNumber above = std::max(at->second.unchanged_since, at_least);
    std::string_view end = begin;
    do {
      end = at->second.end;
      ++at;
    } while (at != pieces.end() &&
             tracked.family->comparator().CompareUserKeys(end, at->first) == 0 &&
             std::max(at->second.unchanged_since, at_least) == above);
    WINNOW_RETURN_IF_ERROR(
        CheckRangeUnchanged(*tracked.family, begin, end, above, &found_conflict_));
  }
  return absl::OkStatus();
}

absl::Status ConflictCheck::CheckEarlier(EarlierUpdates* earlier) {
  for (const auto& [id, tracked] : *keys_) {
    if (!tracked.family->comparator().user()->EqualKeysHaveEqualBytes()) continue;
    // A hash says at once that a key is in no batch; to walk all batches for each key would be
    // quadratic.
    for (const auto& [key, state] : tracked.keys) {
      found_conflict_ = earlier->MayWrite(id, key);
      if (found_conflict_) return Conflict(*tracked.family, key);
    }
  }
  // Keys that are equal in other bytes have no hash in common, nor has a range with its keys.
  absl::Status status;
  earlier->ForEach([&](const BatchUpdate& update) {
    const auto tracked = keys_->find(update.family_id);
    if (tracked != keys_->end()) status = CheckEarlier(update, tracked->second);
    return status.ok();
  });
  found_conflict_ = !status.ok();
  return status;
}

absl::Status ConflictCheck::CheckEarlier(const BatchUpdate& update, const TrackedFamily& tracked) {
  const ColumnFamilyState& family = *tracked.family;
  const InternalKeyComparator& comparator = family.comparator();
  if (update.type == EntryType::kRangeDelete) {
    // The first key that is not before the range decides for all of them.
    const auto first = tracked.keys.lower_bound(update.key);
    if (first != tracked.keys.end() && comparator.CompareUserKeys(first->first, update.value) < 0) {
      return Conflict(family, first->first);
    }
    const auto* const piece = tracked.ranges.FindAnyOf(update.key, update.value);
    return piece == nullptr ? absl::OkStatus()
                            : RangeConflict(family, piece->first, piece->second.end);
  }
  if (tracked.ranges.Contain(update.key)) return Conflict(family, update.key);
  if (comparator.user()->EqualKeysHaveEqualBytes()) return absl::OkStatus();
  return tracked.keys.contains(update.key) ? Conflict(family, update.key) : absl::OkStatus();
}

}  // namespace winnow
