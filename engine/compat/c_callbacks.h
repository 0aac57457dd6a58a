// Comparators, filter policies, compaction filters, clocks and event listeners whose work C
// functions do.
#ifndef WINNOW_ENGINE_COMPAT_C_CALLBACKS_H_
#define WINNOW_ENGINE_COMPAT_C_CALLBACKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "winnow/clock.h"
#include "winnow/compaction_filter.h"
#include "winnow/comparator.h"
#include "winnow/event_listener.h"
#include "winnow/filter_policy.h"

namespace winnow {

// Calls a C destructor with its state at the end of its life.
class CallbackState {
 public:
  CallbackState(void* state, void (*destructor)(void*)) : state_(state), destructor_(destructor) {}
  ~CallbackState() {
    if (destructor_ != nullptr) destructor_(state_);
  }
  CallbackState(const CallbackState&) = delete;
  CallbackState& operator=(const CallbackState&) = delete;
  void* get() const { return state_; }

 private:
  void* const state_;
  void (*const destructor_)(void*);
};

class CallbackComparator final : public Comparator {
 public:
  using CompareFunction = int (*)(void*, const char*, size_t, const char*, size_t);

  // What throws std::bad_alloc has not called `destructor`; so has CallbackFilterPolicy's.
  CallbackComparator(void* state, void (*destructor)(void*), CompareFunction compare,
                     std::string name);
  // The same order, with the promise that equal keys have equal bytes.
  static std::shared_ptr<const CallbackComparator> WithPromise(
      const std::shared_ptr<const CallbackComparator>& comparator);

  std::string_view Name() const override { return name_; }
  int Compare(std::string_view a, std::string_view b) const override;
  bool EqualKeysHaveEqualBytes() const override { return equal_keys_have_equal_bytes_; }
  void set_equal_keys_have_equal_bytes(bool value) { equal_keys_have_equal_bytes_ = value; }

 private:
  CallbackComparator(const CallbackComparator& other) = default;

  std::shared_ptr<const CallbackState> state_;
  CompareFunction compare_;
  std::string name_;
  bool equal_keys_have_equal_bytes_ = false;
};

class CallbackFilterPolicy final : public FilterPolicy {
 public:
  using CreateFunction = char* (*)(void*, const char* const*, const size_t*, int, size_t*);
  using MatchFunction = uint8_t (*)(void*, const char*, size_t, const char*, size_t);

  CallbackFilterPolicy(void* state, void (*destructor)(void*), CreateFunction create,
                       MatchFunction match, std::string name);

  std::string_view Name() const override { return name_; }
  void CreateFilter(std::span<const std::string_view> keys, std::string* filter) const override;
  bool KeyMayMatch(std::string_view key, std::string_view filter) const override;

 private:
  const CallbackState state_;
  const CreateFunction create_;
  const MatchFunction match_;
  const std::string name_;
};

class CallbackCompactionFilter final : public CompactionFilter {
 public:
  using FilterFunction = int (*)(void*, const char*, size_t, int, uint8_t, const char*, size_t,
                                 const char*, size_t, char**, size_t*);

  CallbackCompactionFilter(void* state, void (*destructor)(void*), FilterFunction filter)
      : state_(state, destructor), filter_(filter) {}

  Decision Filter(const Entry& entry, std::string* new_value) const override;

 private:
  const CallbackState state_;
  const FilterFunction filter_;
};

class CallbackClock final : public Clock {
 public:
  using NowFunction = uint64_t (*)(void*);

  CallbackClock(void* state, void (*destructor)(void*), NowFunction now_micros)
      : state_(state, destructor), now_micros_(now_micros) {}

  uint64_t NowMicros() const override { return now_micros_(state_.get()); }

 private:
  const CallbackState state_;
  const NowFunction now_micros_;
};

class CallbackEventListener final : public EventListener {
 public:
  using EventFunction = void (*)(void*, const char*, const char*, const char*);

  CallbackEventListener(void* state, void (*destructor)(void*), EventFunction on_event)
      : state_(state, destructor), on_event_(on_event) {}

  void OnEvent(const Event& event) override;

 private:
  const CallbackState state_;
  const EventFunction on_event_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPAT_C_CALLBACKS_H_
