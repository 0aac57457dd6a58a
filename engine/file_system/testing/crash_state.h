// Which states a disk may be in after a crash: a replay of recorded operations that keeps apart
// what is durable and what is not yet. The approach is that of ALICE (Pillai et al., OSDI 2014) and
// CrashMonkey (Mohan et al., OSDI 2018).
#ifndef WINNOW_ENGINE_FILE_SYSTEM_TESTING_CRASH_STATE_H_
#define WINNOW_ENGINE_FILE_SYSTEM_TESTING_CRASH_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/file_system/memory_tree.h"
#include "engine/file_system/testing/crash_choice.h"
#include "engine/file_system/testing/file_operation.h"

namespace winnow {

// A FileOperation with the identities of what its paths named when it happened.
struct RecordedOperation {
  struct Place {
    uint64_t directory = 0;
    std::string name;
  };

  FileOperation operation;
  uint64_t node = 0;      // the file or directory itself
  bool is_new = false;    // kCreate: there was no such file before
  bool log_mode = false;  // kCreate: WritableFileOptions::Mode::kLog
  Place place;            // kCreate, kLink and kRename (from), kRemove, k...Directory
  Place target_place;     // kLink, kRename
};

class DiskModel {
 public:
  // Everything in the tree is durable.
  explicit DiskModel(const MemoryNode& root);

  void Apply(const RecordedOperation& recorded);

  // The tree that is found after a crash now.
  std::shared_ptr<MemoryNode> Crash(const CrashChoice& choice) const;

 private:
  struct File {
    std::string content;       // all appended bytes
    uint64_t synced = 0;       // how many of them are durable
    uint64_t flushed = 0;      // how many of them the operating system has
    uint64_t last_append = 0;  // where the last append began
    bool truncated = false;    // by an unsynced Create; the disk may still hold old_content
    std::string old_content;
    bool log_mode = false;
    bool open = false;
  };
  struct Directory {
    std::map<std::string, uint64_t> entries;  // durable ones
  };
  using Nodes = std::map<uint64_t, std::shared_ptr<MemoryNode>>;

  // An addition (from.name empty), removal (to.name empty) or renaming of an entry that is not
  // durable yet. A rename between two directories needs both to be synced.
  struct EntryChange {
    uint64_t node;
    RecordedOperation::Place from, to;
    bool from_synced, to_synced;
    bool has_other_names = false;
  };
  using Directories = std::map<uint64_t, Directory>;

  void AddTree(const MemoryNode& node);
  void ApplyCreate(const RecordedOperation& recorded);
  void SyncDirectory(uint64_t directory);
  static void ApplyChange(const EntryChange& change, Directories& directories);
  std::string ContentAfterCrash(uint64_t id, const File& file, const CrashChoice& choice,
                                std::mt19937_64& random) const;
  static std::string RandomContent(const File& file, std::mt19937_64& random);
  std::shared_ptr<MemoryNode> BuildTree(uint64_t id, const Directories& directories,
                                        const CrashChoice& choice, std::mt19937_64& random,
                                        Nodes& built) const;

  uint64_t root_;
  std::map<uint64_t, File> files_;
  Directories directories_;
  std::vector<EntryChange> pending_;
  std::set<uint64_t> linked_;  // files that have, or had, more names than one
  uint64_t last_appended_file_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_TESTING_CRASH_STATE_H_
