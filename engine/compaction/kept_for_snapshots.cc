#include "engine/compaction/kept_for_snapshots.h"

#include <algorithm>

namespace winnow {

namespace {

// Of a file's entries. Each deletion hides one at least: both are counted.
constexpr uint64_t kLeastHiddenPart = 10;

bool HidesMuch(const FileMetadata& file) {
  return file.num_range_deletions > 0 ||
         (file.num_deletions > 0 && 2 * file.num_deletions >= file.num_entries / kLeastHiddenPart);
}

}  // namespace

KeptForSnapshots PickKeptForSnapshots(const std::shared_ptr<const Version>& version,
                                      const ColumnFamilyOptions& options,
                                      SequenceNumber oldest_snapshot) {
  KeptForSnapshots kept;
  if (!version->has_deepest_deletions()) [[likely]]
    return kept;
  // With fifo nothing is merged; what is to be ingested behind everything else is hidden by
  // deletions that seem to hide nothing.
  if (options.compaction.kind == CompactionStyle::Kind::kFifo || options.allow_ingest_behind) {
    return kept;
  }
  const int level = version->deepest_level();
  if (level < 1) return kept;  // what is merged out of level 0 meets the deepest level
  for (const auto& file : version->files(level)) {
    // deletions_stay: it was tried; the rest stands below operands that make no value. A file that
    // cannot be opened would fail the compaction for something that nobody waits for.
    const bool may_go = HidesMuch(file->metadata()) && !file->deletions_stay;
    if (!may_go || !IsIdle(*file) || file->reader() == nullptr) continue;
    kept.due_from = std::min(kept.due_from, file->metadata().largest_sequence);
    if (file->metadata().largest_sequence > oldest_snapshot) continue;
    // Nothing lies below, and outputs lie within the range that the file had.
    kept.compaction = std::make_unique<Compaction>();
    kept.compaction->version = version;
    kept.compaction->inputs[static_cast<size_t>(level)] = {file};
    kept.compaction->output_level = level;
    kept.compaction->reason = kSnapshotsReleasedReason;
    return kept;
  }
  return kept;
}

}  // namespace winnow
