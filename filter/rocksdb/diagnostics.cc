#include "filter/rocksdb/diagnostics.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "filter/base/mutex.h"
#include "winnow/filter/rocksdb.h"

namespace winnow::filter {
namespace {

// Counters only: no other memory is published through them, so the order does not matter.
constexpr auto kRelaxed = std::memory_order_relaxed;
std::atomic<uint64_t> filters_built{0};
std::atomic<uint64_t> filters_fallen_back{0};
std::atomic<uint64_t> filters_opened{0};
std::atomic<uint64_t> filters_not_understood{0};

// kUnknownVersion is the last of the codes.
constexpr size_t kNumStateCodes = static_cast<size_t>(FilterStateCode::kUnknownVersion) + 1;
std::array<std::atomic<bool>, kNumStateCodes> warned_of_state{};
std::atomic<bool> warned_of_fall_back{false};

constinit Mutex warning_mutex;
void (*warning_handler)(const std::string& line) ABSL_GUARDED_BY(warning_mutex) = nullptr;

constinit Mutex refusal_mutex;
// Never destroyed: a name may be refused until the very end of the process.
std::string& LastRefusal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(refusal_mutex) {
  static auto* const reason = new std::string;
  return *reason;
}

}  // namespace

FilterPolicyCounters GetFilterPolicyCounters() {
  FilterPolicyCounters counters;
  counters.filters_built = filters_built.load(kRelaxed);
  counters.filters_fallen_back = filters_fallen_back.load(kRelaxed);
  counters.filters_opened = filters_opened.load(kRelaxed);
  counters.filters_not_understood = filters_not_understood.load(kRelaxed);
  return counters;
}

void SetFilterPolicyWarningHandler(void (*handler)(const std::string& line)) {
  const MutexLock lock(&warning_mutex);
  warning_handler = handler;
}

namespace internal {

// Under the lock, so that a handler that has been replaced is not called any more once
// SetFilterPolicyWarningHandler has returned.
void Warn(const std::string& line) {
  const MutexLock lock(&warning_mutex);
  if (warning_handler != nullptr) {
    warning_handler(line);
  } else {
    std::fprintf(stderr, "winnow: %s\n", line.c_str());
  }
}

void WarnOfRefusedName(const std::string& reason) {
  {
    const MutexLock lock(&refusal_mutex);
    // RocksDB asks for a name of an options file twice; one line is enough.
    if (reason == LastRefusal()) return;
    LastRefusal() = reason;
  }
  Warn(reason);
}

void CountBuiltFilter(bool fell_back) {
  filters_built.fetch_add(1, kRelaxed);
  if (!fell_back) return;
  filters_fallen_back.fetch_add(1, kRelaxed);
  // The first of its kind warns; thousands of files may follow.
  if (!warned_of_fall_back.exchange(true)) {
    Warn(
        "a filter could not be built as its spec says, and another kind was built instead; "
        "suspect the machine's memory. Further ones are only counted");
  }
}

void CountOpenedFilter(const FilterState& state) {
  filters_opened.fetch_add(1, kRelaxed);
  if (state.code == FilterStateCode::kOk) return;
  filters_not_understood.fetch_add(1, kRelaxed);
  // Once for each cause: a damaged disk can make a great many of such filters.
  if (!warned_of_state[static_cast<size_t>(state.code)].exchange(true)) {
    Warn(absl::StrCat("a filter block cannot be used: ", state.reason,
                      ". Reads of its file stay right, and become slower until a compaction "
                      "rewrites it. Further ones are only counted"));
  }
}

}  // namespace internal
}  // namespace winnow::filter
