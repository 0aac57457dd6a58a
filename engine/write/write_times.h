// Gives the values of a batch their write times.
#ifndef WINNOW_ENGINE_WRITE_WRITE_TIMES_H_
#define WINNOW_ENGINE_WRITE_WRITE_TIMES_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "winnow/write_batch.h"

namespace winnow {

// A copy of `batch` in which every value that goes to a family with a time to live, and has no
// write time yet, has been written at `now`. Values that have one were written before, and are
// being replayed. A batch whose bytes are none comes back as it is, for the leader to refuse.
WriteBatch WithWriteTimes(const WriteBatch& batch,
                          absl::FunctionRef<bool(uint32_t family_id)> has_ttl, uint64_t now);

}  // namespace winnow

#endif  // WINNOW_ENGINE_WRITE_WRITE_TIMES_H_
