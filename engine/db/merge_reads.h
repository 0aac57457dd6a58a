// Values that are made of merge operands.
#ifndef WINNOW_ENGINE_DB_MERGE_READS_H_
#define WINNOW_ENGINE_DB_MERGE_READS_H_

#include <string>

#include "absl/status/status.h"
#include "engine/column_family/read_view.h"
#include "engine/statistics/recorder.h"
#include "engine/version/version.h"

namespace winnow {

// Of a key whose newest version that key.snapshot includes is an operand: what its operator makes
// of it and of the versions before it. `in_tables`: Version::Get found that version, and it is not
// in the memtables. FailedPrecondition: the operator makes no value.
absl::Status ReadMergedValue(const ReadView& view, const LookupKey& key,
                             const LookupContext& context, bool in_tables, ThreadCounters& counters,
                             std::string* value);

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_MERGE_READS_H_
