#include "engine/sstable/sstable_problem.h"

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow {

// One text for both: only the code tells damage from a lack of means to look.
absl::Status SstableProblem::ToStatus(std::string_view path) const {
  const absl::Status damage = CorruptionError(path, offset, reason);
  return is_damage ? damage : absl::ResourceExhaustedError(damage.message());
}

SstableProblem ProblemOf(std::string_view path, uint64_t offset, const absl::Status& status) {
  std::string_view reason = ToStd(status.message());
  const std::string place = absl::StrCat(ToAbsl(path), ": at offset ", offset, ": ");
  if (reason.starts_with(place)) reason.remove_prefix(place.size());
  return {offset, std::string(reason), !absl::IsResourceExhausted(status)};
}

}  // namespace winnow
