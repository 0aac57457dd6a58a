#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// Never freed: threads may still run while the program's statics are destroyed.
const absl::Status& Make() {
  static const auto& status =
      *new absl::Status(absl::StatusCode::kResourceExhausted, "out of memory");
  return status;
}

// Asked for once before anybody can be short of memory.
[[maybe_unused]] const absl::Status& made_at_start = Make();

}  // namespace

const absl::Status& OutOfMemory() { return Make(); }

}  // namespace winnow
