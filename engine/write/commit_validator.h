// Batches that are written only if what they rest on has not changed.
#ifndef WINNOW_ENGINE_WRITE_COMMIT_VALIDATOR_H_
#define WINNOW_ENGINE_WRITE_COMMIT_VALIDATOR_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/base/capabilities.h"
#include "engine/write/batch_format.h"
#include "winnow/write_batch.h"

namespace winnow {

// What the members of a group before the one that is validated will write. They are in no memtable
// yet, and come before it in the log.
class EarlierUpdates {
 public:
  // `batch` has passed all checks, and outlives this.
  void Add(const WriteBatch& batch) { batches_.push_back(&batch); }
  bool empty() const { return batches_.empty(); }

  // False: no update is of these bytes as its key. True by chance for one absent key in 2^64.
  bool MayWrite(uint32_t family_id, std::string_view key);
  // Stops where `visit` returns false.
  void ForEach(absl::FunctionRef<bool(const BatchUpdate&)> visit) const;

 private:
  std::vector<const WriteBatch*> batches_;
  size_t num_hashed_ = 0;  // of the batches
  std::unordered_set<uint64_t> hashes_;
};

// Asked by the leader for the batch that it came with, once everything that was logged before is in
// the memtables and visible.
class CommitValidator {
 public:
  virtual ~CommitValidator() = default;

  // An error: the batch is refused alone, before anything of it is in the log. May throw
  // std::bad_alloc.
  virtual absl::Status Validate(EarlierUpdates* earlier)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_WRITE_COMMIT_VALIDATOR_H_
