// Runs a log of operations on a database under one option set and keeps what it answered.
#ifndef WINNOW_TESTS_ENGINE_METAMORPHIC_REPLAY_H_
#define WINNOW_TESTS_ENGINE_METAMORPHIC_REPLAY_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tests/engine/metamorphic/operation.h"
#include "tests/engine/metamorphic/option_set.h"

namespace winnow::metamorphic {

// A mistake that a replay makes on purpose, to show that it is noticed.
enum class PlantedMistake {
  kNone,
  kLosesSomeDeletes,  // those of one key in sixteen
};

// One line for each operation. Lines that begin with kErrorMark tell of what must never happen.
inline constexpr char kErrorMark[] = "error: ";
std::vector<std::string> Replay(const std::vector<Operation>& log, const OptionSet& options,
                                const std::string& directory,
                                PlantedMistake mistake = PlantedMistake::kNone);

// Where replays of one log answer differently, or one of them reports an error.
struct Difference {
  size_t index;           // of the operation
  size_t option_sets[2];  // equal for an error
  std::string answers[2];
};
// Replays under each option set until one differs from the first. The first one makes no mistake,
// the others make `mistake`. `directory` is for those on disk, and is removed afterwards.
std::optional<Difference> FindDifference(const std::vector<Operation>& log,
                                         const std::vector<OptionSet>& option_sets,
                                         const std::string& directory,
                                         PlantedMistake mistake = PlantedMistake::kNone);

}  // namespace winnow::metamorphic

#endif  // WINNOW_TESTS_ENGINE_METAMORPHIC_REPLAY_H_
