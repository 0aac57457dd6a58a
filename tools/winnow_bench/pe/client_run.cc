#include "tools/winnow_bench/pe/client_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/winnow_bench/pe/run.h"

namespace winnow::bench::pe {
namespace {

// "IncrementTest" of increment: PerformanceEvaluation names the column after its class.
std::string QualifierOf(const PeCommand& command) {
  std::string name(command.name);
  name[0] = absl::ascii_toupper(static_cast<unsigned char>(name[0]));
  return name + "Test";
}

}  // namespace

std::string_view ValueGenerator::Next() {
  uint64_t bytes = options_.value_bytes;
  if (options_.random_value_size) bytes = random_.Below(bytes + 1);
  value_.resize(bytes);
  for (size_t i = 0; i < bytes; i += 8) {
    const auto letter = static_cast<char>('A' + random_.Below(26));
    std::fill_n(value_.begin() + static_cast<std::ptrdiff_t>(i), std::min<size_t>(8, bytes - i),
                letter);
  }
  return value_;
}

ClientRun::ClientRun(const PeOptions& options, const PeCommand& command,
                     std::unique_ptr<RowClient> client, uint64_t index, uint64_t cycle)
    : options_(options),
      command_(command),
      client_(std::move(client)),
      first_row_(command.shares_rows() ? 0 : options.start_row + index * options.rows),
      qualifier_(QualifierOf(command)),
      random_(DeriveSeed(options.seed, command.name, cycle << 32 | index)),
      values_(options, random_.Next()) {
  if (options.latency) latency_ = std::make_unique<LatencyHistogram>();
}

void ClientRun::Run() {
  start_ = Clock::now();
  status_ = RunRows();
  end_ = Clock::now();
}

absl::Status ClientRun::RunRows() {
  for (uint64_t i = 0; i < options_.rows; i++) {
    if (options_.sample_rate < 1 && random_.Fraction() >= options_.sample_rate) continue;
    made_call_ = true;
    const Clock::time_point before = latency_ == nullptr ? Clock::time_point() : Clock::now();
    WINNOW_RETURN_IF_ERROR(RunRow(first_row_ + i));
    operations_++;
    if (made_call_ && latency_ != nullptr && i >= options_.measure_after) Record(before);
  }
  return RunBatch();
}

void ClientRun::Record(Clock::time_point before) {
  const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - before);
  latency_->Add(static_cast<uint64_t>(took.count()));
}

uint64_t ClientRun::RowNumber(uint64_t number) {
  return command_.is_random ? random_.Below(options_.total_rows()) : number;
}

absl::Status ClientRun::RunRow(uint64_t number) {
  switch (command_.action) {
    case Action::kWrite:
      return RunBatched(FormatRow(RowNumber(number)));
    case Action::kRead:
      // Between this row and the next, so that no file's range leaves it out.
      return RunBatched(FormatRow(RowNumber(number)) +
                        (options_.absent == Absent::kRow ? "x" : ""));
    case Action::kScanOn:
      return RunScanOn();
    case Action::kScanRange:
      return RunScan(RowNumber(number));
    case Action::kFilterScan:
      return RunFilterScan();
    case Action::kDelete:
      return client_->Delete(FormatRow(RowNumber(number)));
    default:
      return RunReadModifyWrite(FormatRow(number));
  }
}

absl::Status ClientRun::RunBatched(std::string row) {
  const uint64_t rows_of_call =
      command_.action == Action::kRead ? options_.multi_get : options_.multi_put;
  batch_.push_back(std::move(row));
  if (batch_.size() < rows_of_call) {
    made_call_ = false;
    return absl::OkStatus();
  }
  return RunBatch();
}

absl::Status ClientRun::RunBatch() {
  if (batch_.empty()) return absl::OkStatus();
  const absl::Status status = command_.action == Action::kRead
                                  ? client_->Get(batch_, &read_)
                                  : client_->Put(batch_, [this] { return values_.Next(); });
  batch_.clear();
  return status;
}

absl::Status ClientRun::Walk(const WalkRange& range) {
  const std::unique_ptr<RowWalk> walk = client_->Walk(range);
  while (walk->Next(&read_)) {
  }
  return walk->status();
}

absl::Status ClientRun::RunScan(uint64_t number) {
  WalkRange range;
  range.start_row = FormatRow(number);
  // randomSeekScan ends after its rows, the others before a row.
  if (command_.name == "randomSeekScan") {
    range.max_rows = command_.rows;
  } else {
    range.stop_row = FormatRow(number + command_.rows);
  }
  return Walk(range);
}

absl::Status ClientRun::RunScanOn() {
  if (walk_ == nullptr) {
    WalkRange range;
    range.reverse = command_.is_reverse;
    if (!command_.is_reverse) range.start_row = FormatRow(first_row_);
    walk_ = client_->Walk(range);
  }
  return walk_->Next(&read_) ? absl::OkStatus() : walk_->status();
}

absl::Status ClientRun::RunFilterScan() {
  WalkRange range;
  range.first_value = std::string(values_.Next());
  return Walk(range);
}

absl::Status ClientRun::RunReadModifyWrite(const std::string& row) {
  if (command_.action == Action::kIncrement) return client_->Increment(row, qualifier_);
  if (command_.action == Action::kAppend) return client_->Append(row, qualifier_, row);
  // So that what is compared is there.
  WINNOW_RETURN_IF_ERROR(client_->PutOne(row, qualifier_, row));
  const auto then =
      command_.action == Action::kCheckAndDelete ? RowClient::Then::kDelete : RowClient::Then::kPut;
  return client_->CheckAndWrite(row, qualifier_, row, then);
}

}  // namespace winnow::bench::pe
