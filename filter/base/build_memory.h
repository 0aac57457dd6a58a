// Memory for building filters. Internal.
//
// Fresh memory costs a page fault for each 4 KiB, which is more than building does with it. So
// pieces of medium size are kept for the next filter, and large ones lie on huge pages where the
// system grants them.

#ifndef WINNOW_FILTER_BASE_BUILD_MEMORY_H_
#define WINNOW_FILTER_BASE_BUILD_MEMORY_H_

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace winnow::filter::internal {

// The most that a process keeps of memory which no builder uses.
inline constexpr size_t kMaxSpareBytes = size_t{8} << 20;

// Thread-safe. The memory is not initialised. Throws std::bad_alloc, as operator new does.
void* TakeBuildMemory(size_t bytes);
// `bytes` as when it was taken.
void ReturnBuildMemory(void* memory, size_t bytes);

// For containers of builders. Elements of trivial types that a container would set to zero are left
// as they are: they are written before they are read.
template <typename T>
class BuildAllocator {
 public:
  using value_type = T;

  BuildAllocator() = default;
  template <typename U>
  explicit(false) BuildAllocator(const BuildAllocator<U>& /*other*/) {}

  T* allocate(size_t count) { return static_cast<T*>(TakeBuildMemory(count * sizeof(T))); }
  void deallocate(T* memory, size_t count) { ReturnBuildMemory(memory, count * sizeof(T)); }

  template <typename U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <typename U, typename... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }

  bool operator==(const BuildAllocator& /*other*/) const { return true; }
};

template <typename T>
using BuildVector = std::vector<T, BuildAllocator<T>>;

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_BASE_BUILD_MEMORY_H_
