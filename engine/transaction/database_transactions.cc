#include "engine/transaction/database_transactions.h"

#include "engine/base/database_closed.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

void DatabaseTransactions::Close() {
  // In this order: whoever is woken, or comes later, finds the database closed and does not wait
  // again.
  closed_.store(true, std::memory_order_release);
  locks_.Close();
}

absl::Status DatabaseTransactions::CheckUsable() const {
  if (IsUsable()) [[likely]]
    return absl::OkStatus();
  return CatchOutOfMemory([this] {
    if (process_.IsThisOne()) return DatabaseClosedError();
    return absl::FailedPreconditionError(
        "the database belongs to the process that opened it, and this is a child made by fork");
  });
}

}  // namespace winnow
