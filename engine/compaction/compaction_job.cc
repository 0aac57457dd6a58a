#include "engine/compaction/compaction_job.h"

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/ongoing_call.h"
#include "engine/base/start_thread.h"
#include "engine/compaction/compaction_parts.h"
#include "engine/compaction/other_files.h"
#include "engine/compaction/range_tombstone_merge.h"
#include "engine/version/level_iterator.h"
#include "engine/version/merging_iterator.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// The largest is large enough that the disk's throughput, not its latency, bounds a compaction that
// reads several inputs in turn.
constexpr size_t kLeastReadaheadBytes = size_t{16} << 10;
constexpr size_t kMostReadaheadBytes = size_t{1} << 20;
// A part smaller than this is not worth a thread, unless it fills a table.
constexpr uint64_t kLeastPartBytes = uint64_t{16} << 20;

// One part of the key range, and what came of it.
struct PartJob {
  CompactionPart range;
  absl::Status status;
  SstableOutputResult output;
  uint64_t bytes_read = 0;
  uint64_t entries_seen = 0;
  uint64_t entries_dropped = 0;
  uint64_t entries_range_deleted = 0;
  CompactedValueCounts values;
};

// What one input may read ahead, of `total`. Files of level 0 are inputs each; of a deeper level
// one file is read at a time.
size_t ReadaheadOfOne(const Compaction& compaction, size_t total, size_t num_parts) {
  size_t inputs = compaction.inputs[0].size();
  for (size_t level = 1; level < compaction.inputs.size(); level++) {
    inputs += compaction.inputs[level].empty() ? 0 : 1;
  }
  const size_t share = total / std::max<size_t>(inputs * num_parts, 1);
  return std::clamp(share, kLeastReadaheadBytes, kMostReadaheadBytes);
}

// One child for each file of level 0, whose files overlap, newest first; one for each deeper level,
// whose files do not. Entries with equal internal keys cannot occur in two children, so that their
// order decides nothing but where a merge of damaged files would end.
//
// Level iterators for single files too: they report the open error of a file that has no reader.
std::unique_ptr<InternalIterator> NewInputIterator(const Compaction& compaction,
                                                   const SstableReadOptions& read_options) {
  const InternalKeyComparator& comparator = compaction.version->comparator();
  std::vector<std::unique_ptr<InternalIterator>> children;
  for (const auto& file : compaction.inputs[0]) {
    children.push_back(
        std::make_unique<LevelIterator>(LevelIterator::Files(&file, 1), comparator, read_options));
  }
  for (size_t level = 1; level < compaction.inputs.size(); level++) {
    const Version::Files& files = compaction.inputs[level];
    if (files.empty()) continue;
    children.push_back(std::make_unique<LevelIterator>(files, comparator, read_options));
  }
  return NewMergingIterator(comparator, std::move(children));
}

// Between the merge and the decision what to keep: a value that has become a deletion is then
// treated as every deletion is.
std::unique_ptr<InternalIterator> ApplyValueRules(std::unique_ptr<InternalIterator> input,
                                                  const Compaction& compaction,
                                                  const CompactionJobOptions& options,
                                                  const RangeTombstoneIndex* tombstones,
                                                  PartJob* part) {
  CompactedValuesContext context;
  context.comparator = compaction.version->comparator();
  // The newest one suffices: a value that is newer than that is seen by no snapshot at all.
  if (!options.snapshots.empty()) context.newest_snapshot = options.snapshots.back();
  if (!options.keep_for_older) context.is_last_level = BottommostLevelChecker(compaction);
  if (part->range.end.has_value()) context.end_user_key = &*part->range.end;
  context.tombstones = tombstones;
  context.counts = &part->values;
  return NewCompactedValues(std::move(input), options.values, std::move(context));
}

// Null: nothing is collected. Neither where older entries may come in behind: they might be what a
// marker hides that has gone.
std::unique_ptr<EntryCollector> NewCollector(const CompactionJobOptions& options,
                                             const OtherFiles& others, const PartJob& part) {
  if (options.collectors == nullptr || options.keep_for_older) return nullptr;
  Collection collection = Collection::At(options.moment, options.snapshots, &others);
  if (part.range.end.has_value()) collection.end = &*part.range.end;
  return options.collectors->NewCollector(collection);
}

