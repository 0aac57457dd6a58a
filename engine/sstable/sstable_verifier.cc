#include "engine/sstable/sstable_verifier.h"

#include <algorithm>
#include <type_traits>

#include "engine/base/shown_key.h"
#include "engine/base/status.h"
#include "engine/sstable/block_cursor.h"
#include "engine/sstable/range_tombstone_block.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// A filter that is wrong may deny every key of a table: people and memory need not have them all.
constexpr uint64_t kMostOfAKind = 100;

// Data blocks are read in pieces of this size: a system call for each would take as long as
// checking it does.
constexpr size_t kReadaheadBytes = size_t{1} << 20;

}  // namespace

void SstableVerifier::Report(uint64_t offset, std::string_view reason, bool is_damage) {
  problems_.push_back({offset, std::string(reason), is_damage});
}

// A problem has its offset, and its table the path: the message need not say them again.
void SstableVerifier::Report(uint64_t offset, const absl::Status& status) {
  problems_.push_back(ProblemOf(table_.path(), offset, status));
}

// Problems found before memory ran out are kept.
std::vector<SstableProblem> SstableVerifier::Run() {
  const absl::Status status = CatchOutOfMemory([this] { return CheckAll(); });
  if (!status.ok()) Report(0, "no memory to check the whole table", /*is_damage=*/false);
  return std::move(problems_);
}

// What each step may rely on: opening has read footer, properties and top index; everything else is
// read again from the file, past the cache. Every check goes on after a problem, so that one run
// lists all of them, and counts that a skipped block makes meaningless are not compared.
absl::Status SstableVerifier::CheckAll() {
  stored_ = table_.ReadProperties();
  CheckHeader();
  CheckFrame();
  CheckSignatures();
  CheckKeyHashes();
  CheckFilters();
  CheckRangeTombstones();
  CheckRangeFilter();
  if (table_.has_index_partitions()) {
    CheckPartitions();
  } else {
    CheckIndex();
  }
  ReportEntriesLeftOut();
  CheckCounts();
  return absl::OkStatus();
}

// Which no reader needs while the rest is there. The family's name may have been cut by the builder
// alone, and says nothing that its number does not.
void SstableVerifier::CheckHeader() {
  const Footer& footer = table_.footer_;
  expected_data_offset_ = footer.header_bytes;
  std::string bytes(footer.header_bytes, '\0');
  if (absl::Status status = table_.file_.ReadBytes(0, bytes.size(), bytes.data()); !status.ok()) {
    return Report(0, status);
  }
  const absl::StatusOr<TableHeader> header = TableHeader::Decode(bytes, table_.path());
  if (!header.ok()) return Report(0, header.status());
  if (header->header_bytes() != footer.header_bytes || header->file_id != footer.file_id ||
      (stored_.ok() && (header->database_id != stored_->hash_seed ||
                        header->column_family_id != stored_->column_family_id))) {
    Report(0, "header: says another table than footer and properties do");
  }
}

// Footer, properties and top index once more: memory holds what they were when opening.
void SstableVerifier::CheckFrame() {
  const BlockFile& file = table_.file_;
  const uint64_t footer_at = file.size() - kFooterBytes;
  char bytes[kFooterBytes];
  if (absl::Status status = file.ReadBytes(footer_at, kFooterBytes, bytes); !status.ok()) {
    Report(footer_at, status);
  } else if (absl::StatusOr<Footer> footer =
                 Footer::Decode(std::string_view(bytes, kFooterBytes), file.size(), file.path());
             !footer.ok()) {
    Report(footer_at, footer.status());
  }
  const Footer& footer = table_.footer_;
  if (!stored_.ok()) Report(footer.properties.offset, stored_.status());
  BlockFile::ReadOptions options;
  options.data_end = footer.index.offset;
  if (absl::Status status = file.Read(footer.index, BlockKind::kIndex, options).status();
      !status.ok()) {
    Report(footer.index.offset, status);
  }
}

