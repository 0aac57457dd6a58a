#include "engine/compat/c_callbacks.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "engine/compat/c_handles.h"

namespace winnow {

namespace {

// The callback's malloc, given back with the free of the same C library.
struct FreeBytes {
  void operator()(char* bytes) const { std::free(bytes); }
};

}  // namespace

// The state is shared by all copies of a comparator, and its destructor runs once: when the handle
// has been given back and the last database that uses the order is closed, in either order. The
// name is asked for once and copied, so that the callback may return what does not last.
CallbackComparator::CallbackComparator(void* state, void (*destructor)(void*),
                                       CompareFunction compare, std::string name)
    : state_(std::make_shared<CallbackState>(state, destructor)),
      compare_(compare),
      name_(std::move(name)) {}

// A copy, since the promise belongs to one set of options: the same handle may serve a database
// that was opened without it.
std::shared_ptr<const CallbackComparator> CallbackComparator::WithPromise(
    const std::shared_ptr<const CallbackComparator>& comparator) {
  std::shared_ptr<CallbackComparator> promising(new CallbackComparator(*comparator));
  promising->set_equal_keys_have_equal_bytes(true);
  return promising;
}

// Called by every thread that reads or writes, and by background work, often at once.
int CallbackComparator::Compare(std::string_view a, std::string_view b) const {
  return compare_(state_->get(), a.data(), a.size(), b.data(), b.size());
}

CallbackFilterPolicy::CallbackFilterPolicy(void* state, void (*destructor)(void*),
                                           CreateFunction create, MatchFunction match,
                                           std::string name)
    : state_(state, destructor), create_(create), match_(match), name_(std::move(name)) {}

void CallbackFilterPolicy::CreateFilter(std::span<const std::string_view> keys,
                                        std::string* filter) const {
  // The callback counts keys by int, as LevelDB's does. Nothing appended means no filter, which is
  // slower and never wrong; a filter of some keys would hide the others.
  if (keys.size() > static_cast<size_t>(std::numeric_limits<int>::max())) return;
  std::vector<const char*> pointers;
  std::vector<size_t> lengths;
  pointers.reserve(keys.size());
  lengths.reserve(keys.size());
  for (const std::string_view key : keys) {
    pointers.push_back(key.data());
    lengths.push_back(key.size());
  }
  size_t length = 0;
  // Null is no filter.
  const std::unique_ptr<char, FreeBytes> bytes(create_(
      state_.get(), pointers.data(), lengths.data(), static_cast<int>(keys.size()), &length));
  if (bytes != nullptr) filter->append(bytes.get(), length);
}

bool CallbackFilterPolicy::KeyMayMatch(std::string_view key, std::string_view filter) const {
  // Every value but 0 is "may be there", the safe side.
  return match_(state_.get(), key.data(), key.size(), filter.data(), filter.size()) != 0;
}

}  // namespace winnow

using winnow::CallbackComparator;
using winnow::CallbackFilterPolicy;
using winnow::NullIfOutOfMemory;

// Here and below the handle is made first and what owns the state last: where there is no memory
// the state stays the caller's.
winnow_comparator_t* winnow_comparator_create(void* state, void (*destructor)(void*),
                                              int (*compare)(void*, const char*, size_t,
                                                             const char*, size_t),
                                              const char* (*name)(void*)) {
  return NullIfOutOfMemory([&] {
    auto handle = std::make_unique<winnow_comparator_t>();
    handle->comparator =
        std::make_shared<CallbackComparator>(state, destructor, compare, std::string(name(state)));
    return handle.release();
  });
}

void winnow_comparator_destroy(winnow_comparator_t* comparator) { delete comparator; }

void winnow_comparator_set_equal_keys_have_equal_bytes(winnow_comparator_t* comparator,
                                                       uint8_t value) {
  comparator->comparator->set_equal_keys_have_equal_bytes(value != 0);
}

winnow_filterpolicy_t* winnow_filterpolicy_create(
    void* state, void (*destructor)(void*),
    char* (*create_filter)(void*, const char* const*, const size_t*, int, size_t*),
    uint8_t (*key_may_match)(void*, const char*, size_t, const char*, size_t),
    const char* (*name)(void*)) {
  return NullIfOutOfMemory([&] {
    auto handle = std::make_unique<winnow_filterpolicy_t>();
    handle->callbacks = std::make_shared<const CallbackFilterPolicy>(
        state, destructor, create_filter, key_may_match, std::string(name(state)));
    return handle.release();
  });
}

void winnow_filterpolicy_destroy(winnow_filterpolicy_t* policy) { delete policy; }

// A name of Winnow's own filter and no callback: databases build and ask it without leaving C++.
// LevelDB's function cannot fail, so that numbers out of range are moved.
winnow_filterpolicy_t* winnow_filterpolicy_create_bloom(int bits_per_key) {
  constexpr int kMaxBitsPerKey = 64;
  return NullIfOutOfMemory([&] {
    auto handle = std::make_unique<winnow_filterpolicy_t>();
    handle->spec = "blocked_bloom:" + std::to_string(std::clamp(bits_per_key, 1, kMaxBitsPerKey));
    return handle.release();
  });
}
