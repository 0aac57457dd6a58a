#include "engine/version/sstable_description.h"

#include "engine/base/status.h"
#include "engine/sstable/sstable_iterator.h"

namespace winnow {

absl::StatusOr<FileMetadata> DescribeSstable(const SstableReader& reader,
                                             const SstableProperties& properties,
                                             SequenceNumber global_sequence) {
  FileMetadata file;
  file.file_id = reader.file_id();
  file.file_bytes = reader.file_bytes();
  file.num_entries = properties.num_entries;
  file.num_deletions = properties.num_deletions;
  file.write_times = properties.write_times;
  file.smallest_sequence = properties.smallest_sequence + global_sequence;
  file.largest_sequence = properties.largest_sequence + global_sequence;
  file.global_sequence = global_sequence;
  // From the entries: properties have the bounds as user keys, a manifest as internal ones.
  const auto iterator = reader.NewIterator({});
  iterator->SeekToFirst();
  if (iterator->Valid()) file.smallest = iterator->key();
  iterator->SeekToLast();
  if (iterator->Valid()) file.largest = iterator->key();
  WINNOW_RETURN_IF_ERROR(iterator->status());
  return file;
}

}  // namespace winnow
