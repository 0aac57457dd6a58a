// What the manifest would say of a table that a test has built by itself.
#ifndef WINNOW_TESTS_SUPPORT_SSTABLE_METADATA_H_
#define WINNOW_TESTS_SUPPORT_SSTABLE_METADATA_H_

#include "engine/sstable/sstable_builder.h"
#include "engine/version/version_edit.h"

namespace winnow {

inline FileMetadata MetadataOf(uint64_t number, const SstableSummary& summary) {
  FileMetadata metadata;
  metadata.number = number;
  metadata.file_id = summary.file_id;
  metadata.file_bytes = summary.file_bytes;
  metadata.num_entries = summary.properties.num_entries;
  metadata.num_deletions = summary.properties.num_deletions;
  metadata.write_times = summary.properties.write_times;
  metadata.smallest = summary.smallest;
  metadata.largest = summary.largest;
  metadata.smallest_sequence = summary.properties.smallest_sequence;
  metadata.largest_sequence = summary.properties.largest_sequence;
  return metadata;
}

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_SSTABLE_METADATA_H_
