// Histories of a table against the model: any rules, deletes of every kind, ties, clocks that jump,
// snapshots, altered rules, flushes, compactions and openings in between change no answer. What
// differs is a failure of googletest's.
#ifndef WINNOW_TESTS_ENGINE_TABLE_TABLE_HISTORIES_H_
#define WINNOW_TESTS_ENGINE_TABLE_TABLE_HISTORIES_H_

#include <cstdint>

namespace winnow {

void RunRandomHistory(uint64_t seed, int num_steps);

// Every history of so many writes to one column, with three timestamps: each in a row of its own.
// Gives their number.
uint64_t RunShortHistories(uint32_t max_versions, int length);

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_TABLE_TABLE_HISTORIES_H_
