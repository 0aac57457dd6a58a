#include "winnow/guard/key_filter.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <shared_mutex>
#include <utility>

#include "filter/base/mutex.h"
#include "filter/base/out_of_memory.h"
#include "filter/guard/user_call.h"
#include "winnow/filter/bloom_filter.h"
#include "winnow/guard/environment.h"

namespace winnow::guard {
namespace {

class BloomKeyFilter final : public KeyFilter {
 public:
  explicit BloomKeyFilter(filter::BloomFilter filter) : filter_(std::move(filter)) {}
  bool MayContain(std::string_view key) override { return filter_.Contains(key); }
  absl::Status Add(std::string_view key) override {
    filter_.Add(key);
    return absl::OkStatus();
  }

 private:
  filter::BloomFilter filter_;
};

// A lock that many threads share without a cache line between them: each takes one of its parts,
// and who wants it alone takes all.
// std::shared_mutex alone would not do: taking it shared still writes its counter, which makes one
// cache line travel between all cores that ask the filter.
class SharedByParts {
 public:
  class Share {
   public:
    explicit Share(SharedByParts* whole) : lock_(whole->parts_[PartOfThread()].mutex) {}

   private:
    std::shared_lock<std::shared_mutex> lock_;
  };
  class Whole {
   public:
    explicit Whole(SharedByParts* whole) : whole_(whole) {
      // Always in this order, so that two who want it alone cannot block each other. O(64) for a
      // step that happens twice a rebuild.
      for (Part& part : whole_->parts_) part.mutex.lock();
    }
    ~Whole() {
      for (Part& part : whole_->parts_) part.mutex.unlock();
    }
    Whole(const Whole&) = delete;

   private:
    SharedByParts* const whole_;
  };

 private:
  static constexpr size_t kParts = 64;
  struct alignas(64) Part {
    std::shared_mutex mutex;
  };

  // Dealt out in turn, once for a thread: no two of the first 64 share a part.
  static size_t PartOfThread() {
    static std::atomic<size_t> next = 0;
    thread_local const size_t part = next.fetch_add(1, std::memory_order_relaxed) % kParts;
    return part;
  }

  std::array<Part, kParts> parts_;
};

class RebuildableKeyFilter final : public RebuildableFilter {
 public:
  explicit RebuildableKeyFilter(std::unique_ptr<KeyFilter> filter) : filter_(std::move(filter)) {}

  // Asks the filter that serves, never the next one, which lacks keys until it is filled.
  bool MayContain(std::string_view key) override {
    const SharedByParts::Share share(&lock_);
    return filter_->MayContain(key);
  }

  absl::Status Add(std::string_view key) override {
    // The share keeps both pointers as they are until the key is in both filters: a rebuild cannot
    // end between the two additions.
    const SharedByParts::Share share(&lock_);
    const absl::Status status =
        internal::CatchFrom("the filter", [&] { return filter_->Add(key); });
    // If the next one fails this one stays, and has the key.
    if (status.ok() && next_ != nullptr) (void)AddToNext(next_.get(), key);
    return status;
  }

  // The key is among the open ones before it is in the filter: a rebuild that begins between the
  // two finds it.
  absl::Status BeginInsert(std::string_view key) override {
    try {
      MutexLock lock(&open_mutex_);
      open_.emplace(key);
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("no memory for the key of an insertion");
    }
    const absl::Status status = Add(key);
    if (!status.ok()) EndInsert(key);
    return status;
  }

  // One of several insertions of the key, whichever: as long as one is open the key is among the
  // open ones.
  void EndInsert(std::string_view key) override {
    MutexLock lock(&open_mutex_);
    const auto found = open_.find(key);
    if (found != open_.end()) open_.erase(found);
  }

  absl::Status Rebuild(std::unique_ptr<KeyFilter> next, const Scan& scan) override {
    if (next == nullptr) return absl::InvalidArgumentError("a rebuild needs a filter to fill");
    // Valid until this function ends: nobody else takes `next_` away.
    KeyFilter* const filling = next.get();
    {
      const SharedByParts::Whole whole(&lock_);
      if (next_ != nullptr) {
        return absl::FailedPreconditionError("the filter is being rebuilt already");
      }
      next_ = std::move(next);
      next_has_failed_.store(false, std::memory_order_relaxed);
    }
    // From here on everything that is added goes into both. What was added before is in the rows
    // that the scan finds, or its insertion has not ended.
    absl::Status status = internal::CatchFrom("the scan", [&] {
      const absl::Status added = AddOpenTo(filling);
      if (!added.ok()) return added;
      return scan([&](std::string_view key) { return AddToNext(filling, key); });
    });
    bool lacks_a_key = false;
    {
      // Nobody adds meanwhile. No further lock beside these many: ThreadSanitizer counts to 64.
      const SharedByParts::Whole whole(&lock_);
      lacks_a_key = next_has_failed_.load(std::memory_order_relaxed);
      // The old filter is destroyed here, when nobody asks it.
      if (status.ok() && !lacks_a_key) filter_ = std::move(next_);
      next_.reset();
    }
    return status.ok() && lacks_a_key ? Failure() : status;
  }

 private:
  // The filter lacks a key if this fails, whoever adds it.
  absl::Status AddToNext(KeyFilter* next, std::string_view key) {
    absl::Status status = internal::CatchFrom("the filter", [&] { return next->Add(key); });
    if (!status.ok()) {
      // The status before the flag: who sees the flag under the whole lock finds a status.
      MutexLock lock(&failure_mutex_);
      failure_ = status;
      next_has_failed_.store(true, std::memory_order_relaxed);
    }
    return status;
  }

  absl::Status Failure() {
    MutexLock lock(&failure_mutex_);
    return failure_;
  }

  absl::Status AddOpenTo(KeyFilter* filter) {
    MutexLock lock(&open_mutex_);
    for (const std::string& key : open_) {
      if (const absl::Status status = filter->Add(key); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  SharedByParts lock_;  // of the two pointers
  std::unique_ptr<KeyFilter> filter_;
  std::unique_ptr<KeyFilter> next_;           // while it is being rebuilt
  std::atomic<bool> next_has_failed_{false};  // a key could not be added to it
  Mutex failure_mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(failure_mutex_);  // the last one of that kind
  Mutex open_mutex_;
  std::multiset<std::string, std::less<>> open_ ABSL_GUARDED_BY(open_mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<KeyFilter>> NewBloomKeyFilter(uint64_t capacity, double fpr) {
  // A secret seed: nobody can look for keys that the filter lets through.
  absl::StatusOr<filter::BloomFilter> filter =
      filter::BloomFilter::Create(capacity, fpr, RandomSource::Real()->Next());
  if (!filter.ok()) return filter.status();
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<KeyFilter>> {
    return std::make_unique<BloomKeyFilter>(*std::move(filter));
  });
}

std::unique_ptr<RebuildableFilter> NewRebuildableFilter(std::unique_ptr<KeyFilter> filter) {
  if (filter == nullptr) return nullptr;
  return std::make_unique<RebuildableKeyFilter>(std::move(filter));
}

}  // namespace winnow::guard
