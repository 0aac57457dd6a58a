// Runs a piece of work in a process of its own, so that its memory and threads are its own.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_CHILD_H_
#define WINNOW_TOOLS_WINNOW_BENCH_CHILD_H_

#include <functional>

#include "absl/status/status.h"
#include "tools/winnow_bench/result.h"

namespace winnow::bench {

using ResultSink = std::function<void(const BenchmarkResult&)>;

// From here on an interrupt (SIGINT, SIGTERM) ends the child of RunInChild and lets this process
// go on to report what it has.
void KeepResultsOnInterrupt();

// Forks; `work` runs in the child, which hands its results through a pipe to `sink` in this
// process. Must be called while this process has one thread. Returns the status of `work`;
// Cancelled after an interrupt; Internal if the child crashed.
absl::Status RunInChild(const std::function<absl::Status(const ResultSink&)>& work,
                        const ResultSink& sink);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_CHILD_H_
