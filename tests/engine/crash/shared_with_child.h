// What a test and the process that it kills both see, so that the kill comes at a moment of the
// work, however slowly the process gets there.
#ifndef WINNOW_TESTS_ENGINE_CRASH_SHARED_WITH_CHILD_H_
#define WINNOW_TESTS_ENGINE_CRASH_SHARED_WITH_CHILD_H_

#include <sys/mman.h>

#include <chrono>
#include <new>
#include <thread>

namespace winnow {

// A T, made before the fork and destroyed in neither process.
template <typename T>
class SharedWithChild {
 public:
  SharedWithChild()
      : memory_(
            mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    value_ = new (memory_) T();
  }
  SharedWithChild(const SharedWithChild&) = delete;
  SharedWithChild& operator=(const SharedWithChild&) = delete;
  ~SharedWithChild() { munmap(memory_, sizeof(T)); }

  T* get() const { return value_; }
  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  void* const memory_;
  T* value_ = nullptr;
};

// Until `has_come` says so, for a minute at most: who waits checks what came of it.
template <typename HasCome>
void WaitForChild(const HasCome& has_come) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!has_come() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_CRASH_SHARED_WITH_CHILD_H_
