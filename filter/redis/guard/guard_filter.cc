#include "winnow/filter/redis/guard_filter.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "filter/base/mutex.h"
#include "filter/base/out_of_memory.h"

namespace winnow::filter::redis {
namespace {

std::span<const std::string_view> SpanOf(const std::string_view& key) { return {&key, 1}; }

// The guard names keys, Redis notes by their ids: this keeps the intents of open insertions in
// between, O(log n) for each. They are of this process alone; if it dies, its notes stay in Redis,
// and the next rebuild adds their keys.
class BitmapKeyFilter final : public guard::KeyFilter {
 public:
  explicit BitmapKeyFilter(BitmapFilter* filter) : filter_(filter) {}

  bool MayContain(std::string_view key) override { return filter_->MayContain(key); }
  absl::Status Add(std::string_view key) override { return filter_->Add(SpanOf(key)).status(); }

  absl::Status BeginInsert(std::string_view key) override {
    return CatchOutOfMemory([&]() -> absl::Status {
      // A round trip, outside the mutex.
      absl::StatusOr<WriteIntent> intent = filter_->BeginWrite(SpanOf(key));
      if (!intent.ok()) return intent.status();
      MutexLock lock(&mutex_);
      // Without memory for it the note stays, as a dead writer's does.
      open_.emplace(key, *std::move(intent));
      return absl::OkStatus();
    });
  }

  void EndInsert(std::string_view key) override {
    Intents::node_type ended;
    {
      MutexLock lock(&mutex_);
      const auto found = open_.find(key);
      if (found == open_.end()) return;
      // Taken out as a node, which needs no memory; the round trip follows outside the mutex.
      ended = open_.extract(found);
    }
    // If it fails the note stays.
    (void)filter_->EndWrite(std::move(ended.mapped()));
  }

 private:
  // Of one key there may be several, of which each stands for all.
  using Intents = std::multimap<std::string, WriteIntent, std::less<>>;

  BitmapFilter* const filter_;
  Mutex mutex_;
  Intents open_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<guard::KeyFilter> NewBitmapKeyFilter(BitmapFilter* filter) {
  return std::make_unique<BitmapKeyFilter>(filter);
}

}  // namespace winnow::filter::redis
