// A small life of a database: writes, flushes, a compaction, column families that come and go.
#ifndef WINNOW_TESTS_ENGINE_CRASH_WORKLOAD_H_
#define WINNOW_TESTS_ENGINE_CRASH_WORKLOAD_H_

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/crash_history.h"
#include "winnow/memory_file_system.h"

namespace winnow {

inline constexpr char kCrashDatabase[] = "/data/db";

Options CrashOptions(FileSystem* file_system);

// Runs once. Every call to the database, OK or not, enters the history; after a failure the
// workload goes on, as a program that ignores errors would.
class CrashWorkload {
 public:
  // `file_system` is what the database uses: `memory` itself or something in front of it. Both must
  // outlive the workload. `hook` is the error hook of `memory` while the workload runs.
  CrashWorkload(MemoryFileSystem* memory, FileSystem* file_system, uint64_t seed,
                MemoryFileSystem::ErrorHook hook = nullptr);

  // About 110 writes, ending with a clean close.
  void Run();

  const History& history() const { return history_; }
  // Every key that was ever written, and some that never were.
  const std::vector<std::string>& keys() const { return keys_; }
  // Operations recorded when the database had been created; kNever if that failed.
  size_t created_at() const { return created_at_; }
  const std::vector<absl::Status>& errors() const { return errors_; }

 private:
  void Open();
  void Close();
  void WriteSome(int count);
  void Write(bool sync, const std::vector<Update>& updates);
  void CreateSecondFamily(std::string_view filter);
  void DropSecondFamily();
  void Flush(ColumnFamily* family);
  // A flush during which more is written, right before the older log is synced.
  void FlushWhileWriting();
  void CompactEverything();
  void Note(const absl::Status& status);
  std::string RandomKey();
  std::optional<std::string> RandomValue();

  MemoryFileSystem* const memory_;
  FileSystem* const file_system_;
  std::mt19937_64 random_;
  const MemoryFileSystem::ErrorHook hook_;
  std::unique_ptr<DB> db_;
  ColumnFamily* second_ = nullptr;
  History history_;
  std::vector<std::string> keys_;
  std::vector<absl::Status> errors_;
  size_t created_at_ = CallTime::kNever;
  int num_writes_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_CRASH_WORKLOAD_H_