absl::Status CompactPart(const Compaction& compaction, const CompactionJobOptions& options,
                         size_t readahead_bytes, PartJob* part) {
  ReadCounters counters;
  SstableReadOptions read_options;
  read_options.verify_checksums = options.verify_checksums;
  // What a compaction reads is about to be deleted: it must not push out blocks that readers use.
  read_options.fill_cache = false;
  read_options.readahead_bytes = readahead_bytes;
  read_options.counters = &counters;
  const InternalKeyComparator& comparator = compaction.version->comparator();
  // Each part indexes the tombstones of all inputs, since one may reach over several parts; what it
  // writes of them Kept() cuts to its own range.
  RangeTombstoneMerge tombstones(comparator);
  for (const auto& files : compaction.inputs) {
    for (const auto& file : files) {
      if (file->range_tombstones() != nullptr) tombstones.Add(*file->reader());
    }
  }
  const RangeTombstoneIndex* const tombstone_index = tombstones.index();
  auto input = NewInputIterator(compaction, read_options);
  if (options.values.any()) [[unlikely]]
    input = ApplyValueRules(std::move(input), compaction, options, tombstone_index, part);
  if (part->range.begin.has_value()) {
    // In front of all versions of the key: a part has them all.
    input->Seek(MakeInternalKey(*part->range.begin, kMaxSequenceNumber, kEntryTypeForSeek));
  } else {
    input->SeekToFirst();
  }
  // Both stay empty where older entries may come in behind: then no tombstone goes, and no sequence
  // number becomes 0.
  std::function<bool(std::string_view)> is_oldest;
  RangeTombstoneMerge::IsLastLevelFor is_oldest_of;
  if (!options.keep_for_older) {
    is_oldest = BottommostLevelChecker(compaction);
    is_oldest_of = [&compaction](std::string_view begin, std::string_view end) {
      return IsBottommostFor(compaction, begin, end);
    };
  }
  std::optional<OtherFilesOfVersion> others;
  std::unique_ptr<EntryCollector> collector;
  if (options.collectors != nullptr) {
    others.emplace(compaction, options.collectors->EveryEntryRemoves());
    collector = NewCollector(options, *others, *part);
  }
  CompactionIterator entries(
      input.get(), comparator, options.merge_operator, options.snapshots, std::move(is_oldest),
      part->range.end.has_value() ? &*part->range.end : nullptr, tombstone_index, collector.get());
  entries.Start();
  const absl::Status status = WriteSstables(
      options.output, comparator, &entries,
      tombstones.Kept(options.snapshots, is_oldest_of, part->range.begin, part->range.end),
      &part->output);
  // Whatever the status: what has been read and what the operator refused is counted of a part that
  // failed, too.
  part->output.num_merge_failures = entries.num_merge_failures();
  part->output.merge_failure = entries.merge_failure();
  part->bytes_read = counters.bytes_read.value();
  part->entries_seen = entries.num_seen();
  part->entries_dropped = entries.num_dropped();
  part->entries_range_deleted = entries.num_range_deleted();
  part->output.entries_collected = entries.num_collected();
  return status;
}

void RunPart(const Compaction& compaction, const CompactionJobOptions& options,
             size_t readahead_bytes, PartJob* part) {
  part->status =
      CatchOutOfMemory([&] { return CompactPart(compaction, options, readahead_bytes, part); });
}

absl::Status AddUp(const Compaction& compaction, const std::vector<PartJob>& parts,
                   CompactionJobResult* result) {
  absl::Status status;
  for (const PartJob& part : parts) {
    // Results are added up even if a part failed: what has been read and written is counted.
    status.Update(part.status);
    result->bytes_read += part.bytes_read;
    result->entries_seen += part.entries_seen;
    result->entries_dropped += part.entries_dropped;
    result->entries_range_deleted += part.entries_range_deleted;
    result->values += part.values;
    result->output.bytes_written += part.output.bytes_written;
    result->output.entries_written += part.output.entries_written;
    result->output.entries_collected += part.output.entries_collected;
    result->output.waited += part.output.waited;
    result->output.num_filters_fell_back += part.output.num_filters_fell_back;
    result->output.num_merge_failures += part.output.num_merge_failures;
    result->output.merge_failure.Update(part.output.merge_failure);
    result->output.files.insert(result->output.files.end(), part.output.files.begin(),
                                part.output.files.end());
  }
  // The last line of defence against silent loss. An iterator that ended early without an error, an
  // index whose block went missing, a part boundary that skipped a key: whatever the mistake, the
  // inputs would be deleted after this, so the count must be what the manifest says.
  if (status.ok() && result->entries_seen != compaction.input_entries()) {
    status = absl::DataLossError(
        absl::StrCat("compaction (", compaction.DebugString(), ") read ", result->entries_seen,
                     " entries, but its input files hold ", compaction.input_entries()));
  }
  return status;
}

}  // namespace

absl::Status RunCompaction(const Compaction& compaction, const CompactionJobOptions& options,
                           CompactionJobResult* result) {
  std::vector<PartJob> parts;
  const uint64_t least_bytes = std::min(kLeastPartBytes, options.output.target_file_bytes);
  for (CompactionPart& range :
       SplitIntoParts(compaction, options.max_threads, least_bytes, options.collectors)) {
    parts.emplace_back().range = std::move(range);
  }
  const size_t readahead_bytes = ReadaheadOfOne(compaction, options.readahead_bytes, parts.size());
  // The parts share nothing but the options: each has its own iterators, table output and result.
  std::vector<std::thread> threads(parts.size());
  // The first part is done on this thread, which would only wait otherwise.
  size_t started = 1;
  // A callback on another thread that calls the database is to be refused as it would be on this
  // one.
  const OngoingCall* const call = OngoingCall::Innermost();
  while (started < parts.size() && StartThread(&threads[started], [&, part = &parts[started]] {
                                     const OngoingCall same_call(call);
                                     RunPart(compaction, options, readahead_bytes, part);
                                   }).ok()) {
    started++;
  }
  RunPart(compaction, options, readahead_bytes, &parts[0]);
  // What no thread could be had for is done here.
  for (size_t i = started; i < parts.size(); i++) {
    RunPart(compaction, options, readahead_bytes, &parts[i]);
  }
  for (std::thread& thread : threads) {
    // Before any result is read: the join is what publishes a part's results to this thread.
    if (thread.joinable()) thread.join();
  }

  const absl::Status status = CatchOutOfMemory([&] { return AddUp(compaction, parts, result); });
  if (status.ok()) return status;
  // Those of parts that succeeded as well: no manifest names any of them, and a new try writes all
  // anew. By the parts' lists, which are whole even where there was no memory to join them.
  for (const PartJob& part : parts) RemoveOutputs(options.output.store, part.output.files);
  return status;
}

}  // namespace winnow
