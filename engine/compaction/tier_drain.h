// What goes down into the last level together, with lazy leveling.
#ifndef WINNOW_ENGINE_COMPACTION_TIER_DRAIN_H_
#define WINNOW_ENGINE_COMPACTION_TIER_DRAIN_H_

#include "absl/base/thread_annotations.h"
#include "engine/base/capabilities.h"
#include "engine/compaction/compaction.h"
#include "winnow/options.h"

namespace winnow {

// `compaction` takes one file of the level above the last into the last. Adds what lies over it in
// the runs above, from below as far up as they are idle, and then neighbours, while all inputs
// together stay within 25 files of the target size: that part of the last level is written once for
// all of them.
//
// A file goes whole, or an operand in it would be merged twice: so the range grows until no file of
// the runs that take part lies across its ends. That is soon, for the files of a run end where
// files of the run below it do (SstableOutputOptions::next_run). If a run makes it too much, that
// run and those above it stay.
void WidenDrain(const ColumnFamilyOptions& options, Compaction* compaction)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_TIER_DRAIN_H_
