#include "tools/winnow_bench/round.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/winnow_bench/contender.h"
#include "tools/winnow_bench/flags.h"
#include "tools/winnow_bench/measurement.h"
#include "tools/winnow_bench/process.h"
#include "tools/winnow_bench/report_text.h"
#include "tools/winnow_bench/workload.h"

namespace winnow::bench {
namespace {

template <typename T>
std::optional<T> Difference(const std::optional<T>& after, const std::optional<T>& before) {
  if (!after.has_value() || !before.has_value()) return std::nullopt;
  return *after - *before;
}

EngineCounters Difference(const EngineCounters& after, const EngineCounters& before) {
  EngineCounters counters;
  counters.filter_checked = Difference(after.filter_checked, before.filter_checked);
  counters.filter_rejected = Difference(after.filter_rejected, before.filter_rejected);
  counters.filter_true_positive =
      Difference(after.filter_true_positive, before.filter_true_positive);
  counters.filter_false_positive =
      Difference(after.filter_false_positive, before.filter_false_positive);
  counters.data_blocks_read = Difference(after.data_blocks_read, before.data_blocks_read);
  return counters;
}

class Round {
 public:
  Round(const BenchConfig& config, std::string_view engine, int round)
      : config_(config),
        engine_name_(engine),
        round_(round),
        directory_(EngineDirectory(config, engine)) {}

  absl::Status Run(const Workload& workload,
                   const std::function<void(const BenchmarkResult&)>& report) {
    absl::Status ready = MakeReady(workload);
    if (!ready.ok()) return ready;
    if (workload.kind == WorkloadKind::kReport) {
      PrintReport(workload);
      return absl::OkStatus();
    }
    if (workload.kind == WorkloadKind::kRead) {
      for (int64_t i = 0; i < config_.warmup; i++) {
        absl::StatusOr<Measurement> warmed = Measure(workload, static_cast<uint64_t>(i) + 1);
        if (!warmed.ok()) return warmed.status();
      }
    }
    absl::StatusOr<BenchmarkResult> result = MeasureAll(workload);
    if (!result.ok()) return result.status();
    report(*result);
    return absl::OkStatus();
  }

  absl::Status Finish() {
    if (engine_ == nullptr) return absl::OkStatus();
    if (config_.statistics) std::printf("STATISTICS:\n%s\n", engine_->StatsText().c_str());
    return engine_->Close();
  }

 private:
  // Opens the database that `workload` is to run on.
  absl::Status MakeReady(const Workload& workload) {
    const bool fresh = workload.kind == WorkloadKind::kFill && !config_.use_existing_db;
    if (fresh) {
      if (engine_ != nullptr) {
        absl::Status closed = engine_->Close();
        engine_.reset();
        if (!closed.ok()) return closed;
      }
      std::error_code error;
      if (std::filesystem::exists(directory_, error)) {
        absl::Status destroyed = DestroyDatabase(engine_name_, directory_);
        if (!destroyed.ok()) return destroyed;
      }
    }
    return engine_ == nullptr ? Open(workload) : absl::OkStatus();
  }

  absl::Status Open(const Workload& workload) {
    std::error_code error;
    if (workload.kind == WorkloadKind::kFill) {
      std::filesystem::create_directories(directory_, error);
      if (error) {
        return absl::UnavailableError(
            absl::StrCat("cannot create ", directory_, ": ", error.message()));
      }
    } else if (!std::filesystem::is_directory(directory_, error)) {
      return absl::FailedPreconditionError(
          absl::StrCat("there is no database in ", directory_, " for ", std::string(workload.name),
                       "; let --benchmarks begin with fillrandom"));
    }
    const auto start = Worker::Clock::now();
    absl::StatusOr<std::unique_ptr<Engine>> engine = OpenEngine(engine_name_, Settings());
    if (!engine.ok()) return engine.status();
    open_micros_ = std::chrono::duration<double, std::micro>(Worker::Clock::now() - start).count();
    engine_ = *std::move(engine);
    bytes_written_at_open_ = BytesWritten();
    user_bytes_written_ = 0;
    return absl::OkStatus();
  }

  EngineSettings Settings() const {
    EngineSettings settings;
    settings.directory = directory_;
    settings.cache_bytes = static_cast<uint64_t>(config_.cache_size);
    settings.write_buffer_bytes = static_cast<uint64_t>(config_.write_buffer_size);
    settings.block_bytes = static_cast<uint64_t>(config_.block_size);
    settings.table_file_bytes = static_cast<size_t>(config_.target_file_size);
    settings.open_files = static_cast<int>(config_.open_files);
    settings.mmap_reads = config_.mmap_reads;
    settings.io_uring_reads = config_.io_uring_reads;
    settings.row_cache_bytes = static_cast<uint64_t>(config_.row_cache_size);
    settings.background_threads = static_cast<int>(config_.max_background_jobs);
    settings.filter = FilterFor(config_, engine_name_);
    settings.filter_key = config_.filter_key;
    settings.cache_index_and_filter_blocks = config_.cache_index_and_filter_blocks;
    settings.partition_index_and_filters = config_.partition_index_and_filters;
    settings.filter_memory_budget = static_cast<uint64_t>(config_.filter_memory_budget);
    settings.optimize_filters_for_hits = config_.optimize_filters_for_hits;
    settings.data_bytes = DataBytes();
    settings.compression = config_.compression_type;
    settings.disable_auto_compactions = config_.disable_auto_compactions;
    settings.compaction = config_.compaction;
    settings.statistics = config_.statistics;
    for (const std::string& name : SplitNames(config_.benchmarks)) {
      if (FindWorkload(name)->has_transactions) settings.transactions = config_.transactions;
    }
    return settings;
  }

