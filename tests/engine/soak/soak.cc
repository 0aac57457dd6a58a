#include "tests/engine/soak/soak.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/engine/soak/growth.h"
#include "tests/engine/soak/usage.h"
#include "tests/engine/soak/worker.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/verify_messages.h"
#include "winnow/event_listener.h"

namespace winnow::soak {

namespace {

using Kind = FileOperation::Kind;

constexpr std::chrono::seconds kLongestHealing{60};
constexpr uint64_t kMiB = uint64_t{1} << 20;

struct Phase {
  const char* name;
  std::vector<FaultRule> rules;
  // Writing goes on by itself once the fault is over; after other faults reopening may be needed.
  bool heals = true;
};

std::vector<Phase> Phases() {
  FaultRule slow;
  slow.effect = FaultRule::Effect::kSlow;
  slow.delay = std::chrono::milliseconds(5);
  const FaultRule full = FaultRule::Error(InjectedFullDisk());
  const FaultRule broken = FaultRule::Error(InjectedIoError());
  return {
      {"none", {}},
      {"disk full",
       {full.On({Kind::kCreate, Kind::kAppend, Kind::kFlush}, "*.sst"),
        full.On({Kind::kAppend}, "*.log").Sometimes(0.002)}},
      {"failing reads", {broken.On({Kind::kRead}, "*.sst").Sometimes(0.05)}, false},
      {"slow", {slow.On({Kind::kRead, Kind::kAppend, Kind::kSync}).Sometimes(0.02)}},
      {"failing log syncs", {broken.On({Kind::kSync}, "*.log").Sometimes(0.2)}, false},
      {"failing tables", {broken.On({Kind::kAppend, Kind::kSync}, "*.sst").Sometimes(0.1)}, false},
  };
}

class ErrorCounter final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind == Event::Kind::kBackgroundError) errors++;
    if (event.kind == Event::Kind::kCorruptionFound) corruptions++;
  }
  std::atomic<uint64_t> errors{0};
  std::atomic<uint64_t> corruptions{0};
};

class Soak {
 public:
  Soak(const Settings& settings, const std::function<void(const Sample&)>& tell)
      : settings_(settings),
        tell_(tell),
        must_fire_(settings.interval >= std::chrono::seconds(5)),
        faults_(PosixFileSystem(), settings.seed),
        listener_(std::make_shared<ErrorCounter>()) {
    for (int i = 0; i < settings.num_workers; i++) {
      const uint64_t seed = settings.seed * 100 + static_cast<uint64_t>(i);
      workers_.push_back(std::make_unique<Worker>(seed, i, faulty_, settings.wrong_model));
    }
  }

  Report Run() {
    std::filesystem::remove_all(settings_.directory);
    if (Open()) {
      std::vector<std::thread> threads;
      for (const auto& worker : workers_) {
        threads.emplace_back([this, &worker] { Work(worker.get()); });
      }
      const std::vector<Phase> phases = Phases();
      for (int i = 0; i < settings_.num_intervals && !stop_; i++) {
        RunInterval(phases[static_cast<size_t>(i) % phases.size()], i % 2 == 1);
      }
      stop_ = true;
      for (std::thread& thread : threads) thread.join();
      Finish();
    }
    db_.reset();
    std::filesystem::remove_all(settings_.directory);
    return std::move(report_);
  }

 private:
  bool Open() {
    Options options;
    options.file_system = &faults_;
    options.write_buffer_bytes = 256 << 10;
    options.target_file_bytes = 256 << 10;
    options.level_base_bytes = kMiB;
    options.block_cache_bytes = 512 << 10;
    options.max_log_bytes = 4 * kMiB;
    options.info_log_bytes = 64 << 10;
    options.listeners = {listener_};
    auto opened = DB::Open(options, settings_.directory);
    if (opened.ok()) {
      db_ = *std::move(opened);
    } else {
      Problem(absl::StrCat("the database does not open: ", opened.status().ToString()));
    }
    return opened.ok();
  }

  void Problem(const std::string& what) {
    const std::lock_guard<std::mutex> lock(problems_mutex_);
    if (report_.problems.size() < 10) report_.problems.push_back(what);
    stop_ = true;
  }

