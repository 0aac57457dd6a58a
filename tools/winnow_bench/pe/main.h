// winnow_bench pe.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_PE_MAIN_H_
#define WINNOW_TOOLS_WINNOW_BENCH_PE_MAIN_H_

#include <span>
#include <string>

namespace winnow::bench::pe {

// Runs what the words behind `pe` say, prints and reports. Gives the program's exit code: 2 for
// words that are wrong, 1 for a run that failed.
int PeMain(std::span<const std::string> words);

}  // namespace winnow::bench::pe

#endif  // WINNOW_TOOLS_WINNOW_BENCH_PE_MAIN_H_
