// What the calling thread is in the middle of. A callback of the user's runs inside a call or a job
// of the database, and may call the database again: what would then wait for the end of that very
// call or job is refused instead.
#ifndef WINNOW_ENGINE_BASE_ONGOING_CALL_H_
#define WINNOW_ENGINE_BASE_ONGOING_CALL_H_

namespace winnow {

// Lives on the stack.
class OngoingCall {
 public:
  // `of` is only compared: an object that stands for what goes on.
  explicit OngoingCall(const void* of) : of_(of), outer_(innermost_) { innermost_ = this; }
  // In a thread that does a part of another's work while that one waits for it: `other` is the
  // other's Innermost().
  explicit OngoingCall(const OngoingCall* other) : outer_(other) { innermost_ = this; }
  ~OngoingCall() { innermost_ = outer_; }
  OngoingCall(const OngoingCall&) = delete;
  OngoingCall& operator=(const OngoingCall&) = delete;

  static const OngoingCall* Innermost() { return innermost_; }
  static bool IsOf(const void* what) {
    for (const OngoingCall* call = innermost_; call != nullptr; call = call->outer_) {
      if (call->of_ == what) return true;
    }
    return false;
  }

 private:
  static inline constinit thread_local const OngoingCall* innermost_ = nullptr;

  const void* const of_ = nullptr;
  const OngoingCall* const outer_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_ONGOING_CALL_H_
