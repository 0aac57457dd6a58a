// What comes in becomes part of the tree as it is, so that everything that the tree relies on is
// checked before: order, comparator, no sequence numbers of another database, the family's merge
// operator. The file may be written to or replaced by others meanwhile; its id and size, taken when
// it was opened first, say whether it still is the one that was looked at.
#include "engine/ingest/external_sstable.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/base/status.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/version/sstable_description.h"

namespace winnow {

namespace {

absl::StatusOr<std::unique_ptr<SstableReader>> OpenReader(const ExternalSstableSource& source,
                                                          uint64_t expected_file_id,
                                                          const std::string& named) {
  WINNOW_ASSIGN_OR_RETURN(auto file, source.file_system->OpenRandomAccess(source.path));
  SstableReaderOptions options;
  options.comparator = source.comparator;
  options.filter_policy = source.filter_policy;
  // 0, when it is opened first: whatever it is.
  options.expected_file_id = expected_file_id;
  return SstableReader::Open(options, std::move(file), named);
}

absl::Status CheckIsExternal(const SstableProperties& properties, const std::string& path) {
  // A database's own tables have sequence numbers, and several versions of a key: what they would
  // mean in another database nobody can say.
  if (!properties.is_external) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": a database wrote this table; only those of SstWriter (`winnow "
                     "sst-build`) can be ingested"));
  }
  if (properties.num_range_deletions != 0) {
    return CorruptionError(path, "has range deletions, of which SstWriter writes none");
  }
  if (properties.num_entries == 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": holds no entries"));
  }
  // Readers give all entries the one number that the manifest has for the table: they have none of
  // their own.
  if (properties.largest_sequence != 0) {
    return CorruptionError(path, "has entries with sequence numbers, which SstWriter writes none");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ExternalSstable> OpenExternalSstable(const ExternalSstableSource& source) {
  WINNOW_ASSIGN_OR_RETURN(const auto reader, OpenReader(source, 0, source.path));
  WINNOW_ASSIGN_OR_RETURN(const SstableProperties properties, reader->ReadProperties());
  WINNOW_RETURN_IF_ERROR(CheckIsExternal(properties, source.path));
  // Operands mean what their operator makes of them; another one would make something else.
  if (properties.num_merges > 0 && properties.merge_operator_name != source.merge_operator_name) {
    return absl::FailedPreconditionError(
        absl::StrCat(source.path, ": has operands for the merge operator '",
                     properties.merge_operator_name, "', but the column family ",
                     source.merge_operator_name.empty()
                         ? std::string("has none")
                         : absl::StrCat("has '", ToAbsl(source.merge_operator_name), "'")));
  }
  ExternalSstable table;
  table.path = source.path;
  table.comparator = source.comparator;
  WINNOW_ASSIGN_OR_RETURN(table.file, DescribeSstable(*reader, properties, 0));
  // Placement and look-ups go by these bounds, which the file itself states.
  const bool is_ordered = !table.file.smallest.empty() && !table.file.largest.empty() &&
                          table.comparator.Compare(table.file.smallest, table.file.largest) <= 0;
  if (!is_ordered) return CorruptionError(source.path, "its keys are out of order");
  return table;
}

absl::Status VerifyExternalSstable(const ExternalSstableSource& source,
                                   const ExternalSstable& table) {
  WINNOW_ASSIGN_OR_RETURN(const auto reader, OpenReader(source, table.file.file_id, table.path));
  if (reader->file_bytes() != table.file.file_bytes) {
    return CorruptionError(table.path, "has changed while it was being ingested");
  }
  for (const SstableProblem& problem : reader->Verify()) return problem.ToStatus(table.path);
  return absl::OkStatus();
}

absl::Status CheckDisjoint(const std::vector<ExternalSstable>& tables) {
  std::vector<const ExternalSstable*> sorted;
  sorted.reserve(tables.size());
  for (const ExternalSstable& table : tables) sorted.push_back(&table);
  // All tables of a call get one sequence number: of two entries of a key nobody could say which is
  // the newer. By families and smallest keys, any that overlap have neighbours that do.
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    if (a->family_id != b->family_id) return a->family_id < b->family_id;
    return a->comparator.CompareUserKeys(UserKey(a->file.smallest), UserKey(b->file.smallest)) < 0;
  });
  for (size_t i = 1; i < sorted.size(); i++) {
    const ExternalSstable& before = *sorted[i - 1];
    const ExternalSstable& table = *sorted[i];
    if (before.family_id == table.family_id &&
        table.comparator.CompareUserKeys(UserKey(before.file.largest),
                                         UserKey(table.file.smallest)) >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(before.path, " and ", table.path,
                       " have keys in one range: ingest them one after the other, the newer last"));
    }
  }
  return absl::OkStatus();
}

void SetGlobalSequence(SequenceNumber sequence, FileMetadata* file) {
  // The bounds are internal keys, and have the number too.
  const auto with_sequence = [&](const std::string& key) {
    return MakeInternalKey(UserKey(key), sequence, Type(key));
  };
  file->smallest = with_sequence(file->smallest);
  file->largest = with_sequence(file->largest);
  file->smallest_sequence = file->largest_sequence = file->global_sequence = sequence;
}

}  // namespace winnow
