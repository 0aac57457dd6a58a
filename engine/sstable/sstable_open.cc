// Opening a table: footer, properties, index, filter.
#include <cstring>
#include <new>
#include <utility>

#include "engine/base/status.h"
#include "engine/sstable/key_hashes.h"
#include "engine/sstable/range_tombstone_block.h"
#include "engine/sstable/sstable_reader.h"

namespace winnow {

// A new identity in the cache for each open: the same file, opened twice, is cached twice, and a
// file that was replaced can never be served from its predecessor's blocks.
SstableReader::SstableReader(const SstableReaderOptions& options,
                             std::unique_ptr<RandomAccessFile> file, SharedPath path)
    : options_(options),
      file_(std::move(file), std::move(path)),
      table_id_(options.table_id != 0 ? options.table_id : NewTableId()),
      filter_table_id_(table_id_),
      filter_has_budget_(options.filter_ledger != nullptr &&
                         (options.filter_ledger->limit_bytes() != 0 || options.filters_can_leave)) {
  file_.set_trailer_offset(options.global_sequence << 8);
}

SstableReader::~SstableReader() = default;

const filter::FilterState SstableReader::kFilterIsUsable;

// Each step needs the ones before it: the footer says where all blocks are, properties say what
// filter and data are like, and room is asked for once for index and filter, before either is read.
absl::StatusOr<std::unique_ptr<SstableReader>> SstableReader::Open(
    const SstableReaderOptions& options, std::unique_ptr<RandomAccessFile> file, SharedPath path,
    std::unique_ptr<FilterFile> filter_file) {
  // Point look-ups read single blocks, and iterators read ahead by themselves; the system's own
  // readahead would fetch much that nobody reads.
  file->Hint(RandomAccessFile::AccessPattern::kRandom);
  std::unique_ptr<SstableReader> reader(
      new SstableReader(options, std::move(file), std::move(path)));  // private constructor
  WINNOW_RETURN_IF_ERROR(reader->ReadFooter());
  WINNOW_RETURN_IF_ERROR(reader->TakeProperties(std::move(filter_file)));
  if (options.map_file && options.global_sequence == 0) reader->MapFile();
  reader->TakeRoom();
  WINNOW_RETURN_IF_ERROR(reader->ReadIndex());
  WINNOW_RETURN_IF_ERROR(reader->ReadRangeTombstones());
  reader->ReadFilter();
  // A filter in memory for good needs its file no more, and the process has that many descriptors.
  if (!reader->filter_in_cache_ && reader->units_ == nullptr) reader->filter_file_.reset();
  reader->ReadRangeFilter();
  return reader;
}

// The footer says where everything is, and which file this is. That identity is checked against the
// manifest's before anything else is believed: a file of another database, or of this one before a
// restore, may be perfectly sound.
absl::Status SstableReader::ReadFooter() {
  char bytes[kFooterBytes];
  if (file_.size() < kFooterBytes) {
    return Footer::Decode(std::string_view(), file_.size(), file_.path()).status();
  }
  WINNOW_RETURN_IF_ERROR(file_.ReadBytes(file_.size() - kFooterBytes, kFooterBytes, bytes));
  WINNOW_ASSIGN_OR_RETURN(
      footer_, Footer::Decode(std::string_view(bytes, kFooterBytes), file_.size(), file_.path()));
  if (options_.expected_file_id != 0 && footer_.file_id != options_.expected_file_id) {
    return CorruptionError(file_.path(), file_.size() - kFooterBytes,
                           absl::StrCat("footer: this is another file: identity ",
                                        absl::Hex(footer_.file_id, absl::kZeroPad16), " expected ",
                                        absl::Hex(options_.expected_file_id, absl::kZeroPad16)));
  }
  file_.set_file_id(footer_.file_id);
  return absl::OkStatus();
}

absl::StatusOr<SstableProperties> SstableReader::ReadProperties() const {
  const BlockHandle& handle = footer_.properties;
  WINNOW_ASSIGN_OR_RETURN(const BlockRef block, file_.Read(handle, BlockKind::kProperties, {}));
  absl::StatusOr<SstableProperties> properties = SstableProperties::Decode(block.contents());
  if (properties.ok()) return properties;
  return file_.Corruption(handle, BlockKind::kProperties, ToStd(properties.status().message()));
}

// The comparator's name must be the one that the table was sorted by: under another order searches
// would end in wrong places without any sign of it.
absl::Status SstableReader::TakeProperties(std::unique_ptr<FilterFile> filter_file) {
  WINNOW_ASSIGN_OR_RETURN(const SstableProperties properties, ReadProperties());
  figures_ = properties;
  // Units are read by their list: one that does not fill the block could lead beyond it.
  if (!properties.filter_units.empty() &&
      (!UnitsFillBlock(properties.filter_units, footer_.filter.size) ||
       !properties.filter_policy.empty())) {
    return file_.Corruption(footer_.properties, BlockKind::kProperties,
                            "the filter's units do not fill its block");
  }
  filter_description_ = FilterDescription::Of(properties);
  const std::string_view comparator_name = options_.comparator.user()->Name();
  if (properties.comparator_name != comparator_name) {
    return absl::FailedPreconditionError(
        absl::StrCat(file_.path(), ": written with comparator \"", properties.comparator_name,
                     "\", opened with \"", ToAbsl(comparator_name), "\""));
  }
  // Data blocks and, if there are any, signatures and key hashes fill the file from the header to
  // the filter or, without one, to the index. With partitions and without a filter they end
  // somewhere before the index; ReadIndex checks that partitions fill the rest.
  const uint64_t data_limit =
      footer_.filter.exists() ? footer_.filter.offset : footer_.index.offset;
  const bool are_last = footer_.filter.exists() || !has_index_partitions();
  bool fits = figures_.signature_bytes <= data_limit &&
              figures_.key_hash_bytes <= data_limit - figures_.signature_bytes;
  if (fits) {
    const uint64_t data_end = data_limit - figures_.signature_bytes - figures_.key_hash_bytes;
    fits = are_last ? figures_.data_bytes == data_end : figures_.data_bytes <= data_end;
  }
  if (!fits) {
    return file_.Corruption(footer_.properties, BlockKind::kProperties,
                            "data blocks do not fill their part");
  }
  // What they are is read when they are needed.
  if (figures_.signature_bytes != 0 &&
      (figures_.signature_index_bytes <= kBlockTrailerBytes ||
       figures_.signature_index_bytes > figures_.signature_bytes)) {
    return file_.Corruption(footer_.properties, BlockKind::kProperties,
                            "the signature index does not fit the signatures");
  }
  WINNOW_RETURN_IF_ERROR(TakeKeyHashes());
  std::vector<filter::BuiltUnit> units = properties.filter_units;
  if (filter_file != nullptr) {
    units = filter_file->header().units;
    TakeFilterFile(std::move(filter_file));
  }
  TakeFilterUnits(std::move(units));
  return absl::OkStatus();
}

// Before the filter file's description takes the place of the table's own. Fewer hashes than the
// filter was made of would hide keys from one that is made of them.
absl::Status SstableReader::TakeKeyHashes() {
  if (figures_.key_hash_bytes == 0) return absl::OkStatus();
  const KeyHashLayout layout = key_hash_layout();
  if (!layout.IsPossible() || layout.num_hashes() < figures_.num_filter_keys) {
    return file_.Corruption(footer_.properties, BlockKind::kProperties,
                            "the key hashes are not as many as their bytes or the filter say");
  }
  key_hash_origin_ =
      std::make_unique<const KeyHashOrigin>(KeyHashOrigin{figures_.hash_seed, filter_description_});
  return absl::OkStatus();
}

KeyHashLayout SstableReader::key_hash_layout() const {
  return {figures_.data_bytes + figures_.signature_bytes, figures_.key_hash_bytes};
}

// From here on it is the table's filter: everything that asks or describes a filter goes by it.
void SstableReader::TakeFilterFile(std::unique_ptr<FilterFile> filter_file) {
  const FilterFileHeader& header = filter_file->header();
  figures_.hash_seed = header.hash_seed;
  figures_.num_filter_keys = header.num_filter_keys;
  figures_.filter_bytes = header.filter_bytes;
  figures_.expected_fpr = header.expected_fpr;
  SstableProperties described;
  // Range filters are the table's, whatever a filter file was made for.
  described.filter_spec = PointFilterText(header.filter_spec);
  if (const std::string_view range = RangeFilterText(filter_description_->spec); !range.empty()) {
    absl::StrAppend(&described.filter_spec, "+", ToAbsl(range));
  }
  described.filter_key = header.filter_key;
  described.filter_units = header.units;
  filter_description_ = FilterDescription::Of(described);
  filter_table_id_ = NewTableId();
  filter_file_ = std::move(filter_file);
}

// Units that are listed come and go one by one. Under a budget a filter without a list is one unit,
// so that it is read later where there is no room for it now. Nothing is asked by keys that are not
// understood, nor by hashes where a policy has its own.
void SstableReader::TakeFilterUnits(std::vector<filter::BuiltUnit> listed) {
  FilterLedger* const ledger = options_.filter_ledger;
  const FilterDescription& description = *filter_description_;
  if (ledger == nullptr || !filter_is_wanted() || !description.policy.empty() ||
      !description.key_error.empty()) {
    return;
  }
  if (!listed.empty()) {
    units_ = std::make_unique<FilterUnits>(filter_source(), std::move(listed), ledger);
  } else if (filter_has_budget_) {
    units_ = std::make_unique<FilterUnits>(filter_source(), figures_.expected_fpr, ledger);
  }
}

// The file that was opened may have been cut since, and a mapping that ends before it does would be
// read beyond its end.
void SstableReader::MapFile() {
  std::unique_ptr<FileMapping> mapping = file_.file().Map();
  if (mapping == nullptr || mapping->bytes().size() != file_.size()) return;
  mapped_.reset(
      MappedBlocks::New(std::move(mapping), figures_.data_bytes, figures_.num_data_blocks));
}

// A policy that nobody has is not damage: every key may be there.
bool SstableReader::filter_is_wanted() const {
  if (!filter_handle().exists() || !options_.load_filter) return false;
  const std::string& policy = filter_description_->policy;
  return policy.empty() ||
         (options_.filter_policy != nullptr && options_.filter_policy->Name() == policy);
}

// The top level of a partitioned index is small, and stays in memory whatever the cache has room
// for: its partitions are blocks of the cache anyway.
void SstableReader::TakeRoom() {
  wanted_bytes_ = has_index_partitions() ? 0 : footer_.index.size + CachedBlock::kReadablePadding;
  if (filter_is_wanted() && !filter_has_budget_) {
    wanted_bytes_ += filter_handle().size + kBlockTrailerBytes;
  }
  if (!options_.charge_cache || wanted_bytes_ == 0) return;
  charge_ = CacheCharge::Try(options_.cache, wanted_bytes_);
  is_resident_ = static_cast<bool>(charge_);
  index_in_cache_ = !is_resident_ && !has_index_partitions();
}

absl::Status SstableReader::ReadIndex() {
  const BlockHandle& handle = footer_.index;
  BlockFile::ReadOptions read_options;
  read_options.data_end = has_index_partitions() ? handle.offset : figures_.data_bytes;
  if (index_in_cache_) read_options.arena = options_.cache->arena();
  WINNOW_ASSIGN_OR_RETURN(BlockRef block, file_.Read(handle, BlockKind::kIndex, read_options));
  const std::string_view contents = block.contents();
  const IndexBlock index(contents.data());
  const uint64_t start = has_index_partitions() ? index_start() : footer_.header_bytes;
  // With this, every data block lies where data blocks may lie, and no byte between them is
  // unclaimed.
  if (index.first_offset() != start || index.end_offset() != read_options.data_end) {
    return file_.Corruption(handle, BlockKind::kIndex, "its blocks do not fill their part");
  }
  if (index_in_cache_) {
    options_.cache->Insert({table_id_, handle.offset}, std::move(block),
                           ShardedBlockCache::Priority::kProbation);
    return absl::OkStatus();
  }
  index_is_whole_ = !has_index_partitions();
  // What an index takes of a cache is settled before it is read, without a directory. Where there
  // is no cache, reading the block takes so long that the search does not matter.
  const bool has_cache = options_.cache != nullptr && options_.cache->capacity_bytes() > 0;
  if (index_is_whole_ && has_cache && !options_.charge_cache && options_.comparator.is_bytewise()) {
    directory_ = BlockDirectory::Make(index);
    if (directory_ != nullptr) return absl::OkStatus();
  }
  // Copied out of the cache's memory into memory on huge pages, which suits what every look-up
  // reads.
  index_memory_ = filter::ResidentMemory(contents.size() + CachedBlock::kReadablePadding);
  if (index_memory_.data() == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat(file_.path(), ": no memory for an index of ", contents.size(), " bytes"));
  }
  std::memcpy(index_memory_.data(), contents.data(), contents.size());
  index_ = IndexBlock(index_memory_.data());
  return absl::OkStatus();
}

