// A change of the database's shape, as the manifest records it: one record, applied whole.
#ifndef WINNOW_ENGINE_VERSION_VERSION_EDIT_H_
#define WINNOW_ENGINE_VERSION_VERSION_EDIT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/internal_key.h"
#include "engine/base/key_times.h"
#include "engine/base/write_time.h"

namespace winnow {

// Ids of column families are below this, so that the next one never begins again at 0.
inline constexpr uint32_t kFamilyIdLimit = UINT32_MAX;

// Epoch numbers are below this, so that the next can always be counted up.
inline constexpr uint64_t kEpochNumberLimit = uint64_t{1} << 60;

// Options as they were last in force, by name: the texts of winnow::SetOption.
using OptionTexts = std::map<std::string, std::string>;

// What a manifest knows of the filter file of an SSTable.
struct FilterFileMetadata {
  uint64_t number = 0;  // 0: there is none, the table's own filter is asked
  uint64_t file_id = 0;
  uint64_t file_bytes = 0;

  friend bool operator==(const FilterFileMetadata&, const FilterFileMetadata&) = default;
};

// What a manifest knows of an SSTable.
struct FileMetadata {
  uint64_t number = 0;
  uint64_t file_id = 0;  // its random identity: a stale or foreign file of that name is caught
  uint64_t file_bytes = 0;
  uint64_t num_entries = 0;
  uint64_t num_deletions = 0;
  uint64_t num_range_deletions = 0;  // which are not entries
  std::string smallest;              // internal keys; see IsExclusiveEnd
  std::string largest;
  SequenceNumber smallest_sequence = 0;
  SequenceNumber largest_sequence = 0;
  // Of a table that was ingested: the sequence number of all its entries, which have none in the
  // file. 0: entries have their own.
  SequenceNumber global_sequence = 0;
  // On level 0 alone, where each file has another: the order in which files came there, by flush or
  // ingestion. Of a key in two files the one with the larger number has the newer version. What is
  // merged within the level takes the smallest number of what it was made of. 0: LogAndApply gives
  // one out.
  uint64_t epoch_number = 0;
  WriteTimes write_times;
  std::optional<KeyTimes> key_times;  // as SstableProperties::key_times
  FilterFileMetadata filter_file;

  std::string DebugString() const;
};

// The part of an edit that concerns one column family.
struct FamilyEdit {
  uint32_t family_id = 0;

  // Creation: name and comparator are given once, with the first edit of the family.
  std::optional<std::string> name;
  std::optional<std::string> comparator;
  // Given once, by the first opening with one.
  std::optional<std::string> merge_operator;
  bool dropped = false;

  std::optional<std::string> filter;      // spec text for new SSTables
  std::optional<std::string> filter_key;  // extractor text for new SSTables
  std::optional<uint64_t> ttl_seconds;    // 0: data does not expire
  OptionTexts options;                    // those that change, but for the three above
  // Logs with smaller numbers hold nothing of this family that is not in SSTables.
  std::optional<uint64_t> log_number;

  struct AddedFile {
    int level = 0;
    FileMetadata file;
  };
  struct DeletedFile {
    int level = 0;
    uint64_t number = 0;
  };
  std::vector<AddedFile> added;
  std::vector<DeletedFile> deleted;
};

struct VersionEdit {
  std::optional<uint64_t> hash_seed;  // first record only
  std::optional<uint64_t> next_file_number;
  std::optional<SequenceNumber> last_sequence;
  std::optional<uint32_t> largest_family_id;
  // Of logs with smaller numbers no family needs anything.
  std::optional<uint64_t> oldest_log;
  // The last edit before the database is closed: the log that was the newest then.
  std::optional<uint64_t> newest_log;
  OptionTexts options;  // of the database: those that change
  std::vector<FamilyEdit> families;

  // FORMAT.md, "Version edit".
  void EncodeTo(std::string* out) const;
  // InvalidArgument says what is wrong with the bytes; FailedPrecondition: a field that this
  // version does not know and must not ignore.
  static absl::StatusOr<VersionEdit> Decode(std::string_view bytes);

  // One field a line, for `winnow manifest` and tests.
  std::string DebugString() const;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_VERSION_EDIT_H_
