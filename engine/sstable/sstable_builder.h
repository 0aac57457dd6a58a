// Writes one SSTable: data blocks, filter, index, properties, footer (FORMAT.md).
#ifndef WINNOW_ENGINE_SSTABLE_SSTABLE_BUILDER_H_
#define WINNOW_ENGINE_SSTABLE_SSTABLE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/internal_key.h"
#include "engine/base/key_times.h"
#include "engine/base/signed_entry.h"
#include "engine/base/write_time.h"
#include "engine/sstable/sstable_properties.h"
#include "winnow/compression.h"
#include "winnow/file_system.h"
#include "winnow/filter/filter_key.h"
#include "winnow/filter/spec.h"
#include "winnow/filter_policy.h"

namespace winnow {

struct SstableBuilderOptions {
  InternalKeyComparator comparator{BytewiseComparator()};

  filter::FilterSpec filter_spec;  // a range filter in it is for the bytewise comparator alone
  // Not empty: the filter is written as so many units, with these bits per key (FilterBuilder), in
  // place of the spec's amount; each can be in memory or not. The range filter is none of them.
  std::vector<double> filter_unit_bits;
  filter::FilterKeyExtractor filter_key;
  uint64_t hash_seed = 0;
  // The hashes that the filter is made of are kept in blocks of their own if those take at most
  // this share of the data blocks' bytes; 0: never, 1: always. Without a filter, or with a
  // policy's, there are none.
  double key_hashes_ratio = 0;
  // Makes the filter from whole keys in place of the fields above; null: they hold.
  const FilterPolicy* filter_policy = nullptr;

  // A data block is cut once it holds this many bytes before compression; up to 16 MiB. One entry
  // larger than that gets a block of its own.
  size_t block_bytes = 4096;
  // Entries between whole keys in a block; 1 to 1024.
  int restart_interval = 16;
  // An index larger than this is cut into partitions that are loaded when they are needed.
  size_t index_partition_threshold = 4 << 20;
  size_t index_partition_bytes = 64 << 10;

  Compression compression = Compression::kNone;
  int zstd_level = 3;

  // Tells the times of keys for SstableProperties::key_times; null: it stays unset.
  KeyTimeParser key_time_parser = nullptr;

  // The table gets signatures of these fields, which the parser finds in its entries; without a
  // parser, without fields, or under another comparator than the bytewise one it gets none.
  SignedEntryParser signed_entry_parser = nullptr;
  SignedFields signed_fields;

  std::string merge_operator_name;  // of the family; empty: none
  uint64_t ttl_seconds = 0;         // of the family; 0: its values do not expire
  std::string column_family_name;
  uint32_t column_family_id = 0;
  uint32_t level = 0;
  uint32_t num_levels = 0;             // of the tree; 0: not known
  uint64_t creation_time_seconds = 0;  // since 1970
  bool is_external = false;            // SstableProperties::is_external

  // The file's identity; 0: a random one. Given only where equal inputs must make equal bytes.
  uint64_t file_id = 0;
};

// What the version needs to know of a finished table.
struct SstableSummary {
  uint64_t file_id = 0;  // random, never 0; SstableReaderOptions::expected_file_id
  uint64_t file_bytes = 0;
  // Internal keys, of entries and range tombstones; see IsExclusiveEnd.
  std::string smallest;
  std::string largest;
  uint64_t filter_peak_temporary_bytes = 0;
  std::string filter_kind;  // of the filter that was built; "none" without one
  SstableProperties properties;
};

// Used by one thread at a time.
class SstableBuilder {
 public:
  // The largest key (user key) and value, with its write time, that a table takes.
  static constexpr uint64_t kMaxUserKeyBytes = uint64_t{16} << 20;
  static constexpr uint64_t kMaxValueBytes = (uint64_t{1} << 30) + kWriteTimeBytes;

  // Takes a new, empty file; `path` is for error messages.
  SstableBuilder(const SstableBuilderOptions& options, std::unique_ptr<WritableFile> file,
                 std::string path);
  ~SstableBuilder();  // abandons a table that was not finished

  SstableBuilder(const SstableBuilder&) = delete;
  SstableBuilder& operator=(const SstableBuilder&) = delete;

  // Appends an entry. Keys come in strictly ascending internal order, else Internal. Once a call
  // has failed, for want of memory too, all later ones return the same error.
  absl::Status Add(std::string_view internal_key, std::string_view value);

  // Adds range tombstones, at any time: those of [begin, end), which is not empty, with these
  // numbers, one or more and descending. Fragments come in ascending order and do not overlap.
  // Where there is no memory for them the next call says so.
  void AddRangeTombstones(std::string_view begin, std::string_view end,
                          std::span<const SequenceNumber> sequences);

  // Writes what is left, syncs and closes the file. Nothing may be added afterwards. A table
  // without entries is allowed.
  absl::StatusOr<SstableSummary> Finish();

  // Gives up: closes the file, which the caller removes.
  void Abandon();

  uint64_t num_entries() const;
  uint64_t num_range_deletions() const;
  // Bytes that Finish would write now, roughly: data so far with filter and index.
  uint64_t file_bytes_estimate() const;
  // Memory held for the filter, the signatures and the index while building.
  size_t memory_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SSTABLE_BUILDER_H_
