// What the two stores on Winnow's engine share.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_PE_WINNOW_SETTINGS_H_
#define WINNOW_TOOLS_WINNOW_BENCH_PE_WINNOW_SETTINGS_H_

#include "absl/status/statusor.h"
#include "tools/winnow_bench/engine.h"
#include "tools/winnow_bench/pe/options.h"
#include "winnow/db.h"
#include "winnow/options.h"

namespace winnow::bench::pe {

absl::StatusOr<Options> WinnowOptionsOf(const PeOptions& options);
EngineCounters CountersOf(DB& db);

}  // namespace winnow::bench::pe

#endif  // WINNOW_TOOLS_WINNOW_BENCH_PE_WINNOW_SETTINGS_H_
