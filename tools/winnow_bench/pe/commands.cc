#include "tools/winnow_bench/pe/commands.h"

namespace winnow::bench::pe {
namespace {

constexpr PeCommand kPeCommands[] = {
    {.name = "sequentialWrite", .action = Action::kWrite, .description = "write rows in order"},
    {.name = "randomWrite",
     .action = Action::kWrite,
     .is_random = true,
     .description = "write random rows"},
    {.name = "sequentialRead", .action = Action::kRead, .description = "read rows in order"},
    {.name = "randomRead",
     .action = Action::kRead,
     .is_random = true,
     .description = "read random rows"},
    {.name = "scan", .action = Action::kScanOn, .description = "scan every row"},
    {.name = "reverseScan",
     .action = Action::kScanOn,
     .is_reverse = true,
     .description = "scan every row, from the last"},
    {.name = "randomSeekScan",
     .action = Action::kScanRange,
     .is_random = true,
     .rows = 120,
     .description = "scan 120 rows from a random one on"},
    {.name = "scanRange10",
     .action = Action::kScanRange,
     .is_random = true,
     .rows = 10,
     .description = "scan from a random row to the tenth behind it"},
    {.name = "scanRange100",
     .action = Action::kScanRange,
     .is_random = true,
     .rows = 100,
     .description = "likewise to the hundredth"},
    {.name = "scanRange1000",
     .action = Action::kScanRange,
     .is_random = true,
     .rows = 1000,
     .description = "likewise to the thousandth"},
    {.name = "scanRange10000",
     .action = Action::kScanRange,
     .is_random = true,
     .rows = 10'000,
     .description = "likewise to the ten thousandth"},
    {.name = "filterScan",
     .action = Action::kFilterScan,
     .description = "scan all rows for a value that none has (give --rows=20)"},
    {.name = "increment",
     .action = Action::kIncrement,
     .description = "increment each row; the clients overlap"},
    {.name = "append",
     .action = Action::kAppend,
     .description = "append to each row; the clients overlap"},
    {.name = "checkAndMutate",
     .action = Action::kCheckAndMutate,
     .description = "put, then check and mutate each row; the clients overlap"},
    {.name = "checkAndPut",
     .action = Action::kCheckAndPut,
     .description = "put, then check and put each row; the clients overlap"},
    {.name = "checkAndDelete",
     .action = Action::kCheckAndDelete,
     .description = "put, then check and delete each row; the clients overlap"},
    {.name = "sequentialDelete", .action = Action::kDelete, .description = "delete rows in order"},
    {.name = "randomDelete",
     .action = Action::kDelete,
     .is_random = true,
     .description = "delete random rows"},
};

}  // namespace

std::span<const PeCommand> PeCommands() { return kPeCommands; }

const PeCommand* FindPeCommand(std::string_view name) {
  for (const PeCommand& command : kPeCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace winnow::bench::pe
