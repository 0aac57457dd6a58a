#include "engine/recovery/repair_sstables.h"

#include "engine/base/status.h"
#include "engine/compaction/compaction_iterator.h"
#include "engine/compaction/sstable_output.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/sstable/sstable_salvage.h"
#include "engine/version/file_names.h"
#include "engine/version/merging_iterator.h"

namespace winnow {

namespace {

// A table is given up for what is wrong with it, never for want of memory or descriptors.
absl::Status WhyNotLookedAt(const std::string& path, const std::vector<SstableProblem>& problems) {
  for (const SstableProblem& problem : problems) {
    if (!problem.is_damage) return problem.ToStatus(path);
  }
  return absl::OkStatus();
}

}  // namespace

// Only noted: until the new manifest is in force the old one still names the file.
void RepairSstables::PutAside(uint64_t number) {
  put_aside_.push_back(SstableFileName(".", number).substr(2));
}

absl::StatusOr<std::unique_ptr<SstableReader>> RepairSstables::Open(
    uint64_t number, uint64_t file_id, const ColumnFamilyState& family) {
  const std::string path = SstableFileName(store_.directory, number);
  WINNOW_ASSIGN_OR_RETURN(auto file, store_.OpenFile(path, file_id));
  SstableReaderOptions options;
  options.comparator = family.comparator();
  // Under the right number may stand a file of another database, or of an older copy of this one:
  // sound, and wrong here. The identity tells them apart.
  options.expected_file_id = file_id;
  options.filter_policy = family.options().filter_policy;
  return SstableReader::Open(options, std::move(file), path);
}

absl::StatusOr<SoundSstable> RepairSstables::Describe(uint64_t number,
                                                      std::unique_ptr<SstableReader> reader) {
  const SstableProperties& properties = reader->properties();
  SoundSstable table;
  table.file.number = number;
  table.file.file_id = reader->file_id();
  table.file.file_bytes = reader->file_bytes();
  table.file.num_entries = properties.num_entries;
  table.file.num_deletions = properties.num_deletions;
  table.file.smallest_sequence = properties.smallest_sequence;
  table.file.largest_sequence = properties.largest_sequence;
  // Read from the entries: properties have the bounds as user keys, a manifest as internal ones.
  const auto iterator = reader->NewIterator({});
  iterator->SeekToFirst();
  if (iterator->Valid()) table.file.smallest = iterator->key();
  iterator->SeekToLast();
  if (iterator->Valid()) table.file.largest = iterator->key();
  WINNOW_RETURN_IF_ERROR(iterator->status());
  table.reader = std::move(reader);
  return table;
}

absl::StatusOr<std::unique_ptr<SstableReader>> RepairSstables::Examine(
    uint64_t number, uint64_t file_id, const ColumnFamilyState& family,
    std::vector<SstableProblem>* problems) {
  // One read may fail where the next does not, and giving up a table is final. The verifier reads
  // past the cache, so that the second look goes to the file again.
  for (int look = 1;; look++) {
    problems->clear();
    absl::StatusOr<std::unique_ptr<SstableReader>> reader = Open(number, file_id, family);
    if (reader.ok()) *problems = (*reader)->Verify();
    const bool is_sound = reader.ok() && problems->empty();
    if (is_sound || look == 2 || absl::IsNotFound(reader.status())) return reader;
  }
}

absl::StatusOr<SoundSstable> RepairSstables::KeepOrRewrite(uint64_t number, uint64_t file_id,
                                                           const ColumnFamilyState& family) {
  const std::string path = SstableFileName(store_.directory, number);
  std::vector<SstableProblem> problems;
  absl::StatusOr<std::unique_ptr<SstableReader>> reader =
      Examine(number, file_id, family, &problems);
  if (absl::IsFailedPrecondition(reader.status()) || absl::IsResourceExhausted(reader.status())) {
    return reader.status();
  }
  if (!reader.ok()) {
    report_->tables_lost++;
    report_->notes.push_back(absl::StrCat("nothing can be read: ", reader.status().message()));
    // A missing file cannot be given a second name.
    if (!absl::IsNotFound(reader.status())) PutAside(number);
    return SoundSstable();
  }
  WINNOW_RETURN_IF_ERROR(WhyNotLookedAt(path, problems));
  if (problems.empty()) {
    report_->tables_kept++;
    return Describe(number, *std::move(reader));
  }
  for (const SstableProblem& problem : problems) {
    report_->notes.push_back(
        absl::StrCat(path, ": at offset ", problem.offset, ": ", problem.reason));
  }
  PutAside(number);
  return Rewrite(**reader, family);
}

absl::StatusOr<SoundSstable> RepairSstables::Rewrite(const SstableReader& damaged,
                                                     const ColumnFamilyState& family) {
  // If the repair ends before its manifest, nothing names the new file: an orphan.
  const uint64_t number = NewFileNumber();
  const std::string path = SstableFileName(store_.directory, number);
  WINNOW_ASSIGN_OR_RETURN(auto file, store_.file_system->Create(path, {}));
  SstableBuilder builder(
      family.BuilderOptions(static_cast<int>(damaged.properties().level_at_creation)),
      std::move(file), path);
  SstableSalvage salvage(damaged);
  WINNOW_RETURN_IF_ERROR(salvage.Run(
      [&](std::string_view key, std::string_view value) { return builder.Add(key, value); }));
  // Blocks that were passed over for want of memory must not count as unreadable.
  WINNOW_RETURN_IF_ERROR(WhyNotLookedAt(damaged.path(), salvage.problems()));
  const uint64_t rescued = builder.num_entries();
  WINNOW_RETURN_IF_ERROR(builder.Finish().status());
  // A table without entries has no bounds for a manifest.
  if (rescued == 0) {
    store_.file_system->Remove(path).IgnoreError();
    report_->tables_lost++;
    return SoundSstable();
  }
  report_->tables_rewritten++;
  report_->entries_rescued += rescued;
  report_->notes.push_back(absl::StrCat(damaged.path(), ": ", rescued, " of ",
                                        damaged.properties().num_entries,
                                        " entries could be read and are now in ", path));
  WINNOW_ASSIGN_OR_RETURN(auto reader, Open(number, 0, family));
  return Describe(number, std::move(reader));
}

// Sequence numbers are part of the order: of equal user keys the newest comes first, whatever table
// it is in, and wins. Nothing lies below the last level, so that tombstones go once they have
// hidden what is in the other tables.
absl::StatusOr<std::vector<FileMetadata>> RepairSstables::Merge(
    const std::vector<SoundSstable>& tables, const ColumnFamilyState& family) {
  std::vector<std::unique_ptr<InternalIterator>> children;
  for (const SoundSstable& table : tables) {
    SstableReadOptions options;
    options.readahead_bytes = size_t{1} << 20;
    children.push_back(table.reader->NewIterator(options));
  }
  const auto input = NewMergingIterator(family.comparator(), std::move(children));
  input->SeekToFirst();
  CompactionIterator entries(input.get(), family.comparator(), {},
                             [](std::string_view /*user_key*/) { return true; });
  entries.Start();
  SstableOutputOptions output;
  output.store = store_;
  output.builder = family.BuilderOptions(kNumLevels - 1);
  output.target_file_bytes = family.options().target_file_bytes;
  output.new_file_number = [this] { return NewFileNumber(); };
  SstableOutputResult result;
  WINNOW_RETURN_IF_ERROR(WriteSstables(output, family.comparator(), &entries, &result));
  // Last: the merged run is written. Tables that Rewrite has just made are among these.
  for (const SoundSstable& table : tables) PutAside(table.file.number);
  return result.files;
}

}  // namespace winnow
