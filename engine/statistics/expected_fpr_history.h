// What the filters of a level promise, kept for levels whose files are gone: look-ups that they
// answered stay in the statistics.
#ifndef WINNOW_ENGINE_STATISTICS_EXPECTED_FPR_HISTORY_H_
#define WINNOW_ENGINE_STATISTICS_EXPECTED_FPR_HISTORY_H_

#include <cstddef>
#include <map>
#include <utility>

#include "engine/version/version.h"

namespace winnow {

// Not synchronised.
class ExpectedFprHistory {
 public:
  // To be called with a version before its files are replaced.
  void Remember(const Version& version);

  // The false-positive rate that theory gives for what is in memory of the filters of one kind on
  // one level, weighted by entries: of the version's files or, if it has none there, of the last
  // version remembered that had. NaN if none had.
  double Of(const Version& version, int level, size_t kind) const;

 private:
  std::map<std::pair<int, size_t>, double> last_;  // by level and kind
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_STATISTICS_EXPECTED_FPR_HISTORY_H_
