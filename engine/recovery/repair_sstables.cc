#include "engine/recovery/repair_sstables.h"

#include <optional>

#include "absl/strings/match.h"
#include "engine/base/status.h"
#include "engine/compaction/compaction_iterator.h"
#include "engine/compaction/range_tombstone_merge.h"
#include "engine/compaction/sstable_output.h"
#include "engine/file_system/durable_files.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/sstable/sstable_salvage.h"
#include "engine/version/file_names.h"
#include "engine/version/merging_iterator.h"
#include "engine/version/sstable_description.h"

namespace winnow {

namespace {

// Of each fragment the newest: no snapshot outlives its process.
std::vector<RangeTombstoneFragment> KeptByRepair(RangeTombstoneMerge* tombstones) {
  return tombstones->Kept({}, nullptr, std::nullopt, std::nullopt);
}

void AddTombstones(RangeTombstoneMerge* tombstones, SstableBuilder* builder) {
  for (const RangeTombstoneFragment& fragment : KeptByRepair(tombstones)) {
    builder->AddRangeTombstones(fragment.begin, fragment.end, fragment.sequences);
  }
}

// A table is given up for what is wrong with it, never for want of memory or descriptors.
absl::Status WhyNotLookedAt(const std::string& path, const std::vector<SstableProblem>& problems) {
  for (const SstableProblem& problem : problems) {
    if (!problem.is_damage) return problem.ToStatus(path);
  }
  return absl::OkStatus();
}

}  // namespace

void RepairSstables::Note(const std::string& text) {
  if (noted_.insert(text).second) report_->notes.push_back(text);
}

// The check of a table and the walk that rescues it meet the same damage, and a large table may
// have it in very many blocks.
void RepairSstables::NoteProblems(const std::string& path,
                                  const std::vector<SstableProblem>& problems) {
  constexpr uint64_t kMostNotes = 100;
  uint64_t num_new = 0;
  for (const SstableProblem& problem : problems) {
    // Some reasons are whole messages, which name the file already.
    const std::string text = absl::StrContains(problem.reason, ToAbsl(path))
                                 ? problem.reason
                                 : std::string(problem.ToStatus(path).message());
    if (!noted_.insert(text).second) continue;
    if (++num_new <= kMostNotes) report_->notes.push_back(text);
  }
  if (num_new > kMostNotes) {
    report_->notes.push_back(absl::StrCat(path, ": ... and ", num_new - kMostNotes, " more"));
  }
}

std::string RepairSstables::PathOf(const std::string& name) const {
  return absl::StrCat(store_.directory, "/", name);
}

absl::StatusOr<std::unique_ptr<SstableReader>> RepairSstables::Open(
    const std::string& name, uint64_t file_id, const ColumnFamilyState& family,
    SequenceNumber global_sequence) {
  const std::string path = PathOf(name);
  WINNOW_ASSIGN_OR_RETURN(auto file, store_.OpenFile(path, file_id));
  SstableReaderOptions options;
  options.comparator = family.comparator();
  // 0 accepts any: of tables that this repair has just written.
  options.expected_file_id = file_id;
  options.global_sequence = global_sequence;
  options.filter_policy = family.filter_policy();
  return SstableReader::Open(options, std::move(file), path);
}

absl::StatusOr<SoundSstable> RepairSstables::Describe(uint64_t number,
                                                      std::unique_ptr<SstableReader> reader,
                                                      SequenceNumber global_sequence) {
  WINNOW_ASSIGN_OR_RETURN(const SstableProperties properties, reader->ReadProperties());
  SoundSstable table;
  // Bounds and numbers as the table has them, whatever the manifest said.
  WINNOW_ASSIGN_OR_RETURN(table.file, DescribeSstable(*reader, properties, global_sequence));
  table.file.number = number;
  table.reader = std::move(reader);
  return table;
}

absl::StatusOr<std::unique_ptr<SstableReader>> RepairSstables::Examine(
    const FoundSstable& table, const ColumnFamilyState& family,
    std::vector<SstableProblem>* problems) {
  // One read may fail where the next does not, and giving up a table is final. The verifier reads
  // past the cache, so that the second look goes to the file again.
  for (int look = 1;; look++) {
    problems->clear();
    absl::StatusOr<std::unique_ptr<SstableReader>> reader =
        Open(table.name, table.frame.file_id, family, table.frame.global_sequence);
    if (reader.ok()) *problems = (*reader)->Verify();
    const bool is_sound = reader.ok() && problems->empty();
    if (is_sound || look == 2 || absl::IsNotFound(reader.status())) return reader;
  }
}

absl::StatusOr<SoundSstable> RepairSstables::KeepOrRewrite(
    const std::vector<const FoundSstable*>& copies, const ColumnFamilyState& family) {
  for (const FoundSstable* table : copies) {
    const std::string path = PathOf(table->name);
    std::vector<SstableProblem> problems;
    absl::StatusOr<std::unique_ptr<SstableReader>> reader = Examine(*table, family, &problems);
    if (MustEndRepair(reader.status())) return reader.status();
    // What was not looked at may be sound: the repair ends here, before anything is given up for
    // it.
    WINNOW_RETURN_IF_ERROR(WhyNotLookedAt(path, problems));
    if (reader.ok() && problems.empty()) {
      WINNOW_ASSIGN_OR_RETURN(SoundSstable sound, Keep(*table, *std::move(reader)));
      sound.kept = table;
      return sound;
    }
    if (!reader.ok()) Note(std::string(reader.status().message()));
    NoteProblems(path, problems);
  }
  // None is sound. All are given up together, and one new table gets what can be read of any of
  // them.
  for (const FoundSstable* table : copies) PutAside(table->name);
  return Rewrite(copies, family);
}

absl::StatusOr<SoundSstable> RepairSstables::Keep(const FoundSstable& table,
                                                  std::unique_ptr<SstableReader> reader) {
  report_->tables_kept++;
  const SequenceNumber global_sequence = table.frame.global_sequence;
  if (table.number != 0) return Describe(table.number, std::move(reader), global_sequence);
  // A second name, under which a manifest can name it; nothing does before the repair's own.
  const uint64_t number = NewFileNumber();
  WINNOW_RETURN_IF_ERROR(LinkOrCopy(*store_.file_system, PathOf(table.name),
                                    SstableFileName(store_.directory, number)));
  PutAside(table.name);
  return Describe(number, std::move(reader), global_sequence);
}

// What one copy has lost another may have.
absl::StatusOr<SoundSstable> RepairSstables::Rewrite(const std::vector<const FoundSstable*>& copies,
                                                     const ColumnFamilyState& family) {
  int level = family.options().compaction.last_level();
  std::string of_all;
  std::string paths;
  std::vector<SoundSstable> parts;
  for (const FoundSstable* copy : copies) {
    absl::StrAppend(&paths, paths.empty() ? "" : ", ", PathOf(copy->name));
    if (const auto& properties = copy->frame.properties; properties.has_value()) {
      // For its compression and its properties: which level the new table lies on the manifest
      // says.
      level = static_cast<int>(properties->level_at_creation);
      of_all = absl::StrCat(" of ", properties->num_entries);
    }
    WINNOW_ASSIGN_OR_RETURN(SoundSstable part, Salvage(*copy, family));
    if (part.reader != nullptr) parts.push_back(std::move(part));
  }
  if (parts.empty()) {
    report_->tables_lost++;
    report_->notes.push_back(absl::StrCat(paths, ": nothing can be read"));
    return SoundSstable();
  }
  SoundSstable whole = std::move(parts.front());
  if (parts.size() > 1) {
    parts.front() = std::move(whole);
    WINNOW_ASSIGN_OR_RETURN(whole, Unite(parts, level, family));
  }
  report_->tables_rewritten++;
  report_->entries_rescued += whole.file.num_entries;
  report_->notes.push_back(absl::StrCat(paths, ": ", whole.file.num_entries, of_all,
                                        " entries could be read and are now in ",
                                        SstableFileName(store_.directory, whole.file.number)));
  return whole;
}

absl::StatusOr<SoundSstable> RepairSstables::Salvage(const FoundSstable& table,
                                                     const ColumnFamilyState& family) {
  const std::string damaged_path = PathOf(table.name);
  WINNOW_ASSIGN_OR_RETURN(auto damaged, store_.file_system->OpenRandomAccess(damaged_path));
  SstableSalvage salvage(std::move(damaged), damaged_path, table.frame);
  const std::optional<SstableProperties>& properties = table.frame.properties;
  const int level = properties.has_value() ? static_cast<int>(properties->level_at_creation)
                                           : family.options().compaction.last_level();
  // If the repair ends before its manifest, nothing names the new file: an orphan.
  const uint64_t number = NewFileNumber();
  const std::string path = SstableFileName(store_.directory, number);
  WINNOW_ASSIGN_OR_RETURN(auto file, store_.file_system->Create(path, {}));
  SstableBuilder builder(family.BuilderOptions(level), std::move(file), path);
  WINNOW_RETURN_IF_ERROR(salvage.Run(
      family.comparator(),
      [&](std::string_view key, std::string_view value) { return builder.Add(key, value); }));
  // Blocks that were passed over for want of memory must not count as unreadable.
  WINNOW_RETURN_IF_ERROR(WhyNotLookedAt(damaged_path, salvage.problems()));
  NoteProblems(damaged_path, salvage.problems());
  RangeTombstoneMerge tombstones(family.comparator());
  *tombstones.tombstones() = salvage.range_tombstones();
  AddTombstones(&tombstones, &builder);
  const uint64_t rescued = builder.num_entries() + builder.num_range_deletions();
  WINNOW_RETURN_IF_ERROR(builder.Finish().status());
  // A table that holds nothing has no bounds for a manifest.
  if (rescued == 0) {
    store_.file_system->Remove(path).IgnoreError();
    return SoundSstable();
  }
  WINNOW_ASSIGN_OR_RETURN(auto reader, Open(SstableName(number), 0, family));
  return Describe(number, std::move(reader));
}

// Entries of equal internal keys are the same entry, from different copies.
absl::StatusOr<SoundSstable> RepairSstables::Unite(const std::vector<SoundSstable>& parts,
                                                   int level, const ColumnFamilyState& family) {
  std::vector<std::unique_ptr<InternalIterator>> children;
  RangeTombstoneMerge tombstones(family.comparator());
  for (const SoundSstable& part : parts) {
    children.push_back(part.reader->NewIterator({}));
    tombstones.Add(*part.reader);
  }
  const auto input = NewMergingIterator(family.comparator(), std::move(children));
  const uint64_t number = NewFileNumber();
  const std::string path = SstableFileName(store_.directory, number);
  WINNOW_ASSIGN_OR_RETURN(auto file, store_.file_system->Create(path, {}));
  SstableBuilder builder(family.BuilderOptions(level), std::move(file), path);
  std::string last_key;
  for (input->SeekToFirst(); input->Valid(); input->Next()) {
    if (input->key() == last_key) continue;
    last_key.assign(input->key());
    WINNOW_RETURN_IF_ERROR(builder.Add(input->key(), input->value()));
  }
  WINNOW_RETURN_IF_ERROR(input->status());
  AddTombstones(&tombstones, &builder);
  WINNOW_RETURN_IF_ERROR(builder.Finish().status());
  // No manifest has ever named a part, so that nothing can miss it.
  for (const SoundSstable& part : parts) {
    store_.file_system->Remove(SstableFileName(store_.directory, part.file.number)).IgnoreError();
  }
  WINNOW_ASSIGN_OR_RETURN(auto reader, Open(SstableName(number), 0, family));
  return Describe(number, std::move(reader));
}

// Sequence numbers are part of the order: of equal user keys the newest comes first, whatever table
// it is in, and wins. Tombstones and sequence numbers stay, though nothing lies below the last
// level: logs that are replayed later may hold what is older.
absl::StatusOr<std::vector<FileMetadata>> RepairSstables::Merge(
    const std::vector<SoundSstable>& tables, const ColumnFamilyState& family) {
  std::vector<std::unique_ptr<InternalIterator>> children;
  RangeTombstoneMerge tombstones(family.comparator());
  for (const SoundSstable& table : tables) {
    SstableReadOptions options;
    // All tables are read to their ends, side by side: small reads would make a disk seek for each
    // block.
    options.readahead_bytes = size_t{1} << 20;
    children.push_back(table.reader->NewIterator(options));
    tombstones.Add(*table.reader);
  }
  const auto input = NewMergingIterator(family.comparator(), std::move(children));
  input->SeekToFirst();
  CompactionIterator entries(input.get(), family.comparator(), &family.merge_operator(), {},
                             nullptr, nullptr, tombstones.index());
  // No snapshots: of each key the newest version is kept, since no reader outlives its process.
  entries.Start();
  SstableOutputOptions output;
  output.store = store_;
  output.builder = family.BuilderOptions(family.options().compaction.last_level());
  // Cut into files like any compaction's output, so that the next compaction need not take all of
  // it.
  output.target_file_bytes = family.options().target_file_bytes;
  output.new_file_number = [this] { return NewFileNumber(); };
  SstableOutputResult result;
  WINNOW_RETURN_IF_ERROR(
      WriteSstables(output, family.comparator(), &entries, KeptByRepair(&tombstones), &result));
  // Last: the merged run is written. Tables that Rewrite has just made are among these.
  for (const SoundSstable& table : tables) PutAside(SstableName(table.file.number));
  return result.files;
}

}  // namespace winnow