const std::vector<SstableProblem>& SstableVerifier::CheckFilter(
    const FilterBlockSource& source, std::span<const filter::BuiltUnit> units,
    std::string_view key_text, std::string_view name) {
  filters_.push_back({name, FilterBlockVerifier(source, units), source.hash_seed, std::nullopt});
  CheckedFilter& filter = filters_.back();
  const auto key = filter::FilterKeyExtractor::Parse(key_text);
  if (key.ok() && !source.made_by_policy) filter.key = *key;
  return filter.block.problems();
}

// Read again, whatever of them is in memory. If opening refused a filter that is right now, the
// reason it gave is the finding.
void SstableVerifier::CheckFilters() {
  const BlockHandle& handle = table_.footer_.filter;
  bool any_problem = false;
  if (handle.exists()) {
    // Without properties nobody knows what is in it.
    const SstableProperties properties = stored_.value_or(SstableProperties());
    const FilterBlockSource source = {&table_.file_, handle, properties.hash_seed,
                                      !stored_.ok() || !properties.filter_policy.empty()};
    const std::vector<SstableProblem>& problems =
        CheckFilter(source, properties.filter_units, properties.filter_key,
                    table_.filter_file_ == nullptr ? "the filter" : "the table's own filter");
    problems_.insert(problems_.end(), problems.begin(), problems.end());
    any_problem = !problems.empty();
  }
  if (const FilterFile* const file = table_.filter_file_.get(); file != nullptr) {
    // Whose problems FilterFile::Verify names.
    any_problem = !CheckFilter(table_.filter_source(), file->header().units,
                               file->header().filter_key, "the filter")
                       .empty() ||
                  any_problem;
  }
  if (!any_problem && table_.filter_state().code != filter::FilterStateCode::kOk) {
    Report(handle.offset, table_.filter_state().reason, table_.filter_read_status().ok());
  }
}

void SstableVerifier::CheckSignatures() {
  const std::vector<SstableProblem> problems = signatures_.CheckBlocks();
  problems_.insert(problems_.end(), problems.begin(), problems.end());
  if (!problems.empty() || !stored_.ok() || !table_.has_signatures()) return;
  if (signatures_.num_signatures() == stored_->num_signatures) return;
  Report(table_.footer_.properties.offset,
         absl::StrCat("properties block: num_signatures is ", stored_->num_signatures,
                      " but the file has ", signatures_.num_signatures()));
}

void SstableVerifier::CheckKeyHashes() {
  const std::vector<SstableProblem> problems = key_hashes_.CheckBlocks();
  problems_.insert(problems_.end(), problems.begin(), problems.end());
}

void SstableVerifier::CheckRangeFilter() {
  const BlockHandle& handle = table_.footer_.range_filter;
  // Under another comparator no reader uses it (SstableReader::ReadRangeFilter).
  if (!handle.exists() || !table_.comparator().is_bytewise()) return;
  const auto filter = RangeFilterBlock::Load(table_.file_, handle, nullptr);
  if (filter == nullptr || filter->lacks_memory()) {
    return Report(handle.offset, "range filter block: no memory to check it", /*is_damage=*/false);
  }
  if (filter->state().code != filter::FilterStateCode::kOk) {
    return Report(handle.offset, absl::DataLossError(filter->state().reason));
  }
}

// Once more from the file, as the filter.
void SstableVerifier::CheckRangeTombstones() {
  const BlockHandle& handle = table_.footer_.range_tombstones;
  if (!handle.exists()) return;
  const absl::StatusOr<BlockRef> block = table_.file_.Read(handle, BlockKind::kRangeTombstones, {});
  if (!block.ok()) {
    skipped_a_block_ = true;
    return Report(handle.offset, block.status());
  }
  std::vector<RangeTombstone> tombstones;
  const char* const error =
      ReadRangeTombstoneBlock(block->contents(), table_.comparator(), &tombstones);
  if (error != nullptr) {
    skipped_a_block_ = true;
    return Report(handle.offset,
                  table_.file_.Corruption(handle, BlockKind::kRangeTombstones, error));
  }
  seen_.num_range_deletions = tombstones.size();
  seen_.range_tombstone_bytes = handle.size + kBlockTrailerBytes;
  seen_.smallest_sequence = kMaxSequenceNumber;
  for (const RangeTombstone& tombstone : tombstones) {
    seen_.smallest_sequence = std::min(seen_.smallest_sequence, tombstone.sequence);
    seen_.largest_sequence = std::max(seen_.largest_sequence, tombstone.sequence);
  }
}

