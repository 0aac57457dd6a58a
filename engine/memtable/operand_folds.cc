#include "engine/memtable/operand_folds.h"

#include <utility>

namespace winnow {

std::optional<OperandFold> OperandFolds::Find(std::string_view user_key,
                                              SequenceNumber snapshot) const {
  const std::string key(user_key);
  MutexLock lock(&mutex_);
  const auto found = folds_.find(key);
  if (found == folds_.end() || found->second.newest > snapshot) return std::nullopt;
  return found->second;
}

// A reader of an old snapshot must not take the place of one that has combined more.
void OperandFolds::Keep(std::string_view user_key, OperandFold fold) {
  if (user_key.size() + fold.operand.size() > kMaxBytes) return;
  const std::string key(user_key);
  MutexLock lock(&mutex_);
  const auto found = folds_.find(key);
  if (found != folds_.end()) {
    if (found->second.newest < fold.newest) found->second = std::move(fold);
  } else if (folds_.size() < kMaxKeys) {
    folds_.emplace(key, std::move(fold));
    has_any_.store(true, std::memory_order_relaxed);
  }
}

}  // namespace winnow