  void Work(Worker* worker) {
    for (uint64_t step = 0; !stop_; step++) {
      {
        const std::shared_lock<std::shared_mutex> lock(db_mutex_);
        if (db_ == nullptr) return;
        const auto begin = std::chrono::steady_clock::now();
        if (auto wrong = worker->Step(*db_)) Problem(*wrong);
        NoteCall(std::chrono::steady_clock::now() - begin);
      }
      // A load that leaves time for compactions, and for who wants the lock.
      if (step % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void NoteCall(std::chrono::steady_clock::duration took) {
    auto longest = longest_.load();
    while (took > longest && !longest_.compare_exchange_weak(longest, took)) {
    }
  }

  void RunInterval(const Phase& phase, bool reopen) {
    const Sample before = Totals();
    std::vector<size_t> rules;
    faulty_ = faulty_ || !phase.rules.empty();
    for (const FaultRule& rule : phase.rules) rules.push_back(faults_.Add(rule));
    Pause(settings_.interval / 2);
    if (!rules.empty() && must_fire_) WaitUntilFired(phase.name, rules);
    Sample now;
    now.fault = phase.name;
    now.faults_fired = Fired(rules);
    faults_.Clear();
    if (phase.heals && !phase.rules.empty()) WaitUntilHealed(phase.name);
    if (phase.heals && !reopen) faulty_ = false;
    Pause(settings_.interval / 2);
    now.reopened = (reopen || !phase.heals) && !stop_;
    if (now.reopened) Reopen();
    const Sample after = Totals();
    now.reads = after.reads - before.reads;
    now.failed_reads = after.failed_reads - before.failed_reads;
    now.writes = after.writes - before.writes;
    now.failed_writes = after.failed_writes - before.failed_writes;
    now.background_errors = after.background_errors - before.background_errors;
    now.longest = std::chrono::duration_cast<std::chrono::milliseconds>(
        longest_.exchange(std::chrono::steady_clock::duration::zero()));
    now.resident_bytes = ResidentBytes();
    now.descriptors = OpenDescriptors();
    now.disk_bytes = BytesIn(settings_.directory);
    report_.samples.push_back(now);
    tell_(now);
  }

  uint64_t Fired(const std::vector<size_t>& rules) const {
    uint64_t fired = 0;
    for (const size_t rule : rules) fired += faults_.fired(rule);
    return fired;
  }

  void WaitUntilFired(const char* fault, const std::vector<size_t>& rules) {
    const auto give_up = std::chrono::steady_clock::now() + kLongestHealing;
    while (Fired(rules) == 0 && !stop_) {
      if (std::chrono::steady_clock::now() > give_up) {
        return Problem(absl::StrCat("the fault '", fault, "' never fired"));
      }
      Pause(std::chrono::milliseconds(50));
    }
  }

  // In pieces, so that a wrong read ends it.
  void Pause(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (!stop_ && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  void WaitUntilHealed(const char* fault) {
    const auto give_up = std::chrono::steady_clock::now() + kLongestHealing;
    absl::Status status;
    do {
      status = db_->Put(WriteOptions(), "healed", fault);
      if (status.ok()) status = db_->WaitForBackgroundWork();
      if (status.ok() || stop_) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    } while (std::chrono::steady_clock::now() < give_up);
    Problem(absl::StrCat("after '", fault,
                         "' the database does not go on by itself: ", status.ToString()));
  }

  void Reopen() {
    const std::unique_lock<std::shared_mutex> lock(db_mutex_);
    const absl::Status closed = db_->Close();
    if (!closed.ok() && !faulty_) Problem(absl::StrCat("Close: ", closed.ToString()));
    db_.reset();
    faulty_ = false;
    if (!Open()) return;
    for (const auto& worker : workers_) {
      if (auto wrong = worker->Resolve(*db_)) Problem(*wrong);
    }
  }

  Sample Totals() const {
    Sample totals;
    for (const auto& worker : workers_) {
      totals.reads += worker->counts().reads;
      totals.failed_reads += worker->counts().failed_reads;
      totals.writes += worker->counts().writes;
      totals.failed_writes += worker->counts().failed_writes;
    }
    totals.background_errors = listener_->errors;
    return totals;
  }

  void Finish() {
    if (!report_.problems.empty()) return;
    Reopen();
    if (db_ == nullptr) return;
    for (const auto& worker : workers_) {
      if (auto wrong = worker->CheckAll(*db_)) Problem(*wrong);
    }
    for (const std::string& problem : DamageMessages(*db_)) Problem(problem);
    if (listener_->corruptions > 0) Problem("damage was reported, but none was made");
    const auto judge = [&](const char* what, uint64_t Sample::*field, uint64_t slack) {
      std::vector<uint64_t> series;
      for (const Sample& sample : report_.samples) series.push_back(sample.*field);
      if (GrowsWithoutBound(series, slack)) Problem(absl::StrCat(what, " grows without bound"));
    };
    // AddressSanitizer keeps up to 256 MiB of what was freed.
    judge("memory", &Sample::resident_bytes, (kSanitized ? 400 : 16) * kMiB);
    judge("the number of descriptors", &Sample::descriptors, 40);
    judge("disk space", &Sample::disk_bytes, 32 * kMiB);
    judge("the number of background errors", &Sample::background_errors, 100);
    // What was made to fail is over: nothing may fail in intervals without faults.
    for (size_t i = 0; i < report_.samples.size(); i++) {
      const Sample& sample = report_.samples[i];
      if (sample.fault == "none" && sample.background_errors > 0) {
        Problem(absl::StrCat("background errors in interval ", i + 1, ", where nothing failed"));
      }
    }
  }

  const Settings& settings_;
  const std::function<void(const Sample&)>& tell_;
  // Intervals of less than a few seconds are for tests, which do not insist.
  const bool must_fire_;
  FaultFileSystem faults_;
  const std::shared_ptr<ErrorCounter> listener_;
  // Exclusive for who replaces db_.
  std::shared_mutex db_mutex_;
  std::unique_ptr<DB> db_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<std::chrono::steady_clock::duration> longest_{
      std::chrono::steady_clock::duration::zero()};
  std::atomic<bool> faulty_{false};  // errors may come, or have come and are not over
  std::atomic<bool> stop_{false};
  // Guards report_.problems while workers run.
  std::mutex problems_mutex_;
  Report report_;
};

}  // namespace

Report RunSoak(const Settings& settings, const std::function<void(const Sample&)>& tell) {
  return Soak(settings, tell).Run();
}

}  // namespace winnow::soak