  uint64_t DataBytes() const {
    const double entry_bytes =
        KeySpace(config_).MeanKeyBytes() + static_cast<double>(config_.value_size);
    return static_cast<uint64_t>(std::min(entry_bytes * static_cast<double>(config_.num), 0x1p63));
  }

  // To logs and tables: as the engine counts, or else by system calls, but for its info log.
  uint64_t BytesWritten() const {
    if (const auto counted = engine_->Counters().bytes_written) return *counted;
    return ReadInputOutput().bytes_written - InfoLogBytes(directory_);
  }

  void PrintReport(const Workload& workload) {
    const std::atomic<bool> stop{false};
    Worker worker(config_, *engine_, stop, Worker::Place());
    workload.run(worker);
    std::fflush(stdout);
  }

  // Variation 0 is the measured run; others ask for other keys.
  absl::StatusOr<Measurement> Measure(const Workload& workload, uint64_t variation) {
    const uint64_t seed = DeriveSeed(static_cast<uint64_t>(config_.seed), workload.name,
                                     (static_cast<uint64_t>(round_) << 32) + variation);
    return MeasureWorkload(config_, *engine_, engine_name_, workload, seed);
  }

  absl::StatusOr<BenchmarkResult> MeasureAll(const Workload& workload) {
    const EngineCounters counters_before = engine_->Counters();
    ResetPeakMemory();
    const uint64_t written_before = BytesWritten();
    const InputOutput before = ReadInputOutput();
    absl::StatusOr<Measurement> measured = Measure(workload, 0);
    if (!measured.ok()) return measured.status();
    const InputOutput after = ReadInputOutput();
    const uint64_t written_after = BytesWritten();

    BenchmarkResult result;
    result.engine = engine_name_;
    result.filter = FilterFor(config_, engine_name_);
    result.benchmark = std::string(workload.name);
    result.round = round_;
    result.threads = measured->num_threads;
    result.ops = measured->ops;
    result.ops_per_sec = measured->OpsPerSecond();
    result.micros_per_op = measured->MicrosPerOp();
    if (measured->latency != nullptr) {
      result.p50_micros = measured->latency->PercentileMicros(0.5);
      result.p99_micros = measured->latency->PercentileMicros(0.99);
      result.p999_micros = measured->latency->PercentileMicros(0.999);
      result.max_micros = measured->latency->MaxMicros();
    }
    result.open_micros = std::exchange(open_micros_, std::nullopt);
    if (workload.counts_found) result.found = measured->found;
    if (measured->user_bytes_written > 0) {
      result.durability =
          Durability(engine_name_, SessionSettingsOf(config_, workload.forces_sync));
    }
    result.bytes_read = after.bytes_read - before.bytes_read;
    result.read_calls = after.read_calls - before.read_calls;
    result.peak_rss_bytes = PeakMemoryBytes();
    result.counters = Difference(engine_->Counters(), counters_before);
    result.bytes_written = written_after - written_before;
    result.shape = engine_->Shape();
    result.space_bytes = DirectoryBytes(directory_);
    user_bytes_written_ += measured->user_bytes_written;
    if (user_bytes_written_ > 0) {
      const uint64_t written = written_after - bytes_written_at_open_;
      // Nothing: a mapped file in memory.
      if (written > 0) {
        result.write_amplification =
            static_cast<double>(written) / static_cast<double>(user_bytes_written_);
      }
    }
    PrintMeasurement(workload, *measured);
    return result;
  }

  const BenchConfig& config_;
  const std::string engine_name_;
  const int round_;
  const std::string directory_;
  std::unique_ptr<Engine> engine_;     // null until the first benchmark
  std::optional<double> open_micros_;  // until a result tells it
  uint64_t bytes_written_at_open_ = 0;
  uint64_t user_bytes_written_ = 0;  // since then
};

}  // namespace

std::string EngineDirectory(const BenchConfig& config, std::string_view engine) {
  std::filesystem::path base(config.db);
  if (config.db.empty()) {
    const char* const temporary = std::getenv("TMPDIR");
    const bool is_set = temporary != nullptr && temporary[0] != '\0';
    base = std::filesystem::path(is_set ? temporary : "/tmp") /
           absl::StrCat("winnow_bench-", getuid());
  }
  return (base / FolderOf(engine)).string();
}

absl::Status RunRound(const BenchConfig& config, std::string_view engine, int round,
                      const std::function<void(const BenchmarkResult&)>& report) {
  Round run(config, engine, round);
  for (const std::string& name : SplitNames(config.benchmarks)) {
    absl::Status status = run.Run(*FindWorkload(name), report);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(name, ": ", status.message()));
    }
  }
  return run.Finish();
}

}  // namespace winnow::bench
