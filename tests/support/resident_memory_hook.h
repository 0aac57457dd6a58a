// Watches the memory of filters, indexes and hash tables from outside: the linker sends the
// program's calls of the constructor and destructor of filter::ResidentMemory here first.
#ifndef WINNOW_TESTS_SUPPORT_RESIDENT_MEMORY_HOOK_H_
#define WINNOW_TESTS_SUPPORT_RESIDENT_MEMORY_HOOK_H_

#include <cstddef>

namespace winnow {

// Bytes of the pieces that are held now, of at least kWatchedBytes each: smaller ones are not
// watched.
inline constexpr size_t kWatchedBytes = 1024;
size_t HeldResidentMemory();

// The most that this was since the last reset, which begins with what is held now; and the largest
// piece that was made since then.
size_t MostHeldResidentMemory();
size_t LargestResidentMemory();
void ResetMostHeldResidentMemory();

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_RESIDENT_MEMORY_HOOK_H_
