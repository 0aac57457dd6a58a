#include "engine/version/sstable_description.h"

#include <utility>
#include <vector>

#include "engine/base/coding.h"
#include "engine/base/status.h"
#include "engine/sstable/sstable_iterator.h"

namespace winnow {

namespace {

// As the builder found the bounds.
void CoverTombstones(const SstableReader& reader, FileMetadata* file) {
  std::vector<RangeTombstone> tombstones;
  reader.AppendRangeTombstones(&tombstones);
  if (tombstones.empty()) return;
  const InternalKeyComparator& comparator = reader.comparator();
  // The block is in order and its fragments do not overlap: the first has the smallest begin, with
  // its newest number first, and the last the largest end.
  std::string smallest = MakeInternalKey(tombstones.front().begin, tombstones.front().sequence,
                                         EntryType::kRangeDelete);
  std::string largest(tombstones.back().end);
  PutFixed64(&largest, kExclusiveEndTrailer);
  if (file->smallest.empty() || comparator.Compare(smallest, file->smallest) < 0) {
    file->smallest = std::move(smallest);
  }
  if (file->largest.empty() || comparator.Compare(largest, file->largest) > 0) {
    file->largest = std::move(largest);
  }
}

}  // namespace

absl::StatusOr<FileMetadata> DescribeSstable(const SstableReader& reader,
                                             const SstableProperties& properties,
                                             SequenceNumber global_sequence) {
  FileMetadata file;
  file.file_id = reader.file_id();
  file.file_bytes = reader.file_bytes();
  file.num_entries = properties.num_entries;
  file.num_deletions = properties.num_deletions;
  file.num_range_deletions = properties.num_range_deletions;
  file.write_times = properties.write_times;
  file.key_times = properties.key_times;
  // One of the two is 0: a table that was ingested has the number 0 throughout.
  file.smallest_sequence = properties.smallest_sequence + global_sequence;
  file.largest_sequence = properties.largest_sequence + global_sequence;
  file.global_sequence = global_sequence;
  // From the entries: properties have the bounds as user keys, a manifest as internal ones.
  const auto iterator = reader.NewIterator({});
  iterator->SeekToFirst();
  if (iterator->Valid()) file.smallest = iterator->key();
  WINNOW_RETURN_IF_ERROR(iterator->status());  // which the next seek forgets
  iterator->SeekToLast();
  if (iterator->Valid()) file.largest = iterator->key();
  WINNOW_RETURN_IF_ERROR(iterator->status());
  CoverTombstones(reader, &file);
  return file;
}

}  // namespace winnow
