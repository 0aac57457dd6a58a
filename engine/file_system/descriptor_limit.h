// How many files this process may have open.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_DESCRIPTOR_LIMIT_H_
#define WINNOW_ENGINE_FILE_SYSTEM_DESCRIPTOR_LIMIT_H_

#include <cstdint>

namespace winnow {

// The soft limit as it is now; a number that no process reaches if there is none.
uint64_t DescriptorLimit();

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_DESCRIPTOR_LIMIT_H_
