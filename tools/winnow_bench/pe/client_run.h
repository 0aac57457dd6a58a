// One client of PerformanceEvaluation: a thread with its rows.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_PE_CLIENT_RUN_H_
#define WINNOW_TOOLS_WINNOW_BENCH_PE_CLIENT_RUN_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/winnow_bench/latency.h"
#include "tools/winnow_bench/pe/commands.h"
#include "tools/winnow_bench/pe/options.h"
#include "tools/winnow_bench/pe/store.h"
#include "tools/winnow_bench/random.h"

namespace winnow::bench::pe {

// Values as PerformanceEvaluation generates them: eight equal random letters, and eight more.
class ValueGenerator {
 public:
  ValueGenerator(const PeOptions& options, uint64_t seed) : options_(options), random_(seed) {}
  std::string_view Next();

 private:
  const PeOptions& options_;
  Random random_;
  std::string value_;
};

class ClientRun {
 public:
  using Clock = std::chrono::steady_clock;

  // The options and the command outlive it.
  ClientRun(const PeOptions& options, const PeCommand& command, std::unique_ptr<RowClient> client,
            uint64_t index, uint64_t cycle);

  // All of the client's rows, or those up to the first error.
  void Run();

  const absl::Status& status() const { return status_; }
  uint64_t operations() const { return operations_; }
  const ReadCount& read() const { return read_; }
  Clock::time_point start() const { return start_; }
  Clock::time_point end() const { return end_; }
  const LatencyHistogram* latency() const { return latency_.get(); }  // null without --latency

 private:
  absl::Status RunRows();
  absl::Status RunRow(uint64_t number);
  // Adds a row to those of the next call, and makes it if they are enough.
  absl::Status RunBatched(std::string row);
  absl::Status RunBatch();
  absl::Status RunScan(uint64_t number);
  absl::Status RunScanOn();
  absl::Status RunFilterScan();
  absl::Status RunReadModifyWrite(const std::string& row);
  absl::Status Walk(const WalkRange& range);
  uint64_t RowNumber(uint64_t number);
  void Record(Clock::time_point before);

  const PeOptions& options_;
  const PeCommand& command_;
  const std::unique_ptr<RowClient> client_;
  const uint64_t first_row_;
  const std::string qualifier_;  // of what read-modify-writes change
  Random random_;
  ValueGenerator values_;
  std::vector<std::string> batch_;
  std::unique_ptr<RowWalk> walk_;
  bool made_call_ = false;

  absl::Status status_;
  uint64_t operations_ = 0;
  ReadCount read_;
  Clock::time_point start_;
  Clock::time_point end_;
  std::unique_ptr<LatencyHistogram> latency_;
};

}  // namespace winnow::bench::pe

#endif  // WINNOW_TOOLS_WINNOW_BENCH_PE_CLIENT_RUN_H_
