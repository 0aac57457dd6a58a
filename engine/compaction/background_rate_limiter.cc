#include "engine/compaction/background_rate_limiter.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace winnow {

namespace {

using std::chrono::microseconds;

// Between two looks at the load, each of which sums the counters of all threads and takes the
// database's mutex; more where a look takes long, as it does for very many families.
constexpr microseconds kLoadInterval{25'000};
constexpr int kIntervalInLooks = 50;
// A wait is cut into pieces of this length, after which flags are looked at.
constexpr microseconds kLongestSleep{10'000};
// What one request reserves is written in this time at the rate, so that a rate that has been
// raised is felt soon.
constexpr double kSecondsAtOnce = 0.05;
// From this debt on nothing waits. It also keeps the rate, base / (1 - debt), to ten times the base
// at most.
constexpr double kDebtWithoutLimit = 0.9;
// Up to this debt compactions leave half of the rate where readers read.
constexpr double kDebtThatWaitsForReaders = 0.25;
constexpr double kShareBesideReaders = 0.5;
// Bytes of a file that are paid for together.
// A request takes the limiter's lock: to make one for each append would show.
constexpr uint64_t kPaidAtOnce = uint64_t{64} << 10;

class PacedFile final : public WritableFile {
 public:
  PacedFile(std::unique_ptr<WritableFile> file, const PacedBy& by, microseconds* waited)
      : file_(std::move(file)), by_(by), waited_(waited) {}

  absl::Status Append(std::string_view data) override {
    // Waits before the append that fills a portion. So the disk may be ahead of the limiter by less
    // than kPaidAtOnce for each file that is being written.
    unpaid_ += data.size();
    if (unpaid_ >= kPaidAtOnce) Pay();
    return file_->Append(data);
  }
  absl::Status Flush() override { return file_->Flush(); }
  // Whoever completes a file syncs it once, at its end: the rest of the last portion is paid here.
  absl::Status Sync() override {
    Pay();
    return file_->Sync();
  }
  // Without a sync before it the file has been given up, and owes nothing.
  absl::Status Close() override { return file_->Close(); }
  uint64_t size() const override { return file_->size(); }

 private:
  void Pay() {
    *waited_ += by_.limiter->Request(std::exchange(unpaid_, 0), by_.priority, by_.cancelled);
  }

  const std::unique_ptr<WritableFile> file_;
  const PacedBy by_;
  microseconds* const waited_;
  uint64_t unpaid_ = 0;
};

}  // namespace

BackgroundRateLimiter::BackgroundRateLimiter(uint64_t bytes_per_second)
    : BackgroundRateLimiter(bytes_per_second, SteadyNow,
                            [](microseconds duration) { std::this_thread::sleep_for(duration); }) {}

BackgroundRateLimiter::BackgroundRateLimiter(uint64_t bytes_per_second, SteadyClock clock,
                                             Sleep sleep)
    : clock_(std::move(clock)), sleep_(std::move(sleep)), bytes_per_second_(bytes_per_second) {}

bool IsCancelled(const BackgroundRateLimiter::Cancelled& cancelled) {
  return std::any_of(cancelled.begin(), cancelled.end(), [](const std::atomic<bool>* flag) {
    // Relaxed: the flag publishes nothing, it only ends work that would otherwise go on for a
    // while.
    return flag != nullptr && flag->load(std::memory_order_relaxed);
  });
}

absl::Status CheckNotCancelled(const BackgroundRateLimiter::Cancelled& cancelled) {
  if (!IsCancelled(cancelled)) return absl::OkStatus();
  return absl::CancelledError("the database is closing, or the family has been dropped");
}

bool BackgroundRateLimiter::MustNotWait(const Cancelled& cancelled) const {
  return stopped_.load(std::memory_order_relaxed) || IsCancelled(cancelled);
}

bool BackgroundRateLimiter::HasNoLimit(Priority priority) {
  MutexLock lock(&mutex_);
  return !RateFor(priority).has_value();
}

// The source is asked without the limiter's lock, since it takes locks of the database's.
void BackgroundRateLimiter::LookAtLoad(SteadyTime now) {
  {
    MutexLock lock(&mutex_);
    if (looked_at_load_.has_value() && now - *looked_at_load_ < load_interval_) return;
    // Noted before the look, so that of many threads that wait one alone goes to ask.
    looked_at_load_ = now;
  }
  if (!load_source_) return;
  const BackgroundLoad load = load_source_();
  const SteadyTime::duration took = clock_() - now;
  MutexLock lock(&mutex_);
  load_ = load;
  load_interval_ = std::max<SteadyTime::duration>(kLoadInterval, took * kIntervalInLooks);
}

std::optional<double> BackgroundRateLimiter::RateFor(Priority priority) const {
  const uint64_t base = bytes_per_second();
  const double debt = std::max(load_.debt, 0.0);
  const bool writes_wait = writes_wait_.load(std::memory_order_relaxed);
  if (base == 0 || writes_wait || debt >= kDebtWithoutLimit) return std::nullopt;
  // Readers come first only while there is time: once the debt grows, compactions that were held
  // back would make writes wait.
  const bool gives_way =
      priority == Priority::kCompaction && load_.has_readers && debt <= kDebtThatWaitsForReaders;
  return static_cast<double>(base) / (1 - debt) * (gives_way ? kShareBesideReaders : 1);
}

// A virtual clock for each priority: bytes take their time at the rate, one request after the
// other. Time in which nobody asked is not saved up.
SteadyTime BackgroundRateLimiter::Reserve(uint64_t bytes, Priority priority, SteadyTime now) {
  MutexLock lock(&mutex_);
  const std::optional<double> rate = RateFor(priority);
  if (!rate.has_value()) {
    // What was reserved before is forgotten, and what is written without a limit is never paid for
    // later.
    flushes_done_ = compactions_done_ = now;
    return now;
  }
  const auto takes = std::chrono::duration_cast<SteadyTime::duration>(
      std::chrono::duration<double>(static_cast<double>(bytes) / *rate));
  // Brought up to now before a flush is added to it: after a quiet time the flush would otherwise
  // push the clock within the past, and delay no compaction.
  compactions_done_ = std::max(compactions_done_, now);
  if (priority == Priority::kFlush) {
    const SteadyTime start = std::max(flushes_done_, now);
    flushes_done_ = start + takes;
    compactions_done_ += takes;
    return start;
  }
  // A request starts when all earlier ones have been written, and only its successors wait for it:
  // small writes now and then never wait.
  return std::exchange(compactions_done_, compactions_done_ + takes);
}

microseconds BackgroundRateLimiter::Request(uint64_t bytes, Priority priority,
                                            const Cancelled& cancelled) {
  microseconds waited{0};
  while (bytes > 0 && is_limited() && !MustNotWait(cancelled)) {
    // A large request goes in pieces, each at the rate of its own time: what is reserved is never
    // given back, and one large reservation would hold up all that come after it.
    SteadyTime now = clock_();
    LookAtLoad(now);
    const auto at_once = static_cast<uint64_t>(
        std::max(static_cast<double>(bytes_per_second()) * kSecondsAtOnce, 1.0));
    const uint64_t piece = std::min(bytes, at_once);
    bytes -= piece;
    const SteadyTime start = Reserve(piece, priority, now);
    while (now < start && is_limited() && !MustNotWait(cancelled)) {
      // Rounded up: sleeps of 0 microseconds would spin until the time has come.
      const auto left = std::chrono::duration_cast<microseconds>(start - now) + microseconds(1);
      sleep_(std::min(left, kLongestSleep));
      const SteadyTime later = clock_();
      // By the clock, since the system may sleep for longer than it was asked to.
      waited += MicrosSince(now, later);
      now = later;
      LookAtLoad(now);
      // Writes are about to be delayed: neither this wait nor the pieces that are left matter any
      // more.
      if (HasNoLimit(priority)) return waited;
    }
  }
  return waited;
}

std::unique_ptr<WritableFile> NewPacedFile(std::unique_ptr<WritableFile> file, const PacedBy& by,
                                           microseconds* waited) {
  return std::make_unique<PacedFile>(std::move(file), by, waited);
}

}  // namespace winnow
