// How a thread says what it reads, so that nobody frees it meanwhile (hazard pointers, Michael,
// TPDS 2004): an announcement costs a store to a line that no other thread writes, and where the
// system has no membarrier(2), a fence.
#ifndef WINNOW_ENGINE_BASE_HAZARD_SLOT_H_
#define WINNOW_ENGINE_BASE_HAZARD_SLOT_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace winnow {

// One thread's announcements.
class HazardSlot {
 public:
  // A thread announces one object of each kind at a time.
  enum Kind : size_t { kReadView, kOpenFile, kRangeTombstones, kFilterUnits };

  // True if some thread announces the object, or if that cannot be known now.
  static bool AnyAnnounces(const void* object);
  // In how many guards of the kind the calling thread is, if the outermost announces something.
  static size_t NumGuards(Kind kind) {
    const HazardSlot& slot = ForThisThread();
    const bool announces = slot.announced_[kind].load(std::memory_order_relaxed) != nullptr;
    return announces ? 1 + slot.num_inner_[kind] : 0;
  }

 private:
  friend class HazardGuard;
  friend struct HazardRegistry;
  struct Owner;
  // The calling thread's slot. Slots of ended threads are given to new ones.
  static HazardSlot& ForThisThread() {
    if (of_this_thread_ != nullptr) [[likely]]
      return *of_this_thread_;
    return TakeForThisThread();
  }
  static HazardSlot& TakeForThisThread();

  // Whoever scans makes all threads of the process pass a fence, so that readers need none.
  static const bool scans_fence_;

  static inline constinit thread_local HazardSlot* of_this_thread_ = nullptr;
  alignas(64) std::array<std::atomic<const void*>, 4> announced_{};
  std::array<uint32_t, 4> num_inner_{};  // guards inside another of their kind; the owner's alone
};

// Pins an object for a scope on one thread. Invariant: an object is freed only after a scan of all
// slots, made after it was replaced, did not find it; the reader announces first and then checks
// that the object is still the present one, so one of the two sees the other.
class HazardGuard {
 public:
  explicit HazardGuard(HazardSlot::Kind kind)
      : announced_(HazardSlot::ForThisThread().announced_[kind]),
        kind_(kind),
        is_free_(announced_.load(std::memory_order_relaxed) == nullptr) {
    if (!is_free_) [[unlikely]]
      HazardSlot::ForThisThread().num_inner_[kind]++;
  }
  ~HazardGuard() {
    if (is_free_) [[likely]] {
      announced_.store(nullptr, std::memory_order_release);
    } else {
      HazardSlot::ForThisThread().num_inner_[kind_]--;
    }
  }
  HazardGuard(const HazardGuard&) = delete;
  HazardGuard& operator=(const HazardGuard&) = delete;

  // False inside the scope of another guard of this kind, when nothing may be announced.
  bool is_free() const { return is_free_; }

  // What `current` holds; null if that is null.
  template <typename T>
  const T* Announce(const std::atomic<const T*>& current) {
    const T* object = current.load(std::memory_order_acquire);
    for (;;) {
      const T* now;
      if (HazardSlot::scans_fence_) [[likely]] {
        announced_.store(object, std::memory_order_release);
        std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler keeps the order too
        now = current.load(std::memory_order_acquire);
      } else {
        announced_.store(object, std::memory_order_seq_cst);
        now = current.load(std::memory_order_seq_cst);
      }
      if (now == object) return object;
      object = now;
    }
  }

 private:
  std::atomic<const void*>& announced_;
  const HazardSlot::Kind kind_;
  const bool is_free_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_HAZARD_SLOT_H_
