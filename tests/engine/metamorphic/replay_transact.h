// Updates that take effect together: as a batch, as one that can be read, as a transaction.
#ifndef WINNOW_TESTS_ENGINE_METAMORPHIC_REPLAY_TRANSACT_H_
#define WINNOW_TESTS_ENGINE_METAMORPHIC_REPLAY_TRANSACT_H_

#include <array>
#include <string>

#include "tests/engine/metamorphic/operation.h"
#include "tests/engine/metamorphic/option_set.h"
#include "winnow/db.h"

namespace winnow::metamorphic {

// Makes the operation's updates, rolls those back that it does not keep, reads what that comes to,
// and writes it or gives it up. `families` by slot, null where there is none. Gives what was read,
// or what went wrong as the status.
absl::StatusOr<std::string> Transact(DB& db, const Operation& operation, OptionSet::Together how,
                                     const std::array<ColumnFamily*, kFamilySlots>& families,
                                     const WriteOptions& write, const ReadOptions& read);

}  // namespace winnow::metamorphic

#endif  // WINNOW_TESTS_ENGINE_METAMORPHIC_REPLAY_TRANSACT_H_