// Or look-ups would go astray where separators lead right.
void SstableVerifier::CheckHeads(const IndexBlock& index) {
  if (index.HeadsAgree()) return;
  Report(index.first_offset(), "index: heads are not those of its separators");
}

// Data blocks must follow each other from one index to the next: a gap would be bytes that nobody
// reads, an overlap blocks that two entries claim.
template <typename Index>
void SstableVerifier::CheckDataBlocks(const Index& index) {
  if (index.first_offset() != expected_data_offset_) {
    Report(index.first_offset(), "index: data blocks do not follow each other");
  }
  expected_data_offset_ = index.end_offset();
  // A directory is made of an index whose heads are right.
  if constexpr (std::is_same_v<Index, IndexBlock>) CheckHeads(index);
  for (uint32_t i = 0; i < index.size(); i++) {
    CheckDataBlock(index.handle(i), index.separator(i));
  }
}

// The index that look-ups go by, in memory or in the cache. CheckFrame has read the file's.
void SstableVerifier::CheckIndex() {
  const absl::Status status =
      table_.WithTopIndex([this](const auto& index) { CheckDataBlocks(index); });
  if (!status.ok()) skipped_a_block_ = true;  // CheckFrame has said why
}

// A partition that cannot be read leaves a hole: where its data blocks began is not known, so that
// the next partition is taken at its word, and the separator before it is unknown as well.
void SstableVerifier::CheckPartitions() {
  const IndexBlock& top = table_.index_;
  BlockFile::ReadOptions options;
  options.data_end = table_.figures_.data_bytes;
  for (uint32_t i = 0; i < top.size(); i++) {
    const BlockHandle handle = top.handle(i);
    absl::StatusOr<BlockRef> block = table_.file_.Read(handle, BlockKind::kIndexPartition, options);
    if (!block.ok()) {
      Report(handle.offset, block.status());
      skipped_a_block_ = true;
      last_separator_.reset();
      if (i + 1 == top.size()) expected_data_offset_ = table_.figures_.data_bytes;
      continue;
    }
    const IndexBlock partition((*block)->data());
    if (skipped_a_block_) expected_data_offset_ = partition.first_offset();
    // Both levels must agree, or a look-up would be led into the wrong partition.
    if (partition.size() == 0 || partition.separator(partition.size() - 1) != top.separator(i)) {
      Report(handle.offset, "index partition: does not end with its separator in the top index");
    }
    CheckDataBlocks(partition);
  }
}

absl::StatusOr<BlockRef> SstableVerifier::ReadDataBlock(const BlockHandle& handle,
                                                        std::string_view* contents) {
  WINNOW_ASSIGN_OR_RETURN(const std::string_view stored,
                          readahead_.Get(handle, BlockKind::kData, kReadaheadBytes,
                                         ReadaheadBuffer::Direction::kForward));
  return table_.file_.Unwrap(stored, handle, BlockKind::kData, {}, contents);
}

// Invariant between blocks: last separator < every key of this block <= its separator.
void SstableVerifier::CheckDataBlock(const BlockHandle& handle, std::string_view separator) {
  seen_.num_data_blocks++;
  std::string_view contents;
  const absl::StatusOr<BlockRef> decompressed = ReadDataBlock(handle, &contents);
  if (!decompressed.ok()) {
    Report(handle.offset, decompressed.status());
    skipped_a_block_ = true;
  } else {
    BlockCursor cursor;
    cursor.Reset(contents.data());
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
      CheckEntry(handle, cursor.key(), cursor.value());
    }
    if (table_.comparator().Compare(last_key_, separator) > 0) {
      Report(handle.offset, "index: separator is smaller than the last key of its block");
    }
  }
  // Of a block that could not be read as well: it bounds the keys of the next one all the same.
  last_separator_ = std::string(separator);
}

