// No filter can be asked for a range, and entries are in the order of keys, not of sequence
// numbers: so a memtable is walked, at worst, over all that it has of the range. Tables are spared
// that by their largest sequence number, and by being conflicts as a whole where they lie inside
// the range.
#include "engine/transaction/range_conflict.h"

#include <string>

#include "engine/base/status.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/transaction/tracked_keys.h"
#include "engine/version/user_key_range.h"

namespace winnow {

namespace {

// What is newer than a number, of the keys from one to before another.
class NewerInRange {
 public:
  NewerInRange(const InternalKeyComparator& comparator, std::string_view begin,
               std::string_view end, SequenceNumber above)
      : comparator_(comparator), begin_(begin), end_(end), above_(above) {}

  // An entry that is not visible yet counts: it will be.
  absl::StatusOr<bool> IsIn(const ReadView& view) const {
    WINNOW_ASSIGN_OR_RETURN(bool found, IsIn(*view.active));
    for (const auto& memtable : view.immutables) {
      if (found) return true;
      WINNOW_ASSIGN_OR_RETURN(found, IsIn(*memtable));
    }
    if (found) return true;
    // Not the files that overlap those of the range, as Overlapping gives them of level 0.
    for (const auto& file : view.version->files(0)) {
      if (!Overlap(file->range(), Range(), comparator_)) continue;
      WINNOW_ASSIGN_OR_RETURN(found, IsIn(*file));
      if (found) return true;
    }
    for (int level = 1; level < kNumLevels; level++) {
      for (const auto& file : view.version->Overlapping(level, Range())) {
        WINNOW_ASSIGN_OR_RETURN(found, IsIn(*file));
        if (found) return true;
      }
    }
    return false;
  }

 private:
  UserKeyRange Range() const { return {begin_, end_, /*excludes_largest=*/true}; }

  absl::StatusOr<bool> IsIn(const Memtable& memtable) const {
    if (memtable.empty()) return false;
    if (memtable.has_range_deletions()) {
      const auto runs = memtable.range_tombstones().Shared();
      for (size_t i = 0; i < runs->num_runs(); i++) {
        if (IsIn(runs->run(i))) return true;
      }
    }
    return IsIn(memtable.NewIterator().get());
  }

  absl::StatusOr<bool> IsIn(const SstableFile& file) const {
    if (file.metadata().largest_sequence <= above_) return false;
    // Its newest entry, or range deletion, is then in the range, too.
    const bool is_within = comparator_.CompareUserKeys(begin_, file.smallest_user_key()) <= 0 &&
                           file.EndsBefore(end_, comparator_);
    if (is_within) return true;
    // What a table that cannot be opened has of the range is not known: the commit is refused.
    if (file.reader() == nullptr) return file.open_status();
    if (file.range_tombstones() != nullptr && IsIn(*file.range_tombstones())) return true;
    SstableReadOptions read_options;
    // A look that is taken once is not to push out what reads come back to.
    read_options.fill_cache = false;
    return IsIn(file.reader()->NewIterator(read_options).get());
  }

  bool IsIn(const RangeTombstoneIndex& tombstones) const {
    if (tombstones.largest_sequence() <= above_) return false;
    // From the fragment that `begin` lies in, which begins at or before it; before the first bound
    // there is none.
    const size_t bounds = tombstones.NumBoundsUpTo(begin_);
    for (size_t fragment = bounds == 0 ? 0 : bounds - 1;
         fragment < tombstones.num_fragments() &&
         comparator_.CompareUserKeys(tombstones.bound(fragment), end_) < 0;
         fragment++) {
      if (tombstones.NewestIn(fragment, kMaxSequenceNumber) > above_) return true;
    }
    return false;
  }

  absl::StatusOr<bool> IsIn(InternalIterator* entries) const {
    // Before every version of `begin`.
    entries->Seek(MakeInternalKey(begin_, kMaxSequenceNumber, kEntryTypeForSeek));
    for (; entries->Valid(); entries->Next()) {
      const std::string_view internal_key = entries->key();
      if (comparator_.CompareUserKeys(UserKey(internal_key), end_) >= 0) break;
      if (Sequence(internal_key) > above_) return true;
    }
    WINNOW_RETURN_IF_ERROR(entries->status());
    return false;
  }

  const InternalKeyComparator comparator_;
  const std::string_view begin_;
  const std::string_view end_;
  const SequenceNumber above_;
};

}  // namespace

absl::Status RangeConflict(const ColumnFamilyState& family, std::string_view begin,
                           std::string_view end) {
  return absl::AbortedError(absl::StrCat("conflict: ", DescribeRange(family.name(), begin, end),
                                         " has been written to since the transaction deleted it"));
}

// The view is pinned after `above` was visible: see CheckUnchanged.
absl::Status CheckRangeUnchanged(const ColumnFamilyState& family, std::string_view begin,
                                 std::string_view end, SequenceNumber above, bool* is_conflict) {
  const ViewGuard view(family.views);
  if (family.is_dropped()) {
    return absl::FailedPreconditionError(
        absl::StrCat("column family '", ToAbsl(family.name()), "' has been dropped"));
  }
  const NewerInRange newer(family.comparator(), begin, end, above);
  WINNOW_ASSIGN_OR_RETURN(*is_conflict, newer.IsIn(*view));
  if (*is_conflict) return RangeConflict(family, begin, end);
  // After the view: whatever is not in it any more has been counted.
  *is_conflict = family.dropped_unread_through() > above;
  if (!*is_conflict) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat("conflict: ", DescribeRange(family.name(), begin, end),
                   " may have been written to since the transaction deleted it: tables of since "
                   "then have been dropped unread"));
}

}  // namespace winnow
