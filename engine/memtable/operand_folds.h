// What readers have combined of long chains of merge operands, so that the next reader need not.
#ifndef WINNOW_ENGINE_MEMTABLE_OPERAND_FOLDS_H_
#define WINNOW_ENGINE_MEMTABLE_OPERAND_FOLDS_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/internal_key.h"
#include "filter/base/mutex.h"

namespace winnow {

// The operands of a key from `newest` to `oldest`, all that a memtable has between them, as one.
struct OperandFold {
  SequenceNumber newest = 0;
  SequenceNumber oldest = 0;
  uint64_t num_operands = 0;
  std::string operand;
};

// Of some keys of a memtable; of each a few, for readers at different moments. What is older than a
// visible sequence number changes no more, so that a fold stays right. Thread-safe.
class OperandFolds {
 public:
  // Of a memtable that is full at `buffer_bytes`, which says how much the folds may take.
  explicit OperandFolds(size_t buffer_bytes)
      : max_bytes_(std::max(buffer_bytes / kShareOfBuffer, kLeastMaxBytes)) {}

  bool empty() const { return !has_any_.load(std::memory_order_relaxed); }
  // The longest fold of the key of which a reader at `snapshot` sees all; null: there is none.
  std::shared_ptr<const OperandFold> Find(std::string_view user_key, SequenceNumber snapshot) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Keeps it where there is room, or where those of much shorter chains, which then go, take it; at
  // worst in the place of a shorter one of its key.
  void Keep(std::string_view user_key, OperandFold fold) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Of one key, by ascending `newest`; never empty.
  using FoldsOfKey = std::vector<std::shared_ptr<const OperandFold>>;
  using Folds = std::unordered_map<std::string, FoldsOfKey>;

  static constexpr size_t kMaxFoldsOfKey = 16;
  static constexpr size_t kShareOfBuffer = 64;
  static constexpr size_t kBytesOfPlace = 160;  // of a fold besides key and operand
  // For 256 keys with 4 KiB each.
  static constexpr size_t kLeastMaxBytes = 256 * (4096 + kBytesOfPlace);

  static size_t BytesOf(std::string_view user_key, const OperandFold& fold) {
    return user_key.size() + fold.operand.size() + kBytesOfPlace;
  }
  static size_t BytesOf(const Folds::value_type& of_key);
  // The one without which the next reader at its moment has the fewest operands to walk.
  static size_t LeastMissed(const FoldsOfKey& folds);
  // For `bytes` more, of a chain of so many operands, without giving up those of `keep`. False,
  // and nothing has gone: there cannot be.
  bool MakeRoom(size_t bytes, uint64_t num_operands, Folds::iterator keep)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_bytes_;
  std::atomic<bool> has_any_{false};
  mutable Mutex mutex_;
  Folds folds_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // No key's longest chain is shorter.
  uint64_t least_operands_ ABSL_GUARDED_BY(mutex_) = UINT64_MAX;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_MEMTABLE_OPERAND_FOLDS_H_