// By every part of the key, since scans ask for those that look-ups do not. A policy's filter is
// asked as look-ups ask it: nobody else understands its bytes.
void SstableVerifier::AskFilters(std::string_view user_key,
                                 absl::FunctionRef<void(std::string_view)> report) {
  for (const CheckedFilter& filter : filters_) {
    for (size_t part = 0; filter.key.has_value() && part < filter.key->num_parts(); part++) {
      const auto hash = filter.key->PartHash(part, user_key, filter.hash_seed);
      if (!hash.has_value() || filter.block.MayContain(*hash)) continue;
      const std::string what = part == 0 ? "it" : "its " + filter.key->part(part).ToString();
      report(ToStd(absl::StrCat(ToAbsl(filter.name), " denies ", what)));
    }
  }
  if (table_.has_policy_filter() &&
      table_.AskFilter(SstableReadOptions(), 0, user_key) == FilterAnswer::kNo) {
    report("the filter denies it");
  }
}

void SstableVerifier::ReportEntry(const BlockHandle& handle, std::string_view key,
                                  std::string_view what) {
  auto kind = bad_entries_.find(what);
  if (kind == bad_entries_.end()) kind = bad_entries_.try_emplace(std::string(what)).first;
  kind->second.count++;
  kind->second.last_offset = handle.offset;
  if (kind->second.count > kMostOfAKind) return;
  Report(handle.offset, ToStd(absl::StrCat("data block: key \"", ShownKey(UserKey(key)), "\" @",
                                           Sequence(key), ": ", ToAbsl(what))));
}

void SstableVerifier::ReportEntriesLeftOut() {
  for (const auto& [what, bad] : bad_entries_) {
    if (bad.count <= kMostOfAKind) continue;
    Report(bad.last_offset,
           ToStd(absl::StrCat("data block: ... and ", bad.count - kMostOfAKind,
                              " more keys, the last of them in this block: ", what)));
  }
}

void SstableVerifier::CheckEntry(const BlockHandle& handle, std::string_view key,
                                 std::string_view value) {
  const InternalKeyComparator& comparator = table_.comparator();
  const auto report = [&](std::string_view what) { ReportEntry(handle, key, what); };
  if (seen_.num_entries == 0) {
    if (!skipped_a_block_ && stored_.ok() && UserKey(key) != stored_->smallest_user_key) {
      report("is not the smallest key that the properties name");
    }
    // Where there are range tombstones their numbers have begun it (CheckRangeTombstones).
    if (seen_.num_range_deletions == 0) seen_.smallest_sequence = Sequence(key);
  } else if (comparator.Compare(last_key_, key) >= 0) {
    report("out of order");
  }
  if (last_separator_ && comparator.Compare(*last_separator_, key) >= 0) {
    report("is not greater than the separator of the block before");
  }
  if (!IsKnownEntryType(Type(key))) {
    report("unknown entry type");
  } else if (!IsReadableEntry(Type(key), value)) {
    report("a value that ends before its write time");
  }
  AskFilters(UserKey(key), report);
  if (skipped_a_block_) key_hashes_.StopCheckingKeys();
  const std::string_view hash_problem = key_hashes_.CheckKey(UserKey(key));
  if (!hash_problem.empty()) report(hash_problem);
  if (IsReadableEntry(Type(key), value)) {
    const std::string_view problem = signatures_.CheckEntry(key, value);
    if (!problem.empty()) report(problem);
  }
  if (table_.range_filter() != nullptr) {
    // [key, key + 00) is the shortest range that holds the key, and none but it.
    key_successor_.assign(UserKey(key));
    key_successor_.push_back('\0');
    if (!table_.range_filter()->reader().MayContain(UserKey(key), key_successor_)) {
      report("the range filter denies it");
    }
  }
  seen_.num_entries++;
  seen_.num_puts += IsPut(Type(key)) ? 1 : 0;
  seen_.num_merges += Type(key) == EntryType::kMerge ? 1 : 0;
  seen_.num_deletions += Type(key) == EntryType::kDelete ? 1 : 0;
  // A value that is too short for its time has been reported, and has none to count.
  if (Type(key) == EntryType::kPutWithTime && HasWriteTime(value)) {
    seen_.write_times.Add(WriteTime(value));
  }
  AddKeyTime(key_time_parser_, UserKey(key), &seen_.key_times);
  seen_.raw_key_bytes += key.size();
  seen_.raw_value_bytes += value.size();
  seen_.smallest_sequence = std::min(seen_.smallest_sequence, Sequence(key));
  seen_.largest_sequence = std::max(seen_.largest_sequence, Sequence(key));
  last_key_.assign(key);
}

