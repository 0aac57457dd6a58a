#include "tests/engine/soak/limits_load.h"

#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "winnow/db.h"

namespace winnow::soak {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uid_t kNobody = 65534;
// What the memory limit leaves above what the empty database takes.
constexpr uint64_t kMemoryLeft = 128 * kMiB;
constexpr rlim_t kDescriptorsLeft = 24;
constexpr rlim_t kProcessesLeft = 6;
constexpr rlim_t kFileBytesLeft = 2 * kMiB;
constexpr std::chrono::seconds kLongestHealing{60};
// Keys of a thread: few enough to be overwritten and deleted, for as long as files are wanted.
constexpr uint64_t kKeys = 200;

uint64_t FieldOfStatm(int field) {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  std::array<unsigned long, 2> pages{};
  const int read = std::fscanf(file, "%lu %lu", &pages[0], &pages[1]);
  std::fclose(file);
  return read == 2 ? pages[static_cast<size_t>(field)] * static_cast<uint64_t>(getpagesize()) : 0;
}

// While it lives, the process has no more of it; the limit that was is left as the hard one.
class LoweredLimit {
 public:
  explicit LoweredLimit(Limit limit) {
    switch (limit) {
      case Limit::kNone:
        return;
      case Limit::kMemory:
        if (kSanitized) return;
        resource_ = RLIMIT_AS;
        Lower(FieldOfStatm(0) + kMemoryLeft);
        return;
      case Limit::kDescriptors:
        resource_ = RLIMIT_NOFILE;
        Lower(OpenDescriptors() + kDescriptorsLeft);
        return;
      case Limit::kProcesses:
        resource_ = RLIMIT_NPROC;
        Lower(kProcessesLeft);
        return;
      case Limit::kFileBytes:
        resource_ = RLIMIT_FSIZE;
        Lower(kFileBytesLeft);
        return;
    }
  }
  ~LoweredLimit() {
    if (resource_.has_value()) setrlimit(*resource_, &before_);
  }
  LoweredLimit(const LoweredLimit&) = delete;
  LoweredLimit& operator=(const LoweredLimit&) = delete;

 private:
  void Lower(rlim_t to) {
    getrlimit(*resource_, &before_);
    struct rlimit lowered = before_;
    lowered.rlim_cur = std::min(to, before_.rlim_max);
    setrlimit(*resource_, &lowered);
  }

  std::optional<__rlimit_resource> resource_;
  struct rlimit before_ = {};
};

// The value of a key, which tells its key and how often that was written.
std::string ValueOf(const std::string& key, uint64_t version, uint64_t bytes) {
  std::string value = absl::StrCat(key, "@", version, ".");
  value.resize(std::max<uint64_t>(bytes, 1), 'v');
  if (bytes == 0) value.clear();
  return value;
}

class Load {
 public:
  Load(const Cell& cell, std::string directory) : cell_(cell), directory_(std::move(directory)) {}

  CellReport Run() {
    if (!Open()) return std::move(report_);
    report_.before = MeasureUsage(directory_ + "/db");
    ForgetHighestResidentBytes();
    {
      const LoweredLimit lowered(cell_.limit);
      CreateFamilies();
      std::vector<std::thread> threads;
      for (int i = 0; i < cell_.threads; i++) {
        // The test's own threads may be refused as well.
        try {
          threads.emplace_back([this, i] { WorkAndCatch(i); });
        } catch (const std::system_error&) {
          break;
        }
      }
      if (threads.empty()) WorkAndCatch(0);
      for (std::thread& thread : threads) thread.join();
    }
    // What a flush or a compaction took for a moment has gone by now.
    report_.during = MostOf(MeasureUsage(directory_ + "/db"), {HighestResidentBytes(), 0, 0});
    if (Heal()) {
      CheckAll();
      EndTheReason();
    }
    return std::move(report_);
  }

 private:
  struct Written {
    uint64_t version = 0;
    bool certain = true;  // the last write of it was not refused
    bool deleted = false;
  };

