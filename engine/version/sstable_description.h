// What a manifest records of an SSTable, told by the file itself.
#ifndef WINNOW_ENGINE_VERSION_SSTABLE_DESCRIPTION_H_
#define WINNOW_ENGINE_VERSION_SSTABLE_DESCRIPTION_H_

#include "absl/status/statusor.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/version/version_edit.h"

namespace winnow {

// All but the file's number. `reader` has been opened with the global sequence number, and
// `properties` are its own. Bounds are empty where there are no entries.
absl::StatusOr<FileMetadata> DescribeSstable(const SstableReader& reader,
                                             const SstableProperties& properties,
                                             SequenceNumber global_sequence);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_SSTABLE_DESCRIPTION_H_
