// A power failure at every step of a table's life: schemas, batches and loads are there whole or
// not at all, and nothing is left over of tables that are not. What breaks is a failure of
// googletest's.
#ifndef WINNOW_TESTS_ENGINE_TABLE_TABLE_CRASH_STATES_H_
#define WINNOW_TESTS_ENGINE_TABLE_TABLE_CRASH_STATES_H_

#include <cstddef>
#include <cstdint>

namespace winnow {

struct TableCrashPlan {
  uint64_t seed = 1;
  // Random choices, at each operation, of what survived; more if it takes more for `min_states`.
  uint64_t num_random = 2;
  uint64_t min_states = 0;
  // While the database is created, only every so manieth operation.
  size_t creation_step = 1;
  // Every so manieth operation, from that one on.
  size_t num_parts = 1;
  size_t part = 0;
};

// Gives the number of states.
uint64_t CheckTableCrashStates(const TableCrashPlan& plan);

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_TABLE_TABLE_CRASH_STATES_H_
