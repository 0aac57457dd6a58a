// A filter file, NNNNNN.flt: another filter for an SSTable that stays as it is (FORMAT.md).
//
// The table's own filter is not changed and not lost: where the filter file cannot be used, the
// table answers with its own.
#ifndef WINNOW_ENGINE_SSTABLE_FILTER_FILE_H_
#define WINNOW_ENGINE_SSTABLE_FILTER_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/file_system/shared_path.h"
#include "engine/sstable/block_file.h"
#include "engine/sstable/filter_unit_list.h"
#include "engine/sstable/format.h"
#include "engine/sstable/sstable_problem.h"
#include "winnow/file_system.h"
#include "winnow/filter/builder.h"

namespace winnow {

// What a filter file says before its filter block.
struct FilterFileHeader {
  uint64_t file_id = 0;   // its own random identity
  uint64_t table_id = 0;  // the identity of the SSTable that it belongs to
  uint64_t file_bytes = 0;
  uint64_t hash_seed = 0;
  uint64_t num_filter_keys = 0;
  uint64_t filter_bytes = 0;  // contents of the block; 0: there is none
  double expected_fpr = 1;
  bool filter_fell_back = false;
  std::string filter_spec;  // these two as in SstableProperties
  std::string filter_key;
  std::vector<filter::BuiltUnit> units;  // as SstableProperties::filter_units

  std::string Encode() const;
  uint64_t header_bytes() const;
  BlockHandle filter_block() const {
    return {filter_bytes == 0 ? 0 : header_bytes(), filter_bytes};
  }
  // `start` is the start of a file of `file_bytes` bytes, kMaxFilterFileHeaderBytes of it if it has
  // as many. DataLoss: it is none, damaged, or of another size. FailedPrecondition: a newer major
  // version.
  static absl::StatusOr<FilterFileHeader> Decode(std::string_view start, uint64_t file_bytes,
                                                 std::string_view path);

  friend bool operator==(const FilterFileHeader&, const FilterFileHeader&) = default;
};

inline constexpr size_t kMinFilterFileHeaderBytes = 96;
inline constexpr size_t kMaxFilterFileTextBytes = 4096;  // of each of the two texts
inline constexpr size_t kMaxFilterFileHeaderBytes =
    kMinFilterFileHeaderBytes + 2 * kMaxFilterFileTextBytes + kMostListedUnits * kListedUnitBytes;

// An open filter file whose header is sound. Thread-safe.
class FilterFile {
 public:
  // Reads the header. `expected_file_id` and `table_id` are what the manifest says; 0: any. Errors
  // of FilterFileHeader::Decode; DataLoss for another file, or one of another table.
  static absl::StatusOr<std::unique_ptr<FilterFile>> Open(std::unique_ptr<RandomAccessFile> file,
                                                          SharedPath path,
                                                          uint64_t expected_file_id,
                                                          uint64_t table_id);

  const FilterFileHeader& header() const { return header_; }
  const BlockFile& blocks() const { return blocks_; }
  // Reads the whole file again and checks every byte, each unit of the filter by itself. Empty if
  // all is well. NotFound and other errors of the file are problems too.
  std::vector<SstableProblem> Verify() const;

 private:
  FilterFile(std::unique_ptr<RandomAccessFile> file, SharedPath path)
      : blocks_(std::move(file), std::move(path)) {}

  BlockFile blocks_;
  FilterFileHeader header_;
};

// Writes, syncs and closes. Of `header` the caller has filled in table_id, filter_spec, filter_key
// and hash_seed, and units if they are to be read without each other; the rest is set here.
absl::Status WriteFilterFile(const filter::BuiltFilter& built, FilterFileHeader* header,
                             WritableFile* file);

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_FILTER_FILE_H_
