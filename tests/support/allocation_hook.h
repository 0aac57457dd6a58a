// Replaces operator new and delete of the program that links it, and malloc, mmap and munmap where
// its own objects call them (not those of shared libraries): watches how much is asked for at once
// and held at a time, and fails chosen requests as a machine without memory does.
#ifndef WINNOW_TESTS_SUPPORT_ALLOCATION_HOOK_H_
#define WINNOW_TESTS_SUPPORT_ALLOCATION_HOOK_H_

#include <cstddef>
#include <cstdint>

namespace winnow {

// Bytes of the largest request since the last reset, by any thread.
size_t LargestAllocation();
void ResetLargestAllocation();

// Bytes that operator new has given and operator delete not taken back, by all threads.
size_t AllocatedBytes();

// The same with anonymous pages, which mmap has given and munmap not taken back; and the most that
// this was since the last reset, which begins with what is held now.
size_t HeldBytes();
size_t MostHeldBytes();
void ResetMostHeldBytes();

// Which requests count, from now on: those of at least `min_bytes` that are made with
// std::nothrow or malloc, or those made without, or both.
struct AllocationsToCount {
  size_t min_bytes = 1;
  bool nothrow = true;
  bool throwing = true;
};

// Of one in so many a request of that kind fails, by chance; 1: all do.
void FailAllocationsByChance(const AllocationsToCount& which, uint32_t one_in);

// Whether requests of the thread that made it may fail, and count, while it lives: those of a test
// itself must not.
class AllocationsOfThisThread {
 public:
  explicit AllocationsOfThisThread(bool may_fail);
  ~AllocationsOfThisThread();
  AllocationsOfThisThread(const AllocationsOfThisThread&) = delete;
  AllocationsOfThisThread& operator=(const AllocationsOfThisThread&) = delete;

 private:
  const bool before_;
};

// Starts counting from 0; the request with number `fails` and, if `for_ever`, all later ones fail:
// null or std::bad_alloc. UINT64_MAX: none.
void CountAllocations(const AllocationsToCount& which, uint64_t fails, bool for_ever);
// Stops, and returns how many were counted. `*failed` is how many of them failed.
uint64_t StopCountingAllocations(uint64_t* failed);
// Goes on where it stopped.
void ResumeCountingAllocations();

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_ALLOCATION_HOOK_H_
