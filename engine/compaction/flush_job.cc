#include "engine/compaction/flush_job.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/compaction/compaction_iterator.h"
#include "engine/compaction/other_files.h"
#include "engine/compaction/range_tombstone_merge.h"
#include "engine/version/merging_iterator.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// All memtables as one sorted run. In which order they are merged does not matter: no two entries
// have both the same key and the same sequence number.
absl::Status WriteEntries(std::span<const Memtable* const> memtables,
                          const FlushJobOptions& options, SstableOutputResult* result) {
  const InternalKeyComparator& comparator = memtables.front()->comparator();
  std::vector<std::unique_ptr<InternalIterator>> children;
  RangeTombstoneMerge tombstones(comparator);
  uint64_t num_entries = 0;
  for (const Memtable* memtable : memtables) {
    children.push_back(memtable->NewIterator());
    // Range deletions are among a memtable's entries, but its iterator does not show them.
    num_entries += memtable->num_entries() - memtable->num_range_deletions();
    if (memtable->has_range_deletions()) {
      // Their bytes stay the memtable's, which outlives the call.
      memtable->range_tombstones().Shared()->AppendTo(tombstones.tombstones());
    }
  }
  const auto input = NewMergingIterator(comparator, std::move(children));
  input->SeekToFirst();
  std::optional<OtherFilesOfVersion> others;
  std::unique_ptr<EntryCollector> collector;
  if (options.collectors != nullptr) {
    others.emplace(*options.version, options.collectors->EveryEntryRemoves());
    collector = options.collectors->NewCollector(
        Collection::At(options.moment, options.snapshots, &*others));
  }
  // Level 0 is never the bottommost level: tombstones stay.
  CompactionIterator entries(input.get(), comparator, options.merge_operator, options.snapshots,
                             nullptr, nullptr, tombstones.index(), collector.get());
  entries.Start();
  absl::Status status = WriteSstables(
      options.output, comparator, &entries,
      tombstones.Kept(options.snapshots, nullptr, std::nullopt, std::nullopt), result);
  result->entries_collected += entries.num_collected();
  result->num_merge_failures += entries.num_merge_failures();
  result->merge_failure.Update(entries.merge_failure());
  // As RunCompaction's check, and for the same reason: once the flush is installed its logs are
  // removed, and what was not met would be gone for good.
  if (status.ok() && entries.num_seen() != num_entries) {
    status = absl::InternalError(
        absl::StrCat("flush saw ", entries.num_seen(), " of ", num_entries, " entries"));
  }
  return status;
}

}  // namespace

absl::Status RunFlush(std::span<const Memtable* const> memtables, const FlushJobOptions& options,
                      SstableOutputResult* result) {
  return OrRemoveOutputs(options.output.store, result->files,
                         [&] { return WriteEntries(memtables, options, result); });
}

}  // namespace winnow
