// Every history of a few operations on one key or two, against a list of the values they had: what
// random logs leave out because it is rare in their generator.
#ifndef WINNOW_TESTS_ENGINE_METAMORPHIC_SHORT_HISTORIES_H_
#define WINNOW_TESTS_ENGINE_METAMORPHIC_SHORT_HISTORIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "winnow/options.h"

namespace winnow::metamorphic {

struct ShortHistoriesReport {
  uint64_t histories = 0;
  uint64_t reads = 0;                 // comparisons with the model
  std::vector<std::string> problems;  // each names its history; at most ten
};

struct ShortHistoriesChoice {
  int length = 5;
  // Or 2, neighbours: each write is of one of them, a range deletion from the first one of both.
  size_t num_keys = 1;
  // Writes may also be merges, by append:.
  bool merges = false;
  // Which of several snapshots a release gives back.
  bool releases_newest = false;
  // Makes the model wrong about deletions after a flush, to show that disagreement is noticed.
  bool wrong_model = false;
};

// Runs all histories of exactly `length` operations from {put, delete, delete range, merge,
// snapshot, release, flush, compact, reopen}, in memory; shorter ones are their beginnings. After
// each operation the keys are read in every way, at present and at each snapshot.
// `options.file_system` is replaced.
ShortHistoriesReport RunShortHistories(Options options, const ShortHistoriesChoice& choice);

}  // namespace winnow::metamorphic

#endif  // WINNOW_TESTS_ENGINE_METAMORPHIC_SHORT_HISTORIES_H_
