// Compares what a repair makes of mixed-up files with the best that any reader could rescue.
#ifndef WINNOW_TESTS_ENGINE_RECOVERY_ORACLE_RECOVERY_ORACLE_H_
#define WINNOW_TESTS_ENGINE_RECOVERY_ORACLE_RECOVERY_ORACLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/recovery_oracle/file_mixup.h"

namespace winnow {

// What must hold of the files that a repair has made of any others:
//
// 1. It opens, is verified as sound, takes writes, and a second repair finds nothing.
// 2. The newest entry of a key is there if the bytes that hold it are: a data block of some table,
//    where it was or as far from there as the table's end is, and whose identity stands in that
//    table's footer or in a manifest that nobody touched; one that is where it was behind its
//    table's header; a record of a log that says which one it is, under whatever name, or under its
//    own name where it cannot say. Where tables alone were touched, also if it is in a table and in
//    a log that another family has kept.
// 3. No key has a value that it never had. A key that was deleted stays so if no table and no log
//    of the last state was touched and no older file came back.
// 4. Every file that was there is still there, perhaps in lost/.
// 5. "0 lost" is said only if every key is right, or what is gone is the end of the logs, of which
//    nothing tells.
class RecoveryOracle {
 public:
  explicit RecoveryOracle(uint64_t seed)
      : RecoveryOracle(BuildAgedDatabase(seed), BuildAgedDatabase(seed + 1'000'000)) {}
  // `other` is where foreign files come from.
  RecoveryOracle(AgedDatabase database, AgedDatabase other);

  // Empty if all is as it must be; else what is wrong, and what was done to the files.
  std::string WhyWrong(const std::vector<Mixup>& mixups, uint64_t seed) const;

 private:
  const AgedDatabase database_;
  const AgedDatabase other_;
  const std::vector<Holder> holders_;
};

// One to three mixups, and the seed of their details.
std::vector<Mixup> RandomMixups(uint64_t seed);

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_RECOVERY_ORACLE_RECOVERY_ORACLE_H_
