#include "tests/engine/metamorphic/shrink.h"

#include <algorithm>
#include <utility>

namespace winnow::metamorphic {

namespace {

// `items` without the `count` from `begin` on.
template <typename Item>
std::vector<Item> Without(const std::vector<Item>& items, size_t begin, size_t count) {
  std::vector<Item> rest(items.begin(), items.begin() + static_cast<ptrdiff_t>(begin));
  const size_t end = std::min(begin + count, items.size());
  rest.insert(rest.end(), items.begin() + static_cast<ptrdiff_t>(end), items.end());
  return rest;
}

class Shrinker {
 public:
  Shrinker(std::vector<Operation> log, const FailsAt& fails_at, int max_tries)
      : log_(std::move(log)), fails_at_(fails_at), tries_left_(max_tries) {}

  std::vector<Operation> Run() {
    Take(log_);  // what follows the failure
    for (bool shorter = true; shorter && tries_left_ > 0;) {
      const size_t before = log_.size();
      DropOperations();
      DropParts(&Operation::updates);
      DropParts(&Operation::moves);
      DropParts(&Operation::keys);
      shorter = log_.size() < before;
    }
    return std::move(log_);
  }

 private:
  // Keeps `candidate` if it fails.
  bool Take(std::vector<Operation> candidate) {
    if (tries_left_ <= 0) return false;
    tries_left_--;
    const std::optional<size_t> index = fails_at_(candidate);
    if (!index.has_value()) return false;
    candidate.resize(std::min(candidate.size(), *index + 1));
    log_ = std::move(candidate);
    return true;
  }

  void DropOperations() {
    for (size_t piece = std::max<size_t>(log_.size() / 2, 1);; piece /= 2) {
      for (size_t begin = 0; begin < log_.size() && tries_left_ > 0;) {
        if (!Take(Without(log_, begin, piece))) begin += piece;
      }
      if (piece <= 1) return;
    }
  }

  template <typename Part>
  void DropParts(std::vector<Part> Operation::*parts) {
    for (size_t i = 0; i < log_.size(); i++) {
      size_t piece = std::max<size_t>((log_[i].*parts).size() / 2, 1);
      for (;; piece /= 2) {
        for (size_t begin = 0; i < log_.size() && begin < (log_[i].*parts).size();) {
          if ((log_[i].*parts).size() <= 1 || tries_left_ <= 0) break;
          std::vector<Operation> candidate = log_;
          candidate[i].*parts = Without(log_[i].*parts, begin, piece);
          if (!Take(std::move(candidate))) begin += piece;
        }
        if (piece <= 1 || i >= log_.size()) break;
      }
    }
  }

  std::vector<Operation> log_;
  const FailsAt& fails_at_;
  int tries_left_;
};

}  // namespace

std::vector<Operation> Shrink(std::vector<Operation> log, const FailsAt& fails_at, int max_tries) {
  return Shrinker(std::move(log), fails_at, max_tries).Run();
}

}  // namespace winnow::metamorphic
