// What DB::SetOption may change of the options of the database itself, for those who go by them.
#ifndef WINNOW_ENGINE_COLUMN_FAMILY_LIVE_OPTIONS_H_
#define WINNOW_ENGINE_COLUMN_FAMILY_LIVE_OPTIONS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "winnow/options.h"

namespace winnow {

// Those that no part of the database keeps by itself. Thread-safe; with relaxed order, as each is a
// number of its own.
class LiveOptions {
 public:
  explicit LiveOptions(const Options& options) { Set(options); }

  void Set(const Options& options) {
    max_log_bytes_.store(options.max_log_bytes, std::memory_order_relaxed);
    readahead_bytes_.store(options.compaction_readahead_bytes, std::memory_order_relaxed);
    verify_checksums_.store(options.verify_compaction_checksums, std::memory_order_relaxed);
    background_threads_.store(options.background_threads, std::memory_order_relaxed);
  }

  uint64_t max_log_bytes() const { return max_log_bytes_.load(std::memory_order_relaxed); }
  size_t compaction_readahead_bytes() const {
    return readahead_bytes_.load(std::memory_order_relaxed);
  }
  bool verify_compaction_checksums() const {
    return verify_checksums_.load(std::memory_order_relaxed);
  }
  int background_threads() const { return background_threads_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> max_log_bytes_;
  std::atomic<size_t> readahead_bytes_;
  std::atomic<bool> verify_checksums_;
  std::atomic<int> background_threads_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COLUMN_FAMILY_LIVE_OPTIONS_H_