// No optimisation: without them deleted keys would come back, so that a table whose block is
// damaged does not open.
absl::Status SstableReader::ReadRangeTombstones() {
  const BlockHandle& handle = footer_.range_tombstones;
  if (!handle.exists()) return absl::OkStatus();
  if (options_.global_sequence != 0) {
    return file_.Corruption(handle, BlockKind::kRangeTombstones, "in a table that was ingested");
  }
  WINNOW_ASSIGN_OR_RETURN(BlockRef block, file_.Read(handle, BlockKind::kRangeTombstones, {}));
  std::vector<RangeTombstone> tombstones;
  const char* const error =
      ReadRangeTombstoneBlock(block.contents(), options_.comparator, &tombstones);
  if (error != nullptr) return file_.Corruption(handle, BlockKind::kRangeTombstones, error);
  tombstones_ =
      std::make_unique<const Tombstones>(options_.comparator, std::move(block), tombstones);
  return absl::OkStatus();
}

// A filter is an optimisation. Whatever is wrong with it, the table is opened without it, answers
// are the same, and the reason is kept for tools and statistics.
void SstableReader::ReadFilter() {
  filter::FilterState state;
  if (!filter_description_->key_error.empty()) {
    state.code = filter::FilterStateCode::kUnknownVersion;
    state.reason = filter_description_->key_error;
  } else if (filter_is_wanted()) {
    state = is_resident_ || filter_has_budget_ ? ReadResidentFilter() : ReadFilterIntoCache();
  }
  if (state.code != filter::FilterStateCode::kOk) {
    state.reason = absl::StrCat(filter_source().file->path(), ": at offset ",
                                filter_handle().offset, ": filter block: ", state.reason);
    filter_refusal_ = std::make_unique<const filter::FilterState>(std::move(state));
    // What is right of several units is asked all the same.
    if (units_ != nullptr && units_->units().size() > 1) return;
    filter_ = filter::FilterReader();
    first_unit_.reset();
    units_.reset();
    filter_memory_ = filter::ResidentMemory();
    filter_charge_ = LedgerCharge();
    policy_filter_ = std::string_view();
    filter_kind_ = filter::FilterKind::kNone;
  } else if (!filter_description_->policy.empty() &&
             (filter_memory_.size() > 0 || filter_in_cache_)) {
    filter_policy_ = options_.filter_policy;
  }
}

