// What an SSTable says about itself.
#ifndef WINNOW_ENGINE_SSTABLE_SSTABLE_PROPERTIES_H_
#define WINNOW_ENGINE_SSTABLE_SSTABLE_PROPERTIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/key_times.h"
#include "engine/base/write_time.h"
#include "winnow/compression.h"
#include "winnow/filter/builder.h"

namespace winnow {

// The part that stays in memory while a table is open: what reads and statistics need. A process
// may have thousands of tables open, and what the rest says others know too, or few want to know.
struct SstableFigures {
  uint64_t num_entries = 0;
  uint64_t num_data_blocks = 0;
  uint64_t data_bytes = 0;   // where the data blocks end: theirs as stored, and the header
  uint64_t index_bytes = 0;  // top index and partitions as stored
  uint64_t hash_seed = 0;
  uint64_t num_filter_keys = 0;  // distinct, of each part that filter_key names
  uint64_t filter_bytes = 0;
  double expected_fpr = 1;
  uint64_t range_filter_bytes = 0;     // of its block; 0: there is none
  uint64_t signature_bytes = 0;        // of signature blocks and index as stored; 0: there are none
  uint64_t signature_index_bytes = 0;  // of that, the index
  uint64_t key_hash_bytes = 0;         // of key hash blocks as stored; 0: there are none
  Compression compression = Compression::kNone;
};

struct SstableProperties : SstableFigures {
  uint64_t num_puts = 0;
  uint64_t num_deletions = 0;
  uint64_t num_merges = 0;  // merge operands
  WriteTimes write_times;   // of those puts that have one
  // Of all keys; unset: some have none, or nobody said how they tell them.
  std::optional<KeyTimes> key_times;
  // Of the range tombstone block: one for each number of each fragment, and its bytes as stored,
  // trailer included. Entries are not counted with them, nor they with entries.
  uint64_t num_range_deletions = 0;
  uint64_t range_tombstone_bytes = 0;
  uint64_t raw_key_bytes = 0;  // internal keys, before prefix compression
  uint64_t raw_value_bytes = 0;
  uint64_t index_partitions = 0;  // 0: the index has one level
  std::string smallest_user_key;  // of the entries
  std::string largest_user_key;
  // Of entries and range tombstones.
  uint64_t smallest_sequence = 0;
  uint64_t largest_sequence = 0;

  std::string filter_spec;  // as requested; the filter block says what was built
  std::string filter_key;   // FilterKeyExtractor::ToString()
  // Of a filter that was written under a budget of memory: what its units are, so that each can be
  // read, and known for the right one, without the others. Else empty.
  std::vector<filter::BuiltUnit> filter_units;
  // The name of the FilterPolicy that made the filter block; empty: Winnow made it.
  std::string filter_policy;
  bool filter_fell_back = false;  // another kind than requested was built
  uint64_t num_signatures = 0;    // groups that have one

  std::string comparator_name;
  std::string merge_operator_name;  // of the column family; empty: none
  uint64_t ttl_seconds = 0;         // of the column family then; 0: its values did not expire
  uint32_t column_family_id = 0;
  std::string column_family_name;
  uint64_t creation_time_seconds = 0;  // since 1970
  uint32_t level_at_creation = 0;
  // SstWriter wrote it, for a database to ingest: its entries have sequence number 0, and each user
  // key one of them.
  bool is_external = false;

  // The bytes of the properties block.
  std::string Encode() const;
  // Unknown properties are skipped. DataLoss if the bytes are malformed or a property that every
  // table has is missing.
  static absl::StatusOr<SstableProperties> Decode(std::string_view block);
  // One "name: value" line each, keys as printable text.
  std::string DebugString() const;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SSTABLE_PROPERTIES_H_
