// Whether anybody has written what a transaction relies on since it did.
#ifndef WINNOW_ENGINE_TRANSACTION_CONFLICT_CHECK_H_
#define WINNOW_ENGINE_TRANSACTION_CONFLICT_CHECK_H_

#include "absl/status/status.h"
#include "engine/transaction/tracked_keys.h"
#include "engine/write/commit_validator.h"
#include "engine/write/publish_queue.h"

namespace winnow {

// OK: no entry of the key has a larger sequence number than `above`, in memtables and tables.
// Aborted: one has, or may have had, in a table that was dropped unread; the message names the key.
// FailedPrecondition: the family has been dropped. Other errors: it could not be found out.
// `is_conflict` is set with Aborted.
//
// A snapshot of number `above`, or a smaller one, must be held: else a flush or compaction may have
// dropped the very deletion that is looked for.
absl::Status CheckUnchanged(const ColumnFamilyState& family, std::string_view key,
                            SequenceNumber above, bool* is_conflict);

// Backward validation (Kung and Robinson, "On Optimistic Methods for Concurrency Control", ACM TODS
// 1981), in two steps: everything that was visible at some moment is looked at beside other
// writers; then, under write leadership, only what has come since.
class ConflictCheck final : public CommitValidator {
 public:
  // All outlive it. A snapshot is held that is no newer than what any of the keys and ranges relies
  // on.
  ConflictCheck(const TrackedKeys* keys, const PublishQueue* publishing)
      : keys_(keys), publishing_(publishing) {}

  // The first step, for which the whole of `keys` is looked up.
  absl::Status CheckBefore();
  // The second one.
  absl::Status Validate(EarlierUpdates* earlier) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);

  // The error was a conflict.
  bool found_conflict() const { return found_conflict_; }

 private:
  absl::Status CheckStored(SequenceNumber at_least);
  absl::Status CheckRangesStored(const TrackedFamily& tracked, SequenceNumber at_least);
  absl::Status CheckEarlier(EarlierUpdates* earlier);
  // OK: it writes nothing that the transaction relies on, but for keys that are found by hashes.
  static absl::Status CheckEarlier(const BatchUpdate& update, const TrackedFamily& tracked);

  const TrackedKeys* const keys_;
  const PublishQueue* const publishing_;
  // No write up to this number is a conflict.
  SequenceNumber checked_through_ = 0;
  bool found_conflict_ = false;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TRANSACTION_CONFLICT_CHECK_H_
