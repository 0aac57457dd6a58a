// Small lives of a database: writes, flushes, compactions, column families that come and go.
#ifndef WINNOW_TESTS_SUPPORT_CRASH_WORKLOAD_H_
#define WINNOW_TESTS_SUPPORT_CRASH_WORKLOAD_H_

#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/file_system/testing/recording_file_system.h"
#include "tests/support/crash_history.h"
#include "winnow/memory_file_system.h"
#include "winnow/transaction.h"

namespace winnow {

inline constexpr char kCrashDatabase[] = "/data/db";

Options CrashOptions(FileSystem* file_system);
// The same under a filter_memory_budget, with filters in units that come and go, and a row cache.
Options CrashOptionsUnderBudget(FileSystem* file_system);

// The public operations that short workloads are made of.
enum class CrashStep {
  kPut,
  kPutSynced,
  kDeleteSynced,
  kBatch,  // several keys, over both column families if there are two
  kFlush,  // of every family
  kCompact,
  kSnapshot,  // released when the database is closed, checked at every step until then
  kCreateFamily,
  kDropFamily,
  kCheckpoint,
  kReopen,
  kSetFilter,
  kIngest,  // of tables for both column families if there are two
  kDeleteRange,
  // Committed, with writes that were rolled back before; beside one that never is.
  kTransact,
  kRefilter,  // of every family
};
inline constexpr size_t kNumCrashSteps = 16;

// "put, flush, reopen"
std::string DescribeSteps(std::span<const CrashStep> steps);

// A copy of the database that was made while the workload ran.
struct CheckpointRecord {
  std::string directory;
  CallTime time;
  Contents contents;
  bool contents_are_known = true;  // false: they could not be read at that moment
};

// Runs once. Every call to the database, OK or not, enters the history; after a failure the
// workload goes on, as a program that ignores errors would. Every second opening is under a budget,
// the first one where the seed is odd.
class CrashWorkload {
 public:
  // `file_system` is what the database uses: `memory` itself or something in front of it. Both must
  // outlive the workload. `hook` is the error hook of `memory` while the workload runs.
  CrashWorkload(RecordingFileSystem* memory, FileSystem* file_system, uint64_t seed,
                RecordingFileSystem::ErrorHook hook = nullptr);

  // The reference: about 110 writes, ending with a clean close.
  void Run();
  // Three writes, then `steps`, then a clean close.
  void RunSteps(std::span<const CrashStep> steps);
  // As many steps as that, chosen by the seed.
  void RunRandomSteps(size_t count);

  const History& history() const { return history_; }
  const std::vector<CheckpointRecord>& checkpoints() const { return checkpoints_; }
  // Every key that was ever written, and some that never were.
  const std::vector<std::string>& keys() const { return keys_; }
  // Operations recorded when the database had been created; kNever if that failed.
  size_t created_at() const { return created_at_; }
  // Operations recorded when the first of RunSteps' steps began.
  size_t steps_began_at() const { return steps_began_at_; }
  const std::vector<absl::Status>& errors() const { return errors_; }
  // What readers of the open database saw that they should not have; empty if nothing.
  const std::string& wrong_answer() const { return wrong_answer_; }

 private:
  struct HeldSnapshot {
    const Snapshot* snapshot;
    std::map<std::string, std::string> contents;  // of the default family
  };

  void Open();
  void Close();
  void WriteSome(int count);
  void Write(bool sync, const std::vector<Update>& updates);
  // Enters `updates` into the history; `write` makes them.
  void Enter(bool sync, const std::vector<Update>& updates,
             const std::function<absl::Status()>& write);
  void Do(CrashStep step);
  void DeleteRange(bool sync);
  void Transact(TransactionOptions::Mode mode, bool sync);
  void IngestTables(bool move, std::string_view value);
  void CreateSecondFamily(std::string_view filter);
  void DropSecondFamily();
  void TakeSnapshot();
  void CheckSnapshots();
  // A write that failed must not be seen before the database is opened again.
  void CheckNoFailedWriteIsSeen();
  void MakeCheckpoint();
  // Without its amount where a budget decides that.
  std::string Fitting(std::string_view filter) const;
  void SetFilter(std::string_view filter);
  void Refilter(std::string_view filter);
  void Flush(ColumnFamily* family);
  // A flush during which more is written, right before the older log is synced.
  void FlushWhileWriting();
  void CompactEverything();
  void Note(const absl::Status& status);
  std::string RandomKey();
  std::optional<std::string> RandomValue();
  uint32_t RandomFamily();

  RecordingFileSystem* const memory_;
  FileSystem* const file_system_;
  std::mt19937_64 random_;
  const RecordingFileSystem::ErrorHook hook_;
  std::unique_ptr<DB> db_;
  ColumnFamily* second_ = nullptr;
  History history_;
  std::vector<HeldSnapshot> snapshots_;
  std::vector<CheckpointRecord> checkpoints_;
  std::vector<std::string> keys_;
  std::vector<absl::Status> errors_;
  std::string wrong_answer_;
  size_t created_at_ = CallTime::kNever;
  size_t steps_began_at_ = 0;
  int num_writes_ = 0;
  int num_tables_ = 0;
  int num_openings_;
  bool is_under_budget_ = false;
  size_t writes_when_opened_ = 0;
  bool write_failed_ = false;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_CRASH_WORKLOAD_H_
