// The load of one cell, in the process that it may use up.
#ifndef WINNOW_TESTS_ENGINE_SOAK_LIMITS_LOAD_H_
#define WINNOW_TESTS_ENGINE_SOAK_LIMITS_LOAD_H_

#include <string>

#include "tests/engine/soak/limits.h"

namespace winnow::soak {

// Lowers this process's limits while it writes and reads, and judges what was used and given back.
CellReport RunLoad(const Cell& cell, const std::string& directory);

}  // namespace winnow::soak

#endif  // WINNOW_TESTS_ENGINE_SOAK_LIMITS_LOAD_H_
