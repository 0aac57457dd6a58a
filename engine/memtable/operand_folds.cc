#include "engine/memtable/operand_folds.h"

#include <iterator>
#include <utility>

namespace winnow {

namespace {

// Orders a key's folds, and a number among them.
constexpr auto kIsNewer = [](SequenceNumber snapshot, const auto& fold) {
  return snapshot < fold->newest;
};

}  // namespace

size_t OperandFolds::BytesOf(const Folds::value_type& of_key) {
  size_t bytes = 0;
  for (const auto& fold : of_key.second) bytes += BytesOf(of_key.first, *fold);
  return bytes;
}

// A fold is all or nothing: a reader whose snapshot is older than its newest operand cannot take
// that one out again, and goes from the next shorter one.
std::shared_ptr<const OperandFold> OperandFolds::Find(std::string_view user_key,
                                                      SequenceNumber snapshot) const {
  const std::string key(user_key);
  MutexLock lock(&mutex_);
  const auto found = folds_.find(key);
  if (found == folds_.end()) return nullptr;
  const FoldsOfKey& folds = found->second;
  const auto above = std::upper_bound(folds.begin(), folds.end(), snapshot, kIsNewer);
  return above == folds.begin() ? nullptr : *std::prev(above);
}

// A fold goes on from the one before it, unless something that is no operand lies between them.
size_t OperandFolds::LeastMissed(const FoldsOfKey& folds) {
  size_t least = 0;
  uint64_t fewest = UINT64_MAX;
  for (size_t i = 0; i < folds.size(); i++) {
    const bool goes_on = i > 0 && folds[i]->oldest <= folds[i - 1]->newest &&
                         folds[i]->num_operands > folds[i - 1]->num_operands;
    const uint64_t to_walk = folds[i]->num_operands - (goes_on ? folds[i - 1]->num_operands : 0);
    if (to_walk >= fewest) continue;
    fewest = to_walk;
    least = i;
  }
  return least;
}

void OperandFolds::Keep(std::string_view user_key, OperandFold fold) {
  const size_t bytes = BytesOf(user_key, fold);
  if (bytes > max_bytes_) return;
  std::string key(user_key);
  const auto kept = std::make_shared<const OperandFold>(std::move(fold));
  MutexLock lock(&mutex_);
  const auto found = folds_.find(key);
  FoldsOfKey folds;
  if (found != folds_.end()) folds = found->second;
  const auto above = std::upper_bound(folds.begin(), folds.end(), kept->newest, kIsNewer);
  const bool has_shorter = above != folds.begin();
  if (has_shorter && (*std::prev(above))->newest == kept->newest) return;
  const auto place = folds.insert(above, kept);
  size_t replaced = 0;
  if (folds.size() > kMaxFoldsOfKey) {
    const auto least = folds.begin() + static_cast<std::ptrdiff_t>(LeastMissed(folds));
    if (least == place) return;
    replaced = BytesOf(key, **least);
    folds.erase(least);
  }
  if (bytes > replaced && !MakeRoom(bytes - replaced, kept->num_operands, found)) {
    // With the memory of one: the longer one serves more readers.
    if (!has_shorter || replaced != 0) return;
    const auto shorter = std::prev(std::find(folds.begin(), folds.end(), kept));
    replaced = BytesOf(key, **shorter);
    if (bytes > replaced && !MakeRoom(bytes - replaced, kept->num_operands, found)) return;
    folds.erase(shorter);
  }
  const uint64_t longest = folds.back()->num_operands;
  if (found != folds_.end()) {
    found->second.swap(folds);
  } else {
    folds_.emplace(std::move(key), std::move(folds));
  }
  // After all that may throw: what is counted is what is there.
  bytes_ = bytes_ - replaced + bytes;
  least_operands_ = std::min(least_operands_, longest);
  has_any_.store(true, std::memory_order_relaxed);
}

// Only keys with chains of half the length give way, the shortest first: among keys of the like
// each would else push another one out with each read. So a search that finds some is rare, and one
// that would find none is not made.
bool OperandFolds::MakeRoom(size_t bytes, uint64_t num_operands, Folds::iterator keep) {
  if (bytes_ + bytes <= max_bytes_) return true;
  const uint64_t most_operands = num_operands / 2;
  if (least_operands_ > most_operands) return false;
  std::vector<Folds::iterator> shorter;
  size_t bytes_of_shorter = 0;
  uint64_t least_of_others = UINT64_MAX;
  for (auto it = folds_.begin(); it != folds_.end(); ++it) {
    const uint64_t longest = it->second.back()->num_operands;
    if (it == keep || longest > most_operands) {
      least_of_others = std::min(least_of_others, longest);
      continue;
    }
    shorter.push_back(it);
    bytes_of_shorter += BytesOf(*it);
  }
  // Not if all of them went.
  if (bytes_ + bytes > max_bytes_ + bytes_of_shorter) return false;
  std::sort(shorter.begin(), shorter.end(), [](const auto& a, const auto& b) {
    return a->second.back()->num_operands < b->second.back()->num_operands;
  });
  auto left = shorter.begin();
  for (; bytes_ + bytes > max_bytes_; ++left) {
    bytes_ -= BytesOf(**left);
    folds_.erase(*left);
  }
  least_operands_ = least_of_others;
  if (left != shorter.end()) {
    least_operands_ = std::min(least_operands_, (*left)->second.back()->num_operands);
  }
  return true;
}

}  // namespace winnow
