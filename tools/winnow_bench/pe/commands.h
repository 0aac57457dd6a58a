// PerformanceEvaluation's commands.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_PE_COMMANDS_H_
#define WINNOW_TOOLS_WINNOW_BENCH_PE_COMMANDS_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace winnow::bench::pe {

enum class Action {
  kWrite,
  kRead,
  kScanOn,     // one scan, a row an operation
  kScanRange,  // a scan of `rows` rows at most an operation
  kFilterScan,
  kIncrement,
  kAppend,
  kCheckAndMutate,
  kCheckAndPut,
  kCheckAndDelete,
  kDelete,
};

struct PeCommand {
  std::string_view name;
  Action action;
  bool is_random = false;  // else rows in their order, each once
  bool is_reverse = false;
  uint64_t rows = 0;  // of a scan
  std::string_view description;

  bool writes_rows() const { return action == Action::kWrite || action == Action::kDelete; }
  // All clients run through the same rows, as in PerformanceEvaluation.
  bool shares_rows() const { return action >= Action::kIncrement && action < Action::kDelete; }
};

// In the order of --help.
std::span<const PeCommand> PeCommands();
// Null if there is none of this name.
const PeCommand* FindPeCommand(std::string_view name);

}  // namespace winnow::bench::pe

#endif  // WINNOW_TOOLS_WINNOW_BENCH_PE_COMMANDS_H_
