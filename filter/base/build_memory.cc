#include "filter/base/build_memory.h"

#include "absl/base/thread_annotations.h"
#include "filter/base/hold_while_forking.h"
#include "filter/base/huge_pages.h"
#include "filter/base/mutex.h"

namespace winnow::filter::internal {
namespace {

// Smaller pieces are the allocator's own business: it keeps them itself.
constexpr size_t kMinKept = size_t{64} << 10;

// Pieces of like sizes serve each other: up to an eighth more is taken than was asked for.
size_t RoundUp(size_t bytes) {
  // Eight to sixteen steps for each power of two.
  if (bytes >= kHugePageBytes) return WholeHugePages(bytes);
  size_t step = kMinKept / 8;
  while (step * 16 <= bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

// Pieces of at least kMinKept and less than a huge page that nobody uses. Thread-safe.
class SparePieces {
 public:
  static SparePieces& OfProcess() {
    // Alive until the very end.
    static auto* const spare_pieces = [] {
      auto* const made = new SparePieces;
      HoldWhileForking<SparePieces>();
      return made;
    }();
    return *spare_pieces;
  }

  // A piece of just so many bytes; null if there is none.
  void* Take(size_t bytes) {
    const MutexLock lock(&mutex_);
    // The newest first: it is the likeliest to be in a cache.
    for (size_t i = pieces_.size(); i-- > 0;) {
      if (pieces_[i].bytes != bytes) continue;
      void* const memory = pieces_[i].memory;
      pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(i));
      kept_bytes_ -= bytes;
      return memory;
    }
    return nullptr;
  }

  // Keeps the piece, and gives the oldest ones back to the system if that is too much.
  void Keep(void* memory, size_t bytes) {
    const MutexLock lock(&mutex_);
    pieces_.push_back({memory, bytes});
    kept_bytes_ += bytes;
    size_t num_dropped = 0;
    for (; kept_bytes_ > kMaxSpareBytes; ++num_dropped) {
      ::operator delete(pieces_[num_dropped].memory);
      kept_bytes_ -= pieces_[num_dropped].bytes;
    }
    pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(num_dropped));
  }

  // For HoldWhileForking.
  void LockForFork() ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex_) { mutex_.Lock(); }
  void UnlockAfterFork() ABSL_UNLOCK_FUNCTION(mutex_) { mutex_.Unlock(); }

 private:
  struct Piece {
    void* memory;
    size_t bytes;
  };

  // Room for all that can be kept, so that Keep, which runs in destructors, never allocates.
  SparePieces() { pieces_.reserve(kMaxSpareBytes / kMinKept + 1); }

  Mutex mutex_;
  std::vector<Piece> pieces_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  size_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

[[maybe_unused]] const SparePieces& spare_pieces_at_load = SparePieces::OfProcess();  // for forking

void* TakeHugePages(size_t bytes) {
  // Not kept after use: the allocator maps pieces of this size and gives them back to the system,
  // and with huge pages there are few page faults to save.
  void* const memory = ::operator new (bytes, std::align_val_t{kHugePageBytes});
  AdviseHugePages(memory, bytes);
  return memory;
}

}  // namespace

void* TakeBuildMemory(size_t bytes) {
  if (bytes < kMinKept) return ::operator new(bytes);
  bytes = RoundUp(bytes);
  if (bytes >= kHugePageBytes) return TakeHugePages(bytes);
  void* const spare = SparePieces::OfProcess().Take(bytes);
  return spare != nullptr ? spare : ::operator new(bytes);
}

void ReturnBuildMemory(void* memory, size_t bytes) {
  if (bytes < kMinKept) return ::operator delete(memory);
  // Rounds as Take did, so that sizes and ways agree.
  bytes = RoundUp(bytes);
  if (bytes >= kHugePageBytes) return ::operator delete (memory, std::align_val_t{kHugePageBytes});
  SparePieces::OfProcess().Keep(memory, bytes);
}

}  // namespace winnow::filter::internal
