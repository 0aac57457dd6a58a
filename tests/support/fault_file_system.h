// A file system in front of another that makes things go wrong as it is told: errors, syncs that
// drop what they should keep, reads of damaged or misplaced bytes, slowness.
//
//   FaultFileSystem faults(memory.get(), /*seed=*/1);
//   const size_t full = faults.Add(FaultRule::Error(absl::ResourceExhaustedError("no space"))
//                                      .On({FileOperation::Kind::kAppend}, "*.sst")
//                                      .From(5, 1));
//   ... open a database on `faults` and use it ...
//   EXPECT_EQ(faults.fired(full), 1u);
#ifndef WINNOW_TESTS_SUPPORT_FAULT_FILE_SYSTEM_H_
#define WINNOW_TESTS_SUPPORT_FAULT_FILE_SYSTEM_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/file_system/testing/file_operation.h"
#include "winnow/file_system.h"

namespace winnow {

// What goes wrong, and when. Operations that match kind and path are counted from 0.
struct FaultRule {
  enum class Effect {
    kError,
    // Appends: a part of the bytes reaches the file, then the error. Whole otherwise.
    kTornAppend,
    // Syncs: the error once; the file's later syncs succeed without making anything durable, as
    // Linux does after it has marked pages clean that it could not write (Rebello, ATC 2020).
    kDroppedPages,
    // Reads, of the bytes as they are returned; the file stays as it is.
    kBitFlip,
    kZeroedPage,        // 512 bytes, or what there is
    kMisdirectedBlock,  // bytes from another offset of the file
    kStaleBlock,  // what stood there before: bytes of the file that was opened before this one
    kSlow,
  };
  static constexpr uint64_t kForEver = std::numeric_limits<uint64_t>::max();

  static FaultRule Error(absl::Status error) { return {.error = std::move(error)}; }
  static FaultRule OfRead(Effect effect) {
    return {.effect = effect, .kinds = {FileOperation::Kind::kRead}};
  }
  // Narrows the rule. `pattern` is for the path, as fnmatch(3) understands it.
  FaultRule On(std::set<FileOperation::Kind> which, std::string pattern = "*") const;
  // After `first` matching operations, `number` of them.
  FaultRule From(uint64_t first_one, uint64_t number = kForEver) const;
  // Each of those only with this probability.
  FaultRule Sometimes(double how_often) const;

  Effect effect = Effect::kError;
  std::set<FileOperation::Kind> kinds = {};  // none: all
  std::string path_pattern = "*";
  absl::Status error = absl::OkStatus();
  uint64_t first = 0;
  uint64_t count = kForEver;
  double probability = 1;
  std::chrono::microseconds delay = {};  // kSlow
};

// "I/O error", "no space left on device", "too many open files", with the codes that the POSIX file
// system gives them.
absl::Status InjectedIoError();
absl::Status InjectedFullDisk();
absl::Status InjectedDescriptorLimit();

// Thread-safe. The same seed and the same operations in the same order give the same faults.
class FaultFileSystem final : public FileSystem {
 public:
  // `target` must outlive this, and this the files that it hands out.
  FaultFileSystem(FileSystem* target, uint64_t seed);

  // Returns the rule's number. The first rule that applies to an operation decides.
  size_t Add(FaultRule rule);
  // No faults by the rules so far; their counts stay.
  void Clear();
  // How many operations a rule made fail, and how many matched it.
  uint64_t fired(size_t rule) const;
  uint64_t matched(size_t rule) const;
  // The first operation that the rule made fail, for people.
  std::string first_fired(size_t rule) const;
  // False: Link is unimplemented, as on file systems without links. True at first.
  void set_has_links(bool has_links);

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenRandomAccess(
      const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path,
                                                       const WritableFileOptions& options) override;
  absl::Status Link(const std::string& from, const std::string& to) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& path) override;
  absl::Status CreateDirectories(const std::string& path) override;
  absl::Status RemoveDirectory(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override;
  absl::StatusOr<bool> Exists(const std::string& path) override;
  absl::StatusOr<bool> IsDirectory(const std::string& path) override;
  absl::StatusOr<uint64_t> FileSize(const std::string& path) override;
  absl::StatusOr<FileIdentity> Identify(const std::string& path) override;
  absl::Status SyncFile(const std::string& path) override;
  absl::Status SyncDirectory(const std::string& directory) override;
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override;

 private:
  class ReadFile;
  class WriteFile;
  struct State {
    FaultRule rule;
    uint64_t matched = 0;
    uint64_t fired = 0;
    std::string first_fired;
    bool cleared = false;
  };
  // What an operation meets; kError with an OK status is nothing.
  struct Fault {
    FaultRule::Effect effect = FaultRule::Effect::kError;
    absl::Status error;
    uint64_t random = 0;
  };

  // Counts the operation and says what it meets. Slow ones sleep here.
  Fault Meet(const FileOperation& operation);
  // The same for operations that can only fail or be slow.
  absl::Status Allow(FileOperation::Kind kind, const std::string& path,
                     const std::string& target = "");

  FileSystem& target_;
  // std::mutex, which knows no annotations: guards everything below.
  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::vector<State> rules_;
  bool has_links_ = true;
  std::shared_ptr<const RandomAccessFile> opened_last_;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_FAULT_FILE_SYSTEM_H_