// Numbers that are made of keys are in order under the bytewise comparator alone.
void SstableReader::ReadRangeFilter() {
  if (!footer_.range_filter.exists() || !options_.load_filter) return;
  if (!options_.comparator.is_bytewise()) return;
  range_filter_ = RangeFilterBlock::Load(file_, footer_.range_filter,
                                         options_.charge_cache ? options_.cache : nullptr);
}

void SstableReader::NoteFilterRead(const absl::Status& status) {
  if (!absl::IsDataLoss(status)) filter_read_status_.Update(status);
}

// The block stays in memory as the file holds it, trailer included: filters are read in place.
filter::FilterState SstableReader::ReadResidentFilter() {
  if (units_ != nullptr) return ReadFilterUnits();
  const size_t stored_bytes = filter_handle().size + kBlockTrailerBytes;
  if (FilterLedger* const ledger = options_.filter_ledger; ledger != nullptr) {
    if (!ledger->Reserve(stored_bytes, FilterLedger::Claim::kFirstUnit)) return {};
    filter_charge_ = LedgerCharge(ledger, stored_bytes);
  }
  filter_memory_ = filter::ResidentMemory(stored_bytes);
  if (filter_memory_.data() == nullptr) {
    NoteFilterRead(absl::ResourceExhaustedError("no memory"));
    return {filter::FilterStateCode::kDamaged, "no memory"};
  }
  absl::Status read_status;
  const filter::FilterState state =
      ReadFilterBlock(filter_source(), filter_memory_.data(), &filter_, &read_status);
  NoteFilterRead(read_status);
  filter_kind_ = filter_.kind();
  if (!filter_description_->policy.empty()) {
    policy_filter_ = std::string_view(filter_memory_.data(), filter_handle().size);
  }
  return state;
}

