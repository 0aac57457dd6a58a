// SSTables from outside, before they are a database's: what they are, and whether they may come in.
#ifndef WINNOW_ENGINE_INGEST_EXTERNAL_SSTABLE_H_
#define WINNOW_ENGINE_INGEST_EXTERNAL_SSTABLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/internal_key.h"
#include "engine/version/version_edit.h"
#include "winnow/file_system.h"
#include "winnow/filter_policy.h"

namespace winnow {

// A table that SstWriter wrote.
struct ExternalSstable {
  std::string path;
  uint32_t family_id = 0;
  InternalKeyComparator comparator{BytewiseComparator()};
  // As a manifest would know it; number, and the sequence numbers that are not 0, are still to
  // come.
  FileMetadata file;
};

// Where such a table is, and how it is to be read.
struct ExternalSstableSource {
  FileSystem* file_system = nullptr;
  std::string path;
  InternalKeyComparator comparator{BytewiseComparator()};
  const FilterPolicy* filter_policy = nullptr;  // may be null
  std::string_view merge_operator_name = {};    // of the family; empty: none
};

// Opens a table and describes it. FailedPrecondition: a newer format, another comparator, operands
// for another merge operator.
// InvalidArgument: no table of SstWriter's, or one without entries. DataLoss: damage.
absl::StatusOr<ExternalSstable> OpenExternalSstable(const ExternalSstableSource& source);

// Reads all of the table at `path`, which is `table` or a copy of it. Errors name table.path.
absl::Status VerifyExternalSstable(const ExternalSstableSource& source,
                                   const ExternalSstable& table);

// InvalidArgument names two tables of one family that have a key range in common.
absl::Status CheckDisjoint(const std::vector<ExternalSstable>& tables);

// Gives all entries of the table this sequence number.
void SetGlobalSequence(SequenceNumber sequence, FileMetadata* file);

}  // namespace winnow

#endif  // WINNOW_ENGINE_INGEST_EXTERNAL_SSTABLE_H_
