// Whether a database with a damaged file gives right answers or clear errors, and nothing else.
#ifndef WINNOW_TESTS_ENGINE_CORRUPTION_CORRUPTION_CHECK_H_
#define WINNOW_TESTS_ENGINE_CORRUPTION_CORRUPTION_CHECK_H_

#include <array>
#include <string>
#include <vector>

#include "tests/engine/corruption/corruption_plan.h"

namespace winnow {

enum class CorruptionOutcome {
  kHarmless,        // every answer right, nothing lost, nothing to tell
  kFilterDegraded,  // the same, with the counter of damaged filters raised
  kErrors,          // some answers are clear errors, all others right
  kRefused,         // does not open, and says why
  kLossReported,    // writes of the log are missing as the recovery mode says, and that is told
  kTornTail,        // the same untold: damage to the end of an unclosed log looks like a torn write
  kWrong,           // anything else
};
inline constexpr size_t kNumCorruptionOutcomes = 7;

struct CorruptionVerdict {
  CorruptionOutcome outcome = CorruptionOutcome::kHarmless;
  std::string part;  // the FilePart's name
  std::string why;   // kWrong
};

// A database and how to judge what is left of it. Thread-safe.
class CorruptionCheck {
 public:
  explicit CorruptionCheck(DatabaseEnd end);
  // For a database that has ended so.
  CorruptionCheck(DatabaseEnd end, DamageDatabase database);

  // A column family for each filter kind and one without.
  static DamageDatabase BuildDatabase(DatabaseEnd end);

  const Files& files() const { return database_.files; }
  const FileParts& parts() const { return parts_; }

  // Opens the damaged database and reads everything by Get, MultiGet, Exists, MayExist and
  // iterator, and verifies. With `thorough`, damaged tables are also compacted, and read again
  // after that.
  CorruptionVerdict Check(const Corruption& corruption, RecoveryMode mode, bool thorough) const;

 private:
  struct Question;  // one Check

  CorruptionVerdict CheckLog(const Question& question, DB& db) const;
  CorruptionVerdict CheckAnswers(const Question& question, DB& db, bool thorough) const;
  // Salvage of a manifest that lost its end: there are notes, and no table is gone from the disk.
  bool WasToldAndKept(const Question& question, DB& db) const;
  std::string WhyLossIsWrong(const Question& question, const std::vector<size_t>& lost,
                             const std::string& recovery) const;
  // Of filters what is not read when their table is opened.
  bool ChangesFramesAlone(const Question& question) const;
  bool Overlaps(const Question& question, size_t batch) const;
  const FilePart& PartAt(const std::string& file, uint64_t offset) const;

  const DatabaseEnd end_;
  const DamageDatabase database_;
  const FileParts parts_;
  const std::string log_;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_CORRUPTION_CORRUPTION_CHECK_H_
