// What is wrong with a table, or with its filter file.
#ifndef WINNOW_ENGINE_SSTABLE_SSTABLE_PROBLEM_H_
#define WINNOW_ENGINE_SSTABLE_SSTABLE_PROBLEM_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace winnow {

// One problem that SstableReader::Verify or FilterFile::Verify found.
struct SstableProblem {
  uint64_t offset = 0;
  std::string reason;
  bool is_damage = true;  // false: there was no memory or no descriptor to look

  // "PATH: at offset N: REASON"; DataLoss, or ResourceExhausted if it is no damage.
  absl::Status ToStatus(std::string_view path) const;
};

inline bool HasDamage(const std::vector<SstableProblem>& problems) {
  return std::any_of(problems.begin(), problems.end(),
                     [](const SstableProblem& problem) { return problem.is_damage; });
}

// The same problem: the reason is that of `status`, without "PATH: at offset N: " before it.
SstableProblem ProblemOf(std::string_view path, uint64_t offset, const absl::Status& status);

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SSTABLE_PROBLEM_H_
