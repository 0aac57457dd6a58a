#include "tools/winnow_bench/pe/run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/report/amount_text.h"
#include "tools/winnow_bench/pe/client_run.h"
#include "tools/winnow_bench/pe/commands.h"
#include "tools/winnow_bench/pe/loaded_rows.h"

namespace winnow::bench::pe {
namespace {

std::vector<CellColumn> ReadColumns(const PeOptions& options) {
  std::vector<CellColumn> columns;
  if (!options.add_columns) return columns;
  for (uint64_t family = 0; family < options.families; family++) {
    for (uint64_t column = 0; column < options.columns; column++) {
      const bool is_absent = options.absent == Absent::kColumn;
      columns.push_back(
          {FamilyName(family), absl::StrCat(is_absent ? "absent" : "", ColumnName(column))});
    }
  }
  return columns;
}

// Clients in threads of their own.
absl::Status RunClients(const PeOptions& options, const PeCommand& command, RowStore& store,
                        uint64_t cycle, std::vector<std::unique_ptr<ClientRun>>* runs) {
  for (uint64_t i = 0; i < options.clients; i++) {
    WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<RowClient> client,
                            store.NewClient(ReadColumns(options)));
    runs->push_back(std::make_unique<ClientRun>(options, command, std::move(client), i, cycle));
  }
  std::vector<std::thread> threads;
  for (const auto& run : *runs) threads.emplace_back([&run] { run->Run(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& run : *runs) WINNOW_RETURN_IF_ERROR(run->status());
  return absl::OkStatus();
}

// How many rows from 0 on there are to be for what a command reads.
uint64_t RowsToRead(const PeOptions& options, const PeCommand& command) {
  if (command.is_random) return options.total_rows();
  return std::max(options.total_rows(), options.start_row + options.rows * options.clients);
}

// The rows from 0 to before `rows`: written in batches, then flushed and compacted.
absl::Status Load(const PeOptions& options, uint64_t rows, RowStore& store) {
  PeOptions load = options;
  load.clients = 1;
  load.rows = rows;
  load.size_gib = 0;
  load.start_row = 0;
  load.sample_rate = 1;
  load.latency = false;
  load.multi_put = std::max<uint64_t>(1, 1000 / (options.columns * options.families));
  std::vector<std::unique_ptr<ClientRun>> runs;
  WINNOW_RETURN_IF_ERROR(RunClients(load, *FindPeCommand("sequentialWrite"), store, 0, &runs));
  return store.Settle();
}

EngineCounters Difference(const EngineCounters& after, const EngineCounters& before) {
  const auto minus = [](std::optional<uint64_t> a, std::optional<uint64_t> b) {
    return a && b ? std::optional<uint64_t>(*a - *b) : std::nullopt;
  };
  EngineCounters counters;
  counters.filter_checked = minus(after.filter_checked, before.filter_checked);
  counters.filter_rejected = minus(after.filter_rejected, before.filter_rejected);
  counters.filter_false_positive = minus(after.filter_false_positive, before.filter_false_positive);
  counters.data_blocks_read = minus(after.data_blocks_read, before.data_blocks_read);
  return counters;
}

PeResult Sum(const std::vector<std::unique_ptr<ClientRun>>& runs) {
  PeResult result;
  result.clients = runs.size();
  ClientRun::Clock::time_point start = runs.front()->start();
  ClientRun::Clock::time_point end = runs.front()->end();
  for (const auto& run : runs) {
    start = std::min(start, run->start());
    end = std::max(end, run->end());
    result.client_seconds += std::chrono::duration<double>(run->end() - run->start()).count();
    result.operations += run->operations();
    result.read += run->read();
    if (run->latency() == nullptr) continue;
    if (result.latency == nullptr) result.latency = std::make_unique<LatencyHistogram>();
    result.latency->Merge(*run->latency());
  }
  result.seconds = std::chrono::duration<double>(end - start).count();
  return result;
}

absl::StatusOr<PeResult> RunCycle(const PeOptions& options, const PeCommand& command,
                                  RowStore& store, uint64_t cycle) {
  const EngineCounters before = store.Counters();
  std::vector<std::unique_ptr<ClientRun>> runs;
  WINNOW_RETURN_IF_ERROR(RunClients(options, command, store, cycle, &runs));
  PeResult result = Sum(runs);
  result.counters = Difference(store.Counters(), before);
  result.cycle = cycle;
  return result;
}

absl::Status Prepare(const PeOptions& options, const PeCommand& command,
                     const RowStoreFactory& factory, const std::string& path, LoadedRows* loaded,
                     std::unique_ptr<RowStore>* store) {
  const bool reads = command.action < Action::kIncrement && !command.writes_rows();
  const uint64_t rows = RowsToRead(options, command);
  const bool loads = reads && (!loaded->fits() || loaded->rows() < rows);
  const bool is_anew = !loaded->fits() || loads;
  // First of all, so that it holds however far this run comes.
  if (is_anew || command.action == Action::kDelete) WINNOW_RETURN_IF_ERROR(loaded->Save(0));
  if (is_anew) WINNOW_RETURN_IF_ERROR(factory.destroy(path));
  WINNOW_ASSIGN_OR_RETURN(*store, factory.open(options, path));
  if (!loads) return absl::OkStatus();
  std::fprintf(stderr, "winnow_bench: loading %s rows into %s ...\n",
               report::HumanCount(rows).c_str(), path.c_str());
  WINNOW_RETURN_IF_ERROR(Load(options, rows, **store));
  return loaded->Save(rows);
}

// Which rows are there when a command is done.
absl::Status Remember(const PeOptions& options, const PeCommand& command, LoadedRows* loaded) {
  const bool wrote_all = command.action == Action::kWrite && !command.is_random &&
                         options.start_row == 0 && options.sample_rate == 1;
  return wrote_all ? loaded->Save(std::max(loaded->rows(), options.rows * options.clients))
                   : absl::OkStatus();
}

}  // namespace

std::string FormatRow(uint64_t number) {
  constexpr size_t kRowBytes = 26;
  std::string row(kRowBytes, '0');
  for (size_t i = kRowBytes; number > 0; number /= 10) {
    row[--i] = static_cast<char>('0' + number % 10);
  }
  return row;
}

absl::StatusOr<std::vector<PeResult>> RunPe(const PeOptions& options, const std::string& engine) {
  const PeCommand& command = *FindPeCommand(options.command);
  const RowStoreFactory& factory = *FindRowStore(engine);
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error) {
    return absl::UnavailableError(absl::StrCat(options.directory, ": ", error.message()));
  }
  const std::string path = absl::StrCat(options.directory, "/", engine);
  LoadedRows loaded(path + ".pe", options);
  std::unique_ptr<RowStore> store;
  WINNOW_RETURN_IF_ERROR(Prepare(options, command, factory, path, &loaded, &store));
  std::vector<PeResult> results;
  for (uint64_t cycle = 1; cycle <= options.cycles; cycle++) {
    WINNOW_ASSIGN_OR_RETURN(PeResult result, RunCycle(options, command, *store, cycle));
    result.engine = engine;
    result.command = options.command;
    results.push_back(std::move(result));
  }
  if (options.flush) WINNOW_RETURN_IF_ERROR(store->Flush());
  WINNOW_RETURN_IF_ERROR(store->Close());
  WINNOW_RETURN_IF_ERROR(Remember(options, command, &loaded));
  return results;
}

}  // namespace winnow::bench::pe
