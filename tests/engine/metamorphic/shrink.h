// Makes a failing log short: delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating
// Failure-Inducing Input", IEEE Transactions on Software Engineering 2002), by taking pieces out.
#ifndef WINNOW_TESTS_ENGINE_METAMORPHIC_SHRINK_H_
#define WINNOW_TESTS_ENGINE_METAMORPHIC_SHRINK_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "tests/engine/metamorphic/operation.h"

namespace winnow::metamorphic {

// The index of the operation at which a log fails, nothing if it does not.
using FailsAt = std::function<std::optional<size_t>(const std::vector<Operation>&)>;

// A part of `log`, in its order, that still fails; no single operation, update of a batch or move
// of an iterator can be left out of it, unless `max_tries` ran out before. `log` itself must fail.
std::vector<Operation> Shrink(std::vector<Operation> log, const FailsAt& fails_at, int max_tries);

}  // namespace winnow::metamorphic

#endif  // WINNOW_TESTS_ENGINE_METAMORPHIC_SHRINK_H_
