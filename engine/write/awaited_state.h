// How a thread waits for a word from another that comes soon, mostly.
#ifndef WINNOW_ENGINE_WRITE_AWAITED_STATE_H_
#define WINNOW_ENGINE_WRITE_AWAITED_STATE_H_

#include <atomic>

namespace winnow {

// A state that others set, and one thread at a time waits for. It may be gone as soon as it is set,
// with whoever waited.
class AwaitedState {
 public:
  constexpr explicit AwaitedState(int state) : state_(state) {}
  AwaitedState(const AwaitedState&) = delete;
  AwaitedState& operator=(const AwaitedState&) = delete;

  // What was done before happens before the wait ends. Sequentially consistent: the look for a
  // sleeper that follows must not come before the store, or both might miss each other.
  void Set(int state) {
    state_.store(state, std::memory_order_seq_cst);
    state_.notify_one();  // uses no more than the address
  }
  // Returns the first state found that is not `from`. A wait that takes long for certain sleeps
  // soon.
  int AwaitChange(int from, bool takes_long);

 private:
  std::atomic<int> state_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_WRITE_AWAITED_STATE_H_
