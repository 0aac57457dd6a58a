// A unit of compaction work: files of one or more levels, to be merged into one level.
#ifndef WINNOW_ENGINE_COMPACTION_COMPACTION_H_
#define WINNOW_ENGINE_COMPACTION_COMPACTION_H_

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/capabilities.h"
#include "engine/base/key_times.h"
#include "engine/version/version.h"

namespace winnow {

// No compaction works on the file, and it is not in quarantine.
inline bool IsIdle(const SstableFile& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  return !file.being_compacted && !file.quarantined;
}

bool AllIdle(const Version::Files& files) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
uint64_t TotalBytes(const Version::Files& files);

// A compaction of level 0 writes to `level`: an output may lie anywhere in the range of its inputs,
// and nothing else may come there meanwhile.
bool LevelZeroGoesTo(const Version& version, int level)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

// What files, at least one, cover. The bytes are theirs.
UserKeyRange RangeOf(const Version::Files& files, const InternalKeyComparator& comparator);

struct Compaction {
  std::shared_ptr<const Version> version;  // the inputs' version when they were picked
  std::array<Version::Files, kNumLevels> inputs;
  int output_level = 0;
  // The inputs can move to the output level as they are.
  bool is_trivial_move = false;
  // The inputs go, unread, and nothing takes their place: nobody needs any of their entries.
  bool drops_inputs = false;
  // Picked for keys that have expired by this, which a snapshot may still show.
  KeyExpiry key_expiry;
  const char* reason = "";

  bool changes_manifest_only() const { return is_trivial_move || drops_inputs; }
  uint64_t input_bytes() const;
  uint64_t input_entries() const;
  uint64_t input_write_times() const;  // entries that have one
  size_t num_input_files() const;
  SequenceNumber largest_input_sequence() const;
  // Of the inputs in level 0, of which there is one at least: that of what they become there.
  uint64_t smallest_epoch_number() const;
  void MarkInputs(bool being_compacted) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Appends the removal of all inputs.
  void DeleteInputs(FamilyEdit* edit) const;
  // Adds the inputs, unchanged, to the output level.
  void MoveInputs(FamilyEdit* edit) const;
  std::string DebugString() const;
};

// Whether any file that is older than a compaction's inputs can hold a key: of the levels below the
// output, and for an output in level 0, none of whose files is known to be the oldest, any. Keys
// must come in ascending order, which makes a whole walk linear in the number of files.
class BottommostLevelChecker {
 public:
  explicit BottommostLevelChecker(const Compaction& compaction);
  // True if no such file covers the key.
  bool operator()(std::string_view user_key);

 private:
  struct Level {
    const Version::Files* files;
    size_t index;
  };
  const InternalKeyComparator comparator_;
  const bool within_level_zero_;
  std::vector<Level> deeper_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_COMPACTION_H_
