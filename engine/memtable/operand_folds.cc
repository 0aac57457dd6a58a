#include "engine/memtable/operand_folds.h"

#include <utility>
#include <vector>

namespace winnow {

// A fold is all or nothing: a reader whose snapshot is older than its newest operand cannot take
// that one out again, and walks the chain itself.
std::shared_ptr<const OperandFold> OperandFolds::Find(std::string_view user_key,
                                                      SequenceNumber snapshot) const {
  const std::string key(user_key);
  MutexLock lock(&mutex_);
  const auto found = folds_.find(key);
  if (found == folds_.end() || found->second->newest > snapshot) return nullptr;
  return found->second;
}

// A reader of an old snapshot must not take the place of one that has combined more.
void OperandFolds::Keep(std::string_view user_key, OperandFold fold) {
  const size_t bytes = BytesOf(user_key, fold);
  if (bytes > max_bytes_) return;
  std::string key(user_key);
  const auto kept = std::make_shared<const OperandFold>(std::move(fold));
  MutexLock lock(&mutex_);
  const auto found = folds_.find(key);
  if (found != folds_.end() && found->second->newest >= kept->newest) return;
  const size_t replaced = found == folds_.end() ? 0 : BytesOf(key, *found->second);
  if (bytes > replaced && !MakeRoom(bytes - replaced, kept->num_operands, found)) return;
  if (found != folds_.end()) {
    found->second = kept;
  } else {
    folds_.emplace(std::move(key), kept);
  }
  // After all that may throw: what is counted is what is there.
  bytes_ = bytes_ - replaced + bytes;
  least_operands_ = std::min(least_operands_, kept->num_operands);
  has_any_.store(true, std::memory_order_relaxed);
}

// Only chains of half the length give way, the shortest first: among keys of the like each would
// else push another one out with each read. So a search that finds some is rare, and one that would
// find none is not made.
bool OperandFolds::MakeRoom(size_t bytes, uint64_t num_operands, Folds::iterator keep) {
  if (bytes_ + bytes <= max_bytes_) return true;
  const uint64_t most_operands = num_operands / 2;
  if (least_operands_ > most_operands) return false;
  std::vector<Folds::iterator> shorter;
  size_t bytes_of_shorter = 0;
  uint64_t least_of_others = UINT64_MAX;
  for (auto it = folds_.begin(); it != folds_.end(); ++it) {
    if (it == keep || it->second->num_operands > most_operands) {
      least_of_others = std::min(least_of_others, it->second->num_operands);
      continue;
    }
    shorter.push_back(it);
    bytes_of_shorter += BytesOf(it->first, *it->second);
  }
  // Not if all of them went.
  if (bytes_ + bytes > max_bytes_ + bytes_of_shorter) return false;
  std::sort(shorter.begin(), shorter.end(), [](const auto& a, const auto& b) {
    return a->second->num_operands < b->second->num_operands;
  });
  auto left = shorter.begin();
  for (; bytes_ + bytes > max_bytes_; ++left) {
    bytes_ -= BytesOf((*left)->first, *(*left)->second);
    folds_.erase(*left);
  }
  least_operands_ = least_of_others;
  if (left != shorter.end()) {
    least_operands_ = std::min(least_operands_, (*left)->second->num_operands);
  }
  return true;
}

}  // namespace winnow
