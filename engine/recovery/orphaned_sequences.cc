#include "engine/recovery/orphaned_sequences.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/recovery/set_aside.h"
#include "engine/sstable/sstable_frame.h"
#include "engine/sstable/sstable_salvage.h"
#include "engine/version/file_names.h"

namespace winnow {

namespace {

// For a walk that takes every entry, in whatever order some comparator has put them.
class AnyOrder final : public Comparator {
 public:
  std::string_view Name() const override { return "winnow.any-order"; }
  // Whatever is compared with the key before it comes behind: the walk drops no entry as out of
  // order.
  int Compare(std::string_view, std::string_view) const override { return -1; }
};

absl::StatusOr<SequenceNumber> LargestSequenceOf(FileSystem& file_system, const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(auto file, file_system.OpenRandomAccess(path));
  WINNOW_ASSIGN_OR_RETURN(SstableFrame frame, FindSstableFrame(*file, path, {}));
  // The usual case, at the cost of a few small reads; without properties all entries are read.
  if (frame.properties.has_value()) return frame.properties->largest_sequence;
  SequenceNumber largest = 0;
  // No block can be checked without the identity that seeds its checksum.
  if (frame.file_id == 0) return largest;
  const AnyOrder any_order;
  SstableSalvage walk(std::move(file), path, std::move(frame));
  WINNOW_RETURN_IF_ERROR(
      walk.Run(InternalKeyComparator(&any_order), [&](std::string_view key, std::string_view) {
        largest = std::max(largest, Sequence(key));
        return absl::OkStatus();
      }));
  for (const RangeTombstone& tombstone : walk.range_tombstones()) {
    largest = std::max(largest, tombstone.sequence);
  }
  return largest;
}

}  // namespace

absl::StatusOr<SequenceNumber> LargestOrphanedSequence(FileSystem& file_system,
                                                       const std::string& directory,
                                                       const std::set<uint64_t>& live) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> names, file_system.List(directory));
  SequenceNumber largest = 0;
  for (const std::string& name : names) {
    std::string_view used_name = name;
    const bool was_orphaned = used_name.ends_with(kOrphanSuffix);
    if (was_orphaned) used_name.remove_suffix(kOrphanSuffix.size());
    FileType type;
    uint64_t number;
    if (!ParseFileName(used_name, &type, &number) || type != FileType::kSstable) continue;
    if (!was_orphaned && live.contains(number)) continue;
    const absl::StatusOr<SequenceNumber> found =
        LargestSequenceOf(file_system, absl::StrCat(directory, "/", name));
    // All other errors are the table's own, which a repair could not take back either.
    if (absl::IsResourceExhausted(found.status())) return found.status();
    largest = std::max(largest, found.value_or(0));
  }
  return largest;
}

}  // namespace winnow
