// One thread of the soak's load: writes and reads keys of its own, and knows what they hold.
#ifndef WINNOW_TESTS_ENGINE_SOAK_WORKER_H_
#define WINNOW_TESTS_ENGINE_SOAK_WORKER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "winnow/db.h"

namespace winnow::soak {

// Read by other threads while the load runs.
struct WorkerCounts {
  std::atomic<uint64_t> reads{0};
  std::atomic<uint64_t> failed_reads{0};
  std::atomic<uint64_t> writes{0};
  std::atomic<uint64_t> failed_writes{0};
};

class Worker {
 public:
  // `faults`: I/O errors may come; changes while the load runs. `wrong_model`: forgets a deletion
  // now and then, to show that wrong reads are noticed.
  Worker(uint64_t seed, int number, const std::atomic<bool>& faults, bool wrong_model);

  // One operation. A description of what was read wrongly, or of an error that no injected fault
  // explains; nothing if all is well.
  std::optional<std::string> Step(DB& db);
  // After the database has been opened again: writes whose outcome was unknown are there or not.
  std::optional<std::string> Resolve(DB& db);
  // Reads every key; no faults.
  std::optional<std::string> CheckAll(DB& db);

  const WorkerCounts& counts() const { return counts_; }

 private:
  using Value = std::optional<std::string>;  // none: absent

  std::string AnyKey();
  std::optional<std::string> Write(DB& db);
  std::optional<std::string> Get(DB& db);
  std::optional<std::string> Scan(DB& db);
  // An error that a fault explains, of when the step began or of now, is counted.
  std::optional<std::string> JudgeError(const absl::Status& status, std::string_view call,
                                        std::atomic<uint64_t>* count);
  Value Expected(const std::string& key) const;

  std::mt19937_64 random_;
  const std::string prefix_;
  const std::atomic<bool>& faults_;
  bool faults_when_step_began_ = false;
  const bool wrong_model_;
  const std::string noise_;  // what values are cut from
  std::map<std::string, std::string> model_;
  // Keys of writes that failed: after reopening they hold what they held, or one of these.
  std::map<std::string, std::set<Value>> unknown_;
  uint64_t next_value_ = 0;
  WorkerCounts counts_;
};

}  // namespace winnow::soak

#endif  // WINNOW_TESTS_ENGINE_SOAK_WORKER_H_
