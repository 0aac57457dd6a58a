// Loads that a thread runs, one within the other: a loader may ask its guard for other keys.
// Internal.

#ifndef WINNOW_GUARD_RUNNING_LOAD_H_
#define WINNOW_GUARD_RUNNING_LOAD_H_

#include <utility>

namespace winnow::guard::internal {

// Lives on the thread's stack while a loader is called.
class RunningLoad {
 public:
  RunningLoad(const void* guard, bool is_probe)
      : guard_(guard), is_probe_(is_probe), outer_(std::exchange(innermost_, this)) {}
  ~RunningLoad() { innermost_ = outer_; }
  RunningLoad(const RunningLoad&) = delete;

  // The innermost one of this guard on this thread, or null: whoever asks is not its loader.
  static const RunningLoad* Of(const void* guard) {
    const RunningLoad* load = innermost_;
    while (load != nullptr && load->guard_ != guard) load = load->outer_;
    return load;
  }

  // Whether it, or one around it, is what the breaker tries the database with.
  bool is_probe() const { return is_probe_; }

 private:
  static inline thread_local const RunningLoad* innermost_ = nullptr;

  const void* const guard_;
  const bool is_probe_;
  const RunningLoad* const outer_;
};

}  // namespace winnow::guard::internal

#endif  // WINNOW_GUARD_RUNNING_LOAD_H_
