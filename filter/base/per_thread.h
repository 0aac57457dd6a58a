// An object for each thread, made when the thread first asks for it and destroyed when it ends.
//
// Not a thread_local with a destructor: where there is no memory to register that, the C library
// ends the process, while here the thread is told.
#ifndef WINNOW_FILTER_BASE_PER_THREAD_H_
#define WINNOW_FILTER_BASE_PER_THREAD_H_

#include <new>

namespace winnow {

// What a thread that ends has to destroy.
class AtThreadEnd {
 public:
  // From now on the calling thread destroys `at_end`, which was made with new, when it ends.
  // Objects go in the opposite order to that in which they came. False: there is no memory for it.
  static bool Add(AtThreadEnd* at_end) noexcept;

 protected:
  AtThreadEnd() = default;
  virtual ~AtThreadEnd() = default;

 private:
  friend struct ThreadEndKey;
  AtThreadEnd* next_ = nullptr;
};

// One T for each thread, whoever asks: T is a type of its own for each purpose.
template <typename T>
class PerThread {
 public:
  // Throws std::bad_alloc if there is no memory for it.
  static T& Get() {
    if (object_ == nullptr) [[unlikely]] {
      auto* const owner = new Owner;
      if (!AtThreadEnd::Add(owner)) {
        delete owner;
        throw std::bad_alloc();
      }
      object_ = &owner->object;
    }
    return *object_;
  }
  // Null if there is no memory for it.
  static T* GetOrNull() noexcept {
    try {
      return &Get();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

 private:
  struct Owner final : AtThreadEnd {
    ~Owner() override { object_ = nullptr; }
    T object;
  };

  static inline constinit thread_local T* object_ = nullptr;
};

}  // namespace winnow

#endif  // WINNOW_FILTER_BASE_PER_THREAD_H_
