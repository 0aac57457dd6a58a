// What readers have combined of long chains of merge operands, so that the next reader need not.
#ifndef WINNOW_ENGINE_MEMTABLE_OPERAND_FOLDS_H_
#define WINNOW_ENGINE_MEMTABLE_OPERAND_FOLDS_H_

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/base/internal_key.h"
#include "filter/base/mutex.h"

namespace winnow {

// The operands of a key from `newest` to `oldest`, all that a memtable has between them, as one.
struct OperandFold {
  SequenceNumber newest = 0;
  SequenceNumber oldest = 0;
  std::string operand;
};

// One for each of some keys of a memtable. What is older than a visible sequence number changes no
// more, so that a fold stays right; a longer one replaces it. Thread-safe.
class OperandFolds {
 public:
  bool empty() const { return !has_any_.load(std::memory_order_relaxed); }
  // The fold of the key, if a reader at `snapshot` sees all of it.
  std::optional<OperandFold> Find(std::string_view user_key, SequenceNumber snapshot) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Keeps it where there is room.
  void Keep(std::string_view user_key, OperandFold fold) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  static constexpr size_t kMaxKeys = 256;
  static constexpr size_t kMaxBytes = 4096;  // of key and operand

  std::atomic<bool> has_any_{false};
  mutable Mutex mutex_;
  std::unordered_map<std::string, OperandFold> folds_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_MEMTABLE_OPERAND_FOLDS_H_
