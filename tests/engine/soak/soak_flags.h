// The command line of the program behind `tools/dev soak`, whose --help explains it.
#ifndef WINNOW_TESTS_ENGINE_SOAK_SOAK_FLAGS_H_
#define WINNOW_TESTS_ENGINE_SOAK_SOAK_FLAGS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/engine/soak/many_files.h"
#include "tests/engine/soak/memory_bound.h"

namespace winnow::soak {

struct Flags {
  uint64_t minutes = 5;
  uint64_t seed = 1;
  bool limits_alone = false;
  bool planted = false;
  // Where either of these is asked for, nothing else runs.
  std::vector<MemoryCell> memory_cells;
  std::vector<FilesCell> files_cells;
};

// InvalidArgument: what cannot be read, or does not fit what else is said.
absl::StatusOr<Flags> ParseFlags(std::span<const std::string_view> words);

}  // namespace winnow::soak

#endif  // WINNOW_TESTS_ENGINE_SOAK_SOAK_FLAGS_H_