  bool Open() {
    Options options;
    options.create_if_missing = true;
    options.block_cache_bytes = kMiB;
    options.write_buffer_bytes = kMiB;
    options.info_log_bytes = 64 << 10;
    options.compression = Compression::kNone;  // the values are all alike
    // Files that are wanted must not be compacted away.
    options.disable_auto_compactions = cell_.files > 100;
    auto opened = DB::Open(options, directory_ + "/db");
    if (!opened.ok()) Problem(absl::StrCat("Open: ", opened.status().ToString()));
    if (opened.ok()) db_ = *std::move(opened);
    return opened.ok();
  }

  void Problem(std::string what) {
    std::replace(what.begin(), what.end(), '\n', ' ');
    const std::lock_guard<std::mutex> lock(mutex_);
    if (report_.problems.size() < 10) report_.problems.push_back(std::move(what));
  }

  // True if it was done. Refused is what a limit explains; anything else is a problem.
  bool Call(const char* name, const std::function<absl::Status()>& call) {
    const auto begin = std::chrono::steady_clock::now();
    const absl::Status status = call();
    const auto took = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                                std::chrono::steady_clock::now() - begin)
                                                .count());
    const std::lock_guard<std::mutex> lock(mutex_);
    report_.calls++;
    if (took > report_.longest_milliseconds || report_.longest_call.empty()) {
      report_.longest_milliseconds = took;
      report_.longest_call = name;
    }
    if (status.ok() || absl::IsNotFound(status)) return true;
    report_.refused++;
    const bool explained = cell_.limit != Limit::kNone || absl::IsResourceExhausted(status);
    if (!explained || absl::IsDataLoss(status) || absl::IsInternal(status)) {
      const std::string what = absl::StrCat(name, ": ", status.ToString());
      if (report_.problems.size() < 10) report_.problems.push_back(what);
    }
    return false;
  }

  void CreateFamilies() {
    families_.push_back(db_->DefaultColumnFamily());
    ColumnFamilyOptions options;
    options.write_buffer_bytes = kMiB;
    options.compression = Compression::kNone;
    options.disable_auto_compactions = cell_.files > 100;
    for (int i = 1; i < cell_.families; i++) {
      Call("CreateColumnFamily", [&] {
        const auto created = db_->CreateColumnFamily(options, absl::StrCat("family", i));
        if (created.ok()) families_.push_back(*created);
        return created.status();
      });
    }
  }

  // Memory that is refused to the test itself ends its thread, not the process.
  void WorkAndCatch(int thread) {
    try {
      Work(thread);
    } catch (const std::bad_alloc&) {
    }
  }

  void Work(int thread) {
    std::mt19937_64 random(cell_.seed + static_cast<uint64_t>(thread));
    std::map<std::string, Written> written;
    // Each family gets a key, each file a flush; large values are few.
    const uint64_t share = static_cast<uint64_t>(std::max(cell_.families, cell_.files)) /
                               static_cast<uint64_t>(cell_.threads) +
                           1;
    const uint64_t most = std::max<uint64_t>(4, 64 * kMiB / (cell_.value_bytes + 100));
    const uint64_t steps = std::min<uint64_t>(most, std::max<uint64_t>(share, 500));
    for (uint64_t step = 0; step < steps; step++) {
      const size_t family =
          (step * static_cast<uint64_t>(cell_.threads) + static_cast<uint64_t>(thread)) %
          families_.size();
      const std::string key = absl::StrCat("t", thread, "f", family, "k", random() % kKeys);
      Step(family, key, random() % 10, &written[key]);
      if (flushes_.load() < cell_.files && step * static_cast<uint64_t>(cell_.files) >=
                                               steps * static_cast<uint64_t>(flushes_.load())) {
        flushes_++;
        Call("Flush", [&] { return db_->Flush(families_[family]); });
      }
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [key, state] : written) written_[key] = state;
  }

  void Step(size_t family, const std::string& key, uint64_t what, Written* state) {
    if (what < 7) {
      const std::string value = ValueOf(key, state->version + 1, cell_.value_bytes);
      state->certain =
          Call("Put", [&] { return db_->Put(WriteOptions(), families_[family], key, value); });
      state->version++;
      state->deleted = false;
    } else if (what < 8) {
      state->certain =
          Call("Delete", [&] { return db_->Delete(WriteOptions(), families_[family], key); });
      state->deleted = true;
    } else {
      Check(family, key, *state);
    }
  }

  void Check(size_t family, const std::string& key, const Written& state) {
    std::string value;
    bool found = false;
    const bool read = Call("Get", [&] {
      const absl::Status status = db_->Get(ReadOptions(), families_[family], key, &value);
      found = status.ok();
      return status;
    });
    if (!read || !state.certain) return;
    const bool expected = state.version > 0 && !state.deleted;
    if (found != expected) {
      Problem(absl::StrCat(key, found ? ": is there, but was deleted" : ": is lost"));
    } else if (found && value != ValueOf(key, state.version, cell_.value_bytes)) {
      Problem(absl::StrCat(key, ": has another value than the one acknowledged"));
    }
  }

  // By itself, or by being opened again, where the log could not be trusted any more.
  bool Heal() {
    const auto give_up = std::chrono::steady_clock::now() + kLongestHealing;
    absl::Status status;
    for (bool reopened = false; std::chrono::steady_clock::now() < give_up;) {
      status = db_->Put(WriteOptions(), "healed", "");
      if (status.ok()) status = db_->WaitForBackgroundWork();
      if (status.ok()) return true;
      if (absl::IsFailedPrecondition(status) && !reopened && cell_.limit != Limit::kNone) {
        reopened = true;
        std::vector<std::string> names;
        for (ColumnFamily* family : families_) names.emplace_back(family->name());
        db_.reset();
        if (!Open()) return false;
        families_.clear();
        for (const std::string& name : names) {
          const auto found = db_->FindColumnFamily(name);
          if (!found.ok()) {
            Problem(absl::StrCat("family ", name, ": ", found.status().ToString()));
            return false;
          }
          families_.push_back(*found);
        }
        continue;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    Problem(absl::StrCat("does not go on once the limit is lifted: ", status.ToString()));
    return false;
  }

  void CheckAll() {
    for (const auto& [key, state] : written_) {
      size_t family = 0;
      const size_t begin = key.find('f') + 1;
      if (!absl::SimpleAtoi(key.substr(begin, key.find('k') - begin), &family)) continue;
      Check(family, key, state);
    }
  }

  void EndTheReason() {
    const Cell was = cell_;
    cell_.limit = Limit::kNone;  // from here on nothing may be refused
    if (!was.leaks) {
      for (size_t i = 1; i < families_.size(); i++) {
        Call("DropColumnFamily", [&] { return db_->DropColumnFamily(families_[i]); });
      }
      for (const auto& [key, state] : written_) {
        if (key.find("f0k") == std::string::npos) continue;
        Call("Delete", [&, &key = key] { return db_->Delete(WriteOptions(), key); });
      }
      Call("CompactRange", [&] { return db_->CompactRange(std::nullopt, std::nullopt); });
    }
    Call("WaitForBackgroundWork", [&] { return db_->WaitForBackgroundWork(); });
    written_.clear();
    report_.after =
        MeasureOnceReturned(report_.before, report_.during, directory_ + "/db",
                            was.leaks ? std::chrono::seconds(0) : std::chrono::seconds(60));
    for (std::string& what : WhatStays(report_.before, report_.during, report_.after)) {
      Problem(std::move(what));
    }
    Call("Close", [&] { return db_->Close(); });
  }

  Cell cell_;
  const std::string directory_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamily*> families_;
  std::atomic<int> flushes_{0};
  // Guards report_ and written_ while threads run.
  std::mutex mutex_;
  std::map<std::string, Written> written_;
  CellReport report_;
};

}  // namespace

CellReport RunLoad(const Cell& cell, const std::string& directory) {
  signal(SIGXFSZ, SIG_IGN);  // as a program must that would rather see EFBIG
  // Fixed: left to itself, the C library comes to keep tens of megabytes in each thread's arena,
  // out of malloc_trim's reach.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  mallopt(M_TRIM_THRESHOLD, 128 << 10);
  // Processes are counted by user, and not for the superuser.
  if (cell.limit == Limit::kProcesses && geteuid() == 0) {
    const bool changed = chown(directory.c_str(), kNobody, kNobody) == 0 && setgid(kNobody) == 0 &&
                         setuid(kNobody) == 0;
    if (!changed) {
      CellReport report;
      report.problems.emplace_back("the user cannot be changed");
      return report;
    }
  }
  return Load(cell, directory).Run();
}

}  // namespace winnow::soak