// The first unit, which has a claim to room; of the others what fits beside those that are there.
// Which of all tables' are worth it is for the planner to say.
// Ends: each turn but the last makes one more unit count as resident, damaged ones included.
filter::FilterState SstableReader::ReadFilterUnits() {
  const absl::StatusOr<filter::FilterSpec> spec =
      filter::ParseFilterSpec(filter_description_->spec);
  // Until the first unit says it: which kind "auto" was the file alone knows.
  if (spec.ok() && spec->kind != filter::FilterKind::kAuto) filter_kind_ = spec->kind;
  filter::FilterState state;
  if (!options_.filters_can_leave) {
    absl::Status read_status;
    first_unit_ = units_->LoadFirst(&state, &read_status);
    NoteFilterRead(read_status);
    if (first_unit_ == nullptr) return {};
    filter_ = first_unit_->reader;
    if (!filter_.always_true()) filter_kind_ = filter_.kind();
  }
  for (;;) {
    const auto claim = units_->num_resident() == 0 ? FilterLedger::Claim::kFirstUnit
                                                   : FilterLedger::Claim::kFurtherUnit;
    const absl::StatusOr<bool> loaded = units_->LoadNext(claim);
    if (filter_kind_ == filter::FilterKind::kNone) filter_kind_ = units_->kind();
    if (loaded.ok() && *loaded) continue;
    NoteFilterRead(loaded.status());
    if (!loaded.ok() && state.code == filter::FilterStateCode::kOk) {
      state = {filter::FilterStateCode::kDamaged, std::string(loaded.status().message())};
    }
    if (loaded.ok() || !absl::IsDataLoss(loaded.status())) return state;
  }
}

// Read once, to know its kind and that it is sound; it may leave the cache at once.
filter::FilterState SstableReader::ReadFilterIntoCache() {
  // Units are of filters in memory. In the cache a filter is one block, list or not.
  units_.reset();
  if (filter_handle().size > options_.cache->MostForOneFilter()) {
    filter_is_too_large_ = true;
    return {};
  }
  filter::FilterState state;
  absl::StatusOr<BlockRef> block =
      LoadFilterForCache(filter_source(), options_.cache->arena(), nullptr, &state);
  if (!block.ok()) {
    NoteFilterRead(block.status());
    return {filter::FilterStateCode::kDamaged, std::string(block.status().message())};
  }
  const CachedFilter filter = FilterOf(**block);
  if (filter.contents.empty()) return state;
  filter_kind_ = filter.reader.kind();
  filter_in_cache_ = !filter.reader.always_true() || !filter_description_->policy.empty();
  options_.cache->Insert({filter_table_id_, filter_handle().offset}, *std::move(block),
                         ShardedBlockCache::Priority::kProbation);
  return {};
}

}  // namespace winnow
