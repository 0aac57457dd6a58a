// Locks on single keys, for pessimistic transactions.
#ifndef WINNOW_ENGINE_TRANSACTION_POINT_LOCKS_H_
#define WINNOW_ENGINE_TRANSACTION_POINT_LOCKS_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "engine/column_family/column_family_state.h"
#include "filter/base/mutex.h"

namespace winnow {

// What came of a request for a lock.
enum class LockOutcome { kGranted, kTimedOut, kDeadlock, kClosed, kFailed };

struct LockResult {
  LockOutcome outcome = LockOutcome::kGranted;
  bool waited = false;
  absl::Status status;  // OK if granted; DeadlineExceeded, Aborted, or of a closed database
};

// Thread-safe. A lock has one owner, and goes from one to the next in the order in which they came.
// Keys are in stripes, each with its mutex, so that those who lock different keys seldom meet.
//
// Deadlocks are found when they arise, by whoever is about to wait: it follows who waits for whom
// from the owner of the lock on. A transaction waits for one lock at a time and a lock has one
// owner, so that this is a walk along one path, of which every circle is a deadlock.
class PointLocks {
 public:
  PointLocks() = default;
  PointLocks(const PointLocks&) = delete;
  PointLocks& operator=(const PointLocks&) = delete;

  struct Patience {
    std::chrono::milliseconds timeout{0};
    bool detect_deadlocks = true;
  };
  // `owner` does not have the lock, and asks for nothing else meanwhile. May throw std::bad_alloc;
  // then it has not got it.
  LockResult Lock(uint64_t owner, const ColumnFamilyState& family, std::string_view key,
                  const Patience& patience) ABSL_LOCKS_EXCLUDED(graph_mutex_);
  // `owner` has it. Takes no memory.
  void Unlock(const ColumnFamilyState& family, std::string_view key)
      ABSL_LOCKS_EXCLUDED(graph_mutex_);

  // Ends all waits, and those that begin later.
  void Close() ABSL_LOCKS_EXCLUDED(graph_mutex_);

 private:
  struct HeldLock;

  // One who waits, on its own stack.
  struct Waiter {
    enum class State { kWaits, kGranted, kClosed };

    uint64_t id = 0;
    const HeldLock* lock = nullptr;
    std::string description;  // of the lock
    State state = State::kWaits;
    CondVar changed;         // with the stripe's mutex
    Waiter* next = nullptr;  // in the lock's queue
  };
  struct HeldLock {
    // Changed with the stripe's mutex held, and with the graph's as well if somebody waits: so the
    // owner of a lock that is waited for may be read with either.
    uint64_t owner = 0;
    Waiter* first_waiter = nullptr;
    Waiter* last_waiter = nullptr;
  };
  struct LockKey {
    uint32_t family_id;
    InternalKeyComparator comparator;
    std::string key;
  };
  struct LockKeyView {
    uint32_t family_id;
    std::string_view key;
  };
  struct LockKeyLess {
    using is_transparent = void;
    static bool Less(const LockKeyView& a, const LockKeyView& b,
                     const InternalKeyComparator& comparator) {
      if (a.family_id != b.family_id) return a.family_id < b.family_id;
      return comparator.CompareUserKeys(a.key, b.key) < 0;
    }
    bool operator()(const LockKey& a, const LockKey& b) const {
      return Less({a.family_id, a.key}, {b.family_id, b.key}, a.comparator);
    }
    bool operator()(const LockKey& a, const LockKeyView& b) const {
      return Less({a.family_id, a.key}, b, a.comparator);
    }
    bool operator()(const LockKeyView& a, const LockKey& b) const {
      return Less(a, {b.family_id, b.key}, b.comparator);
    }
  };
  struct Stripe {
    Mutex mutex;
    std::map<LockKey, HeldLock, LockKeyLess> locks ABSL_GUARDED_BY(mutex);
    bool closed ABSL_GUARDED_BY(mutex) = false;
  };
  static constexpr size_t kStripes = 64;

  Stripe& StripeOf(const ColumnFamilyState& family, std::string_view key);
  // Until the lock is the waiter's own, or its time is over. Enters it in the queue and the graph.
  LockResult Wait(Stripe* stripe, HeldLock* lock, Waiter* waiter, const Patience& patience)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(stripe->mutex) ABSL_LOCKS_EXCLUDED(graph_mutex_);
  static void RemoveFromQueue(HeldLock* lock, const Waiter* waiter);
  // Empty: none would arise.
  std::string DescribeCircle(const Waiter& waiter, const HeldLock& lock) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph_mutex_);

  std::array<Stripe, kStripes> stripes_;
  // Taken while a stripe's is held.
  Mutex graph_mutex_;
  std::unordered_map<uint64_t, const Waiter*> waiting_ ABSL_GUARDED_BY(graph_mutex_);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TRANSACTION_POINT_LOCKS_H_