// Counted while walking, and compared with what the builder recorded: an index that leaves out a
// block at its end, or a block that lost entries with its structure intact, shows here.
void SstableVerifier::CheckCounts() {
  if (skipped_a_block_ || !stored_.ok()) return;
  const SstableProperties& stored = *stored_;
  const uint64_t at = table_.footer_.properties.offset;
  const auto expect = [&](std::string_view name, uint64_t counted, uint64_t recorded) {
    if (counted == recorded) return;
    Report(at, ToStd(absl::StrCat("properties block: ", ToAbsl(name), " is ", recorded,
                                  " but the file has ", counted)));
  };
  expect("data_bytes", expected_data_offset_, stored.data_bytes);
  expect("num_data_blocks", seen_.num_data_blocks, stored.num_data_blocks);
  expect("num_entries", seen_.num_entries, stored.num_entries);
  expect("num_puts", seen_.num_puts, stored.num_puts);
  expect("num_deletions", seen_.num_deletions, stored.num_deletions);
  expect("num_merges", seen_.num_merges, stored.num_merges);
  expect("num_range_deletions", seen_.num_range_deletions, stored.num_range_deletions);
  expect("signature_bytes", table_.figures_.signature_bytes, stored.signature_bytes);
  expect("signature_index_bytes", table_.figures_.signature_index_bytes,
         stored.signature_index_bytes);
  expect("key_hash_bytes", table_.figures_.key_hash_bytes, stored.key_hash_bytes);
  if (const std::string_view problem = key_hashes_.CheckEnd(); !problem.empty()) {
    Report(table_.key_hash_layout().handle(0).offset, problem);
  }
  expect("range_filter_bytes", table_.footer_.range_filter.size, stored.range_filter_bytes);
  expect("range_tombstone_bytes", seen_.range_tombstone_bytes, stored.range_tombstone_bytes);
  expect("num_with_write_time", seen_.write_times.num_entries, stored.write_times.num_entries);
  expect("oldest_write_time", seen_.write_times.oldest, stored.write_times.oldest);
  expect("newest_write_time", seen_.write_times.newest, stored.write_times.newest);
  // By these readers pass the table over. A table that does not know them is read all the same.
  if (key_time_parser_ != nullptr && stored.key_times.has_value() &&
      stored.key_times != seen_.key_times) {
    Report(at,
           ToStd(absl::StrCat(
               "properties block: key_times is '", stored.key_times->DebugString(),
               "' but the file has '",
               seen_.key_times.has_value() ? seen_.key_times->DebugString() : "none known", "'")));
  }
  expect("raw_key_bytes", seen_.raw_key_bytes, stored.raw_key_bytes);
  expect("raw_value_bytes", seen_.raw_value_bytes, stored.raw_value_bytes);
  // Entries were read with the number that a manifest gives an ingested table; its properties have
  // those of the file.
  const SequenceNumber global = seen_.num_entries == 0 ? 0 : table_.options_.global_sequence;
  expect("smallest_sequence", seen_.smallest_sequence, stored.smallest_sequence + global);
  expect("largest_sequence", seen_.largest_sequence, stored.largest_sequence + global);
  if (seen_.num_entries > 0 && UserKey(last_key_) != stored.largest_user_key) {
    Report(at, "properties block: largest_user_key is not the last key");
  }
}

}  // namespace winnow
