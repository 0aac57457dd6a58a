#include "filter/base/per_thread.h"

#include <pthread.h>

#include <utility>

namespace winnow {

// One key of the C library for all objects: a process has a thousand or so of them.
struct ThreadEndKey {
  // A library that is unloaded takes its code with it: threads that end later must not call it.
  // What they had is left where it is.
  ~ThreadEndKey() {
    if (is_made) pthread_key_delete(key);
  }

  static void DestroyAll(void* /*value*/) {
    // An object that is destroyed may ask for another, which comes to the front.
    while (AtThreadEnd* const last = newest) {
      newest = last->next_;
      delete last;
    }
  }

  // Looked at by the key's value too, which only says that there are any.
  bool Register(AtThreadEnd* at_end) noexcept {
    if (!is_made || pthread_setspecific(key, &key) != 0) return false;
    at_end->next_ = std::exchange(newest, at_end);
    return true;
  }

  static constinit thread_local AtThreadEnd* newest;
  pthread_key_t key = 0;
  const bool is_made = pthread_key_create(&key, &ThreadEndKey::DestroyAll) == 0;
};

constinit thread_local AtThreadEnd* ThreadEndKey::newest = nullptr;

bool AtThreadEnd::Add(AtThreadEnd* at_end) noexcept {
  // Made by the first thread that asks; without a key every Add is refused, and the caller told.
  static ThreadEndKey key;
  return key.Register(at_end);
}

}  // namespace winnow
