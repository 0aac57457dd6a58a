#include "tests/support/allocation_hook.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <utility>

// The linker sends the program's calls of malloc to __wrap_malloc, and that of __real_malloc to the
// C library or a sanitizer; and so for the others.
extern "C" {
void* __real_malloc(size_t bytes);
void* __wrap_malloc(size_t bytes);
void* __real_mmap(void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset);
void* __wrap_mmap(void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset);
int __real_munmap(void* at, size_t bytes);
int __wrap_munmap(void* at, size_t bytes);
}

namespace winnow {
namespace {

// Plain numbers that need no construction: requests are made before main and after it.
std::atomic<size_t> largest{0};
std::atomic<size_t> allocated{0};
std::atomic<size_t> held{0};  // those, and anonymous pages
std::atomic<size_t> most_held{0};
std::atomic<bool> counting{false};
std::atomic<size_t> min_bytes{0};
std::atomic<bool> count_nothrow{false};
std::atomic<bool> count_throwing{false};
std::atomic<uint64_t> counted{0};
std::atomic<uint64_t> failed_count{0};
std::atomic<uint64_t> first_to_fail{UINT64_MAX};
std::atomic<bool> fails_for_ever{false};
std::atomic<uint32_t> fails_one_in{0};  // 0: not by chance
thread_local bool may_fail = true;
thread_local uint64_t random_state = 0;

// Another sequence for each thread: a step of splitmix64 on a state that begins with its address.
uint64_t NextRandom() {
  if (random_state == 0) random_state = reinterpret_cast<uintptr_t>(&random_state);
  uint64_t mixed = random_state += 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

bool MustFail(size_t bytes, bool is_nothrow) {
  if (!counting.load(std::memory_order_relaxed) || !may_fail) return false;
  if (bytes < min_bytes.load()) return false;
  if (!(is_nothrow ? count_nothrow : count_throwing).load()) return false;
  const uint64_t number = counted++;
  if (const uint32_t one_in = fails_one_in.load(); one_in > 0) {
    if (NextRandom() % one_in != 0) return false;
    failed_count++;
    return true;
  }
  const uint64_t first = first_to_fail.load();
  if (number < first || (number > first && !fails_for_ever.load())) return false;
  failed_count++;
  return true;
}

void Raise(std::atomic<size_t>* most, size_t to) {
  size_t seen = most->load(std::memory_order_relaxed);
  while (to > seen && !most->compare_exchange_weak(seen, to)) {
  }
}

void Hold(size_t bytes) {
  Raise(&most_held, held.fetch_add(bytes, std::memory_order_relaxed) + bytes);
}

// Which pages are anonymous, since munmap is told of others too, and of parts.
class AnonymousPages {
 public:
  // Never destroyed: pages come and go after main.
  static AnonymousPages& OfProcess() {
    static AnonymousPages& pages = *new AnonymousPages();
    return pages;
  }

  void Add(void* at, size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto begin = reinterpret_cast<uintptr_t>(at);
    pages_[begin] = begin + bytes;
    Hold(bytes);
  }
  void Remove(void* at, size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto begin = reinterpret_cast<uintptr_t>(at);
    const uintptr_t end = begin + bytes;
    auto next = pages_.upper_bound(begin);
    if (next != pages_.begin()) --next;
    while (next != pages_.end() && next->first < end) {
      const auto [first, last] = *next;
      if (last <= begin) {
        ++next;
        continue;
      }
      next = pages_.erase(next);
      if (first < begin) pages_[first] = begin;
      if (last > end) pages_[end] = last;
      held.fetch_sub(std::min(last, end) - std::max(first, begin), std::memory_order_relaxed);
    }
  }

 private:
  // std::mutex, since Mutex may allocate: guards `pages_`.
  std::mutex mutex_;
  std::map<uintptr_t, uintptr_t> pages_;  // begin and end
};

void* Allocate(size_t bytes, size_t alignment, bool is_nothrow) {
  Raise(&largest, bytes);
  if (MustFail(bytes, is_nothrow)) return nullptr;
  if (bytes == 0) bytes = 1;
  if (alignment <= alignof(std::max_align_t)) return __real_malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* Give(size_t bytes, size_t alignment, bool is_nothrow) {
  void* const memory = Allocate(bytes, alignment, is_nothrow);
  if (memory == nullptr) return nullptr;
  const size_t usable_bytes = malloc_usable_size(memory);
  allocated.fetch_add(usable_bytes, std::memory_order_relaxed);
  Hold(usable_bytes);
  return memory;
}

void* GiveOrThrow(size_t bytes, size_t alignment) {
  void* const memory = Give(bytes, alignment, false);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void TakeBack(void* memory) {
  if (memory == nullptr) return;
  const size_t usable_bytes = malloc_usable_size(memory);
  allocated.fetch_sub(usable_bytes, std::memory_order_relaxed);
  held.fetch_sub(usable_bytes, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

size_t LargestAllocation() { return largest.load(); }

void ResetLargestAllocation() { largest = 0; }

size_t AllocatedBytes() { return allocated.load(); }

size_t HeldBytes() { return held.load(); }

size_t MostHeldBytes() { return most_held.load(); }

void ResetMostHeldBytes() { most_held = held.load(); }

void CountAllocations(const AllocationsToCount& which, uint64_t fails, bool for_ever) {
  min_bytes = which.min_bytes;
  count_nothrow = which.nothrow;
  count_throwing = which.throwing;
  counted = failed_count = 0;
  first_to_fail = fails;
  fails_for_ever = for_ever;
  fails_one_in = 0;
  counting = true;
}

void FailAllocationsByChance(const AllocationsToCount& which, uint32_t one_in) {
  CountAllocations(which, UINT64_MAX, /*for_ever=*/false);
  fails_one_in = one_in;
}

AllocationsOfThisThread::AllocationsOfThisThread(bool may_fail)
    : before_(std::exchange(winnow::may_fail, may_fail)) {}
AllocationsOfThisThread::~AllocationsOfThisThread() { winnow::may_fail = before_; }

void ResumeCountingAllocations() { counting = true; }

uint64_t StopCountingAllocations(uint64_t* failed) {
  counting = false;
  *failed = failed_count.load();
  return counted.load();
}

}  // namespace winnow

void* __wrap_malloc(size_t bytes) { return winnow::Allocate(bytes, 1, true); }
// What the list of pages takes is the test's own, and may not be refused.
void* __wrap_mmap(void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  void* const pages = __real_mmap(at, bytes, protection, flags, descriptor, offset);
  if (pages == MAP_FAILED || (flags & MAP_ANONYMOUS) == 0) return pages;
  const winnow::AllocationsOfThisThread own(false);
  winnow::AnonymousPages::OfProcess().Add(pages, bytes);
  return pages;
}
int __wrap_munmap(void* at, size_t bytes) {
  {
    const winnow::AllocationsOfThisThread own(false);
    winnow::AnonymousPages::OfProcess().Remove(at, bytes);
  }
  return __real_munmap(at, bytes);
}
void* operator new(size_t bytes) { return winnow::GiveOrThrow(bytes, 1); }
void* operator new[](size_t bytes) { return winnow::GiveOrThrow(bytes, 1); }
void* operator new(size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return winnow::Give(bytes, 1, true);
}
void* operator new[](size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return winnow::Give(bytes, 1, true);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return winnow::GiveOrThrow(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return winnow::GiveOrThrow(bytes, static_cast<size_t>(alignment));
}
void* operator new(size_t bytes, std::align_val_t alignment,
                   const std::nothrow_t& /*tag*/) noexcept {
  return winnow::Give(bytes, static_cast<size_t>(alignment), true);
}
void* operator new[](size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t& /*tag*/) noexcept {
  return winnow::Give(bytes, static_cast<size_t>(alignment), true);
}
void operator delete(void* memory) noexcept { winnow::TakeBack(memory); }
void operator delete[](void* memory) noexcept { winnow::TakeBack(memory); }
void operator delete(void* memory, size_t /*bytes*/) noexcept { winnow::TakeBack(memory); }
void operator delete[](void* memory, size_t /*bytes*/) noexcept { winnow::TakeBack(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  winnow::TakeBack(memory);
}
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept {
  winnow::TakeBack(memory);
}
void operator delete(void* memory, size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  winnow::TakeBack(memory);
}
void operator delete[](void* memory, size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  winnow::TakeBack(memory);
}
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept {
  winnow::TakeBack(memory);
}
void operator delete[](void* memory, const std::nothrow_t& /*tag*/) noexcept {
  winnow::TakeBack(memory);
}
