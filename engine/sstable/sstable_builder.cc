#include "engine/sstable/sstable_builder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/large_buffer.h"
#include "engine/base/shared_prefix.h"
#include "engine/base/status.h"
#include "engine/sstable/block_compression.h"
#include "engine/sstable/data_block_builder.h"
#include "engine/sstable/format.h"
#include "engine/sstable/index_block.h"
#include "engine/sstable/key_hashes.h"
#include "engine/sstable/policy_filter.h"
#include "engine/sstable/range_tombstone_block.h"
#include "engine/sstable/signature_builder.h"
#include "filter/base/out_of_memory.h"
#include "winnow/filter/builder.h"
#include "winnow/filter/range_filter.h"

namespace winnow {

namespace {

// The bounds of SstableBuilderOptions. With them, and the largest key and value, no block exceeds
// kMaxBlockContentsBytes: beyond block_bytes there is one entry at most, and what an estimate
// leaves out.
constexpr size_t kMaxBlockBytes = size_t{16} << 20;
constexpr int kMaxRestartInterval = 1024;

}  // namespace

// The state between calls:
//
// 1. Blocks [0, index.size()) are written and have their separators; if separator_pending, one more
//    is written and waits for its separator, which depends on the key that comes next.
// 2. data_block holds the entries since; last_key is the last entry added, wherever it is.
// 3. `offset` is the file's size; the header and data blocks fill [0, offset) without gaps.
// 4. Once `status` is not OK nothing more is written.
struct SstableBuilder::State {
  State(const SstableBuilderOptions& given, std::unique_ptr<WritableFile> new_file,
        std::string file_path)
      : options(given),
        file(std::move(new_file)),
        path(std::move(file_path)),
        file_id(given.file_id != 0 ? given.file_id : RandomIdentity()),
        data_block(
            static_cast<uint32_t>(std::clamp(given.restart_interval, 1, kMaxRestartInterval))) {
    if (options.key_time_parser != nullptr) properties.key_times.emplace();
    options.block_bytes = std::clamp(options.block_bytes, size_t{1}, kMaxBlockBytes);
    StartFilter();
    if (options.signed_entry_parser != nullptr && !options.signed_fields.empty() &&
        options.comparator.is_bytewise()) {
      signatures.emplace(options.signed_entry_parser, options.signed_fields, options.hash_seed,
                         options.block_bytes);
    }
    if (status.ok()) status = WriteHeader();
  }

  void StartFilter();
  absl::Status WriteHeader();
  absl::Status Add(std::string_view internal_key, std::string_view value);
  absl::Status CheckEntry(std::string_view internal_key, std::string_view value);
  // Compares with the last key and records how much of the user key they share.
  bool IsAscending(std::string_view internal_key);
  void AddToFilter(std::string_view user_key, bool same_user_key);
  void Count(std::string_view internal_key, std::string_view value);
  // The separator of the block that ends with last_key, before `next` (null: nothing follows).
  void AddSeparator(const std::string_view* next);
  absl::Status CutDataBlock();
  absl::Status WriteBlock(Compression compression, std::string_view contents, BlockHandle* handle);
  absl::Status WriteSignatures();
  // Of the hashes so far; 0: they would not be written.
  uint64_t KeyHashBytes() const;
  absl::Status WriteKeyHashBlocks();
  absl::Status WriteFilter(SstableSummary* summary, BlockHandle* handle);
  absl::Status WriteIndex(Footer* footer);
  absl::Status WriteRangeTombstones(BlockHandle* handle);
  absl::Status WriteRangeFilter(BlockHandle* handle);
  void FillBounds(SstableSummary* summary) const;
  void FillProperties();

  SstableBuilderOptions options;
  std::unique_ptr<WritableFile> file;
  const std::string path;
  const uint64_t file_id;

  absl::Status status;
  bool closed = false;
  uint64_t offset = 0;  // bytes appended to the file
  uint32_t header_bytes = 0;
  DataBlockBuilder data_block;
  bool separator_pending = false;  // a block was cut; its separator needs the next key
  std::string last_key;            // internal; meaningful if num_entries > 0
  size_t shared_with_last = 0;     // user key bytes
  std::string first_key;
  RangeTombstoneBlockBuilder tombstones;
  IndexBuilder index;
  std::unique_ptr<filter::FilterBuilder> filter;       // null: no filter
  std::unique_ptr<PolicyFilterBuilder> policy_filter;  // null: no policy
  std::optional<filter::RangeFilterBuilder> range_filter;
  std::optional<SignatureBuilder> signatures;
  SstableProperties properties;
  CompressionAttempts compression_attempts;  // of data blocks
  std::string contents_buffer;
  std::string compressed_buffer;
};

// A policy replaces the spec and takes whole keys: properties then name the policy, and "none" as
// spec.
void SstableBuilder::State::StartFilter() {
  if (options.filter_policy != nullptr) {
    policy_filter = std::make_unique<PolicyFilterBuilder>(options.filter_policy);
    options.filter_spec = filter::FilterSpec();
    options.filter_key = filter::FilterKeyExtractor();
    properties.filter_policy = std::string(options.filter_policy->Name());
    return;
  }
  if (options.filter_spec.range_bits != 0) {
    auto created =
        filter::RangeFilterBuilder::Create(options.filter_spec.range_bits, options.hash_seed);
    if (!created.ok()) {
      status = WithContext(created.status(), path);
      return;
    }
    range_filter = *std::move(created);
  }
  if (options.filter_spec.kind == filter::FilterKind::kNone) return;
  filter::FilterBuildContext context;
  if (options.num_levels != 0) {
    context.level = static_cast<int>(options.level);
    context.num_levels = static_cast<int>(options.num_levels);
  }
  auto created = filter::FilterBuilder::Create(options.filter_spec, options.hash_seed, {}, context);
  if (created.ok()) {
    filter = *std::move(created);
    filter->set_unit_bits(options.filter_unit_bits);
  } else {
    status = WithContext(created.status(), path);
  }
}

absl::Status SstableBuilder::State::WriteHeader() {
  TableHeader header;
  header.file_id = file_id;
  header.database_id = options.hash_seed;
  header.column_family_id = options.column_family_id;
  header.column_family_name =
      options.column_family_name.substr(0, kMaxTableHeaderBytes - kMinTableHeaderBytes);
  offset = header_bytes = header.header_bytes();
  return file->Append(header.Encode());
}

// Bytewise, the first byte that differs decides; if one user key is a prefix of the other, the
// longer is greater; equal ones must have descending trailers (newer versions first).
bool SstableBuilder::State::IsAscending(std::string_view internal_key) {
  const std::string_view user_key = UserKey(internal_key);
  const std::string_view last_user_key = UserKey(last_key);
  // What the key shares with its predecessor decides three things at once: that it is greater,
  // whether it is another version of the same user key, and how much of it is stored.
  shared_with_last = CommonPrefix(last_user_key, user_key);
  if (!options.comparator.is_bytewise()) {
    return options.comparator.Compare(last_key, internal_key) < 0;
  }
  if (shared_with_last < last_user_key.size()) {
    return shared_with_last < user_key.size() &&
           static_cast<uint8_t>(last_user_key[shared_with_last]) <
               static_cast<uint8_t>(user_key[shared_with_last]);
  }
  return shared_with_last < user_key.size() || Trailer(last_key) > Trailer(internal_key);
}

// Keys out of order are a bug of the caller, and are refused whatever the build type: a table that
// is not sorted would lose keys silently for as long as it lives.
absl::Status SstableBuilder::State::CheckEntry(std::string_view internal_key,
                                               std::string_view value) {
  if (!IsInternalKey(internal_key)) {
    return absl::InternalError(absl::StrCat(path, ": key is shorter than its trailer"));
  }
  if (internal_key.size() - kTrailerBytes > kMaxUserKeyBytes || value.size() > kMaxValueBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": entry too large: key of ", internal_key.size() - kTrailerBytes, " bytes (limit ",
        kMaxUserKeyBytes, "), value of ", value.size(), " bytes (limit ", kMaxValueBytes, ")"));
  }
  if (!IsReadableEntry(Type(internal_key), value)) {
    return absl::DataLossError(absl::StrCat(path, ": entry ", properties.num_entries,
                                            ": a value ends before its write time, or the type ",
                                            static_cast<int>(Type(internal_key)), " is unknown"));
  }
  if (properties.num_entries == 0) {
    shared_with_last = 0;
    return absl::OkStatus();
  }
  if (IsAscending(internal_key)) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(path, ": keys out of order after entry ", properties.num_entries));
}

// Each distinct filter key of each part once. Versions of a user key are neighbours, and so are
// user keys of one filter key (a prefix), so that comparing with the one before finds all
// repetitions. A filter's size is derived from the number of hashes it was given: repetitions would
// make it larger than its rate needs.
void SstableBuilder::State::AddToFilter(std::string_view user_key, bool same_user_key) {
  if (same_user_key) return;
  if (policy_filter != nullptr) policy_filter->Add(user_key);
  if (range_filter.has_value()) range_filter->Add(user_key);
  if (filter == nullptr) return;
  filter::FilterKeyExtractor::Hashes hashes;
  const size_t count =
      options.filter_key.NewHashes(user_key, shared_with_last, options.hash_seed, &hashes);
  for (size_t i = 0; i < count; i++) filter->Add(hashes[i]);
}

// These counts are what the manifest records, what a compaction checks its inputs against, and what
// SstableVerifier compares.
void SstableBuilder::State::Count(std::string_view internal_key, std::string_view value) {
  const SequenceNumber sequence = Sequence(internal_key);
  if (properties.num_entries == 0) {
    first_key.assign(internal_key);
    properties.smallest_sequence = sequence;
    properties.largest_sequence = sequence;
  }
  properties.smallest_sequence = std::min(properties.smallest_sequence, sequence);
  properties.largest_sequence = std::max(properties.largest_sequence, sequence);
  properties.num_entries++;
  properties.num_puts += IsPut(Type(internal_key)) ? 1 : 0;
  properties.num_merges += Type(internal_key) == EntryType::kMerge ? 1 : 0;
  properties.num_deletions += Type(internal_key) == EntryType::kDelete ? 1 : 0;
  if (Type(internal_key) == EntryType::kPutWithTime) properties.write_times.Add(WriteTime(value));
  AddKeyTime(options.key_time_parser, UserKey(internal_key), &properties.key_times);
  properties.raw_key_bytes += internal_key.size();
  properties.raw_value_bytes += value.size();
}

// A separator s of two neighbouring blocks has: last key of the first <= s < first key of the
// second. The shorter it is, the more of the index fits into the cache: "key0017b" and "key0039"
// are separated by "key002".
void SstableBuilder::State::AddSeparator(const std::string_view* next) {
  const std::string_view last_user_key = UserKey(last_key);
  const bool straddles =
      next != nullptr && options.comparator.CompareUserKeys(last_user_key, UserKey(*next)) == 0;
  if (straddles) {
    // Versions of one user key on both sides: only the whole internal key tells them apart.
    index.Add(last_key, offset);
  } else {
    // Trailer 0 sorts behind every version of the separator's user key.
    std::string separator(last_user_key);
    if (next != nullptr) {
      options.comparator.user()->FindShortestSeparator(&separator, UserKey(*next));
    } else {
      // Behind what all keys of the table share: "v" behind "user:0001" would share nothing with
      // the other separators, and their heads would then be of bytes that are all equal.
      const size_t shared =
          options.comparator.is_bytewise() ? CommonPrefix(UserKey(first_key), last_user_key) : 0;
      std::string rest = separator.substr(shared);
      options.comparator.user()->FindShortSuccessor(&rest);
      separator.replace(shared, std::string::npos, rest);
    }
    PutFixed64(&separator, 0);
    index.Add(separator, offset);
  }
  separator_pending = false;
}

// Two appends, since the contents may lie in either of two buffers; the file's own buffer joins
// them.
absl::Status SstableBuilder::State::WriteBlock(Compression compression, std::string_view contents,
                                               BlockHandle* handle) {
  Compression stored_as = Compression::kNone;
  if (CompressBlock(compression, options.zstd_level, contents, &compressed_buffer)) {
    contents = compressed_buffer;
    stored_as = compression;
  }
  handle->offset = offset;
  handle->size = contents.size();
  char trailer[kBlockTrailerBytes];
  trailer[0] = static_cast<char>(stored_as);
  EncodeFixed64(trailer + 1,
                BlockChecksum(contents, static_cast<uint8_t>(stored_as), file_id, offset));
  WINNOW_RETURN_IF_ERROR(file->Append(contents));
  WINNOW_RETURN_IF_ERROR(file->Append(std::string_view(trailer, sizeof(trailer))));
  offset = handle->end();
  return absl::OkStatus();
}

// The block's separator has to wait: it is short only if the next key is known.
//
// A large value is there three times at most: where it comes from, and in two of the buffers of the
// data block, of its contents and of their compressed form, each of which ends as soon as the next
// has been made or written.
absl::Status SstableBuilder::State::CutDataBlock() {
  contents_buffer.clear();
  data_block.Finish(&contents_buffer);
  BlockHandle handle;
  const bool tries = compression_attempts.IsWorthOne();
  WINNOW_RETURN_IF_ERROR(
      WriteBlock(tries ? options.compression : Compression::kNone, contents_buffer, &handle));
  if (tries) compression_attempts.Record(handle.size < contents_buffer.size());
  FreeIfLarge(&contents_buffer);
  FreeIfLarge(&compressed_buffer);
  properties.num_data_blocks++;
  separator_pending = true;
  return absl::OkStatus();
}

// Behind the data and not among it: who reads the one has no use for the other.
absl::Status SstableBuilder::State::WriteSignatures() {
  if (!signatures.has_value() || signatures->is_given_up() || properties.num_entries == 0) {
    return absl::OkStatus();
  }
  const uint64_t start = offset;
  BlockHandle last;
  const auto write = [&](std::string_view contents) -> absl::StatusOr<BlockHandle> {
    if (contents.size() > kMaxBlockContentsBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, ": signature index too large for one table"));
    }
    WINNOW_RETURN_IF_ERROR(WriteBlock(options.compression, contents, &last));
    return last;
  };
  WINNOW_RETURN_IF_ERROR(signatures->Finish(write));
  properties.num_signatures = signatures->num_groups();
  signatures.reset();
  // The index comes last.
  properties.signature_index_bytes = last.size + kBlockTrailerBytes;
  properties.signature_bytes = offset - start;
  return absl::OkStatus();
}

// Signatures are no data: once they are written `offset` no longer says where that ends.
uint64_t SstableBuilder::State::KeyHashBytes() const {
  if (filter == nullptr) return 0;
  const uint64_t data_bytes = properties.data_bytes != 0 ? properties.data_bytes : offset;
  const uint64_t bytes = KeyHashLayout::BytesOf(filter->num_added());
  const double most = options.key_hashes_ratio * static_cast<double>(data_bytes);
  return options.key_hashes_ratio >= 1 || static_cast<double>(bytes) <= most ? bytes : 0;
}

// While the filter's builder has them in the order of the keys, which its Finish does not keep. Not
// compressed: hashes are random bits.
absl::Status SstableBuilder::State::WriteKeyHashBlocks() {
  properties.key_hash_bytes = KeyHashBytes();
  if (properties.key_hash_bytes == 0) return absl::OkStatus();
  return WriteKeyHashes(*filter, [this](std::string_view contents) {
    BlockHandle handle;
    return WriteBlock(Compression::kNone, contents, &handle);
  });
}

// Filters are never compressed: good ones are random bits, and they are used in place.
absl::Status SstableBuilder::State::WriteFilter(SstableSummary* summary, BlockHandle* handle) {
  summary->filter_kind = std::string(filter::KindName(filter::FilterKind::kNone));
  if (policy_filter != nullptr) {
    summary->filter_kind = "policy";
    properties.num_filter_keys = policy_filter->num_keys();
    const std::string block = policy_filter->Finish();
    policy_filter.reset();
    properties.filter_bytes = block.size();
    if (block.empty()) return absl::OkStatus();
    return WriteBlock(Compression::kNone, block, handle);
  }
  if (filter == nullptr) return absl::OkStatus();
  filter::BuiltFilter built = filter->Finish();
  filter.reset();
  summary->filter_kind = std::string(filter::KindName(built.kind));
  summary->filter_peak_temporary_bytes = built.peak_temporary_bytes;
  properties.num_filter_keys = built.num_keys;
  properties.filter_bytes = built.block.size();
  properties.expected_fpr = built.expected_fpr;
  properties.filter_fell_back = built.fell_back;
  if (!options.filter_unit_bits.empty()) properties.filter_units = std::move(built.units);
  if (built.block.empty()) return absl::OkStatus();
  return WriteBlock(Compression::kNone, built.block, handle);
}

// Small tables get one index block, which stays in memory. Above the threshold the index is cut:
//
//   top index:    | separator of partition 0 | separator of partition 1 | ...
//                        |
//   partition 0:  | separators of data blocks 0 .. k | ...
//
// Only the top level then stays in memory, and partitions go through the block cache. The top
// level's separators are those of the partitions' last entries, and its "blocks" are the
// partitions, which lie one behind the other from index_start on: the same layout serves both
// levels.
absl::Status SstableBuilder::State::WriteIndex(Footer* footer) {
  const bool share_prefix = options.comparator.is_bytewise();
  const uint64_t index_start = offset;
  const IndexBuilder* top = &index;
  IndexBuilder partitions;
  uint64_t first_offset = header_bytes;
  footer->index_levels = 1;
  if (index.EstimatedBytes() > options.index_partition_threshold && index.size() > 1) {
    footer->index_levels = 2;
    first_offset = index_start;
    top = &partitions;
    for (size_t first = 0; first < index.size();) {
      const size_t last = index.CutAfter(first, options.index_partition_bytes);
      const uint64_t data_start = first == 0 ? header_bytes : index.block_end(first - 1);
      BlockHandle handle;
      WINNOW_RETURN_IF_ERROR(WriteBlock(
          Compression::kNone, index.Encode(first, last, data_start, share_prefix), &handle));
      partitions.Add(index.separator(last - 1), offset);
      first = last;
    }
  }
  if (top->EstimatedBytes() > kMaxBlockContentsBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": index too large for one table"));
  }
  properties.index_partitions = partitions.size();
  WINNOW_RETURN_IF_ERROR(WriteBlock(
      Compression::kNone, top->Encode(0, top->size(), first_offset, share_prefix), &footer->index));
  properties.index_bytes = offset - index_start;
  return absl::OkStatus();
}

absl::Status SstableBuilder::State::WriteRangeTombstones(BlockHandle* handle) {
  if (tombstones.empty()) return absl::OkStatus();
  if (tombstones.EstimatedBytes() > kMaxBlockContentsBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": too many range tombstones for one table"));
  }
  // Where there are no entries the smallest number is still 0, which is none of this table's.
  const bool alone = properties.num_entries == 0;
  properties.smallest_sequence =
      alone ? tombstones.smallest_sequence()
            : std::min(properties.smallest_sequence, tombstones.smallest_sequence());
  properties.largest_sequence =
      std::max(properties.largest_sequence, tombstones.largest_sequence());
  properties.num_range_deletions = tombstones.num_tombstones();
  WINNOW_RETURN_IF_ERROR(WriteBlock(Compression::kNone, tombstones.Finish(), handle));
  properties.range_tombstone_bytes = handle->size + kBlockTrailerBytes;
  return absl::OkStatus();
}

// Of entries alone: a range that it denies may be covered by range tombstones, which are asked for
// beside it. Without entries there is nothing to say.
absl::Status SstableBuilder::State::WriteRangeFilter(BlockHandle* handle) {
  if (!range_filter.has_value() || properties.num_entries == 0) return absl::OkStatus();
  const std::string block = range_filter->Finish();
  range_filter.reset();
  properties.range_filter_bytes = block.size();
  return WriteBlock(Compression::kNone, block, handle);
}

// An end that a tombstone has beyond the last entry is exclusive, and sorts so.
void SstableBuilder::State::FillBounds(SstableSummary* summary) const {
  summary->smallest = first_key;
  summary->largest = last_key;
  // Bounds must hold what range tombstones cover, or a look-up would pass over the table that
  // deletes its key.
  if (tombstones.empty()) return;
  const bool alone = properties.num_entries == 0;
  std::string smallest = MakeInternalKey(tombstones.first_begin(), tombstones.first_sequence(),
                                         EntryType::kRangeDelete);
  std::string largest;
  largest.append(tombstones.last_end());
  PutFixed64(&largest, kExclusiveEndTrailer);
  if (alone || options.comparator.Compare(smallest, first_key) < 0) {
    summary->smallest = std::move(smallest);
  }
  if (alone || options.comparator.Compare(largest, last_key) > 0) {
    summary->largest = std::move(largest);
  }
}

// How keys were hashed and by which order they are sorted stands in every table, so that options
// may change and old tables are still read rightly.
void SstableBuilder::State::FillProperties() {
  properties.filter_spec = filter::ToString(options.filter_spec);
  properties.filter_key = options.filter_key.ToString();
  properties.hash_seed = options.hash_seed;
  properties.comparator_name = std::string(options.comparator.user()->Name());
  properties.merge_operator_name = options.merge_operator_name;
  properties.ttl_seconds = options.ttl_seconds;
  properties.compression = options.compression;
  properties.column_family_id = options.column_family_id;
  properties.column_family_name = options.column_family_name;
  properties.creation_time_seconds = options.creation_time_seconds;
  properties.level_at_creation = options.level;
  properties.is_external = options.is_external;
  if (properties.num_entries > 0) {
    properties.smallest_user_key = std::string(UserKey(first_key));
    properties.largest_user_key = std::string(UserKey(last_key));
  }
}

SstableBuilder::SstableBuilder(const SstableBuilderOptions& options,
                               std::unique_ptr<WritableFile> file, std::string path)
    : state_(std::make_unique<State>(options, std::move(file), std::move(path))) {}

SstableBuilder::~SstableBuilder() { Abandon(); }

absl::Status SstableBuilder::Add(std::string_view internal_key, std::string_view value) {
  State& state = *state_;
  if (!state.status.ok()) return state.status;
  if (state.closed) return absl::InternalError(absl::StrCat(state.path, ": table is finished"));
  // Where memory runs out an entry may be half added, or a block written that no index names.
  state.status = CatchOutOfMemory([&] { return state.Add(internal_key, value); });
  return state.status;
}

absl::Status SstableBuilder::State::Add(std::string_view internal_key, std::string_view value) {
  WINNOW_RETURN_IF_ERROR(CheckEntry(internal_key, value));
  const std::string_view user_key = UserKey(internal_key);
  // Sizes include the trailer, which has the same size in all keys. Under a comparator for which
  // keys of other bytes are equal this says "different", which costs a filter entry and nothing
  // else.
  const bool same_user_key = properties.num_entries > 0 && shared_with_last == user_key.size() &&
                             last_key.size() == internal_key.size();
  // A large entry begins a block, which it also ends: whoever reads its small neighbour should not
  // have to read it too.
  const bool is_large = internal_key.size() + value.size() >= options.block_bytes;
  if (is_large && properties.num_entries > 0 && !separator_pending) {
    WINNOW_RETURN_IF_ERROR(CutDataBlock());
  }
  if (separator_pending) AddSeparator(&internal_key);
  AddToFilter(user_key, same_user_key);
  if (signatures.has_value()) signatures->Add(internal_key, value);
  data_block.Add(user_key, shared_with_last, Trailer(internal_key), value);
  Count(internal_key, value);
  last_key.assign(internal_key);
  return data_block.EstimatedBytes() >= options.block_bytes ? CutDataBlock() : absl::OkStatus();
}

void SstableBuilder::AddRangeTombstones(std::string_view begin, std::string_view end,
                                        std::span<const SequenceNumber> sequences) {
  State& state = *state_;
  if (!state.status.ok()) return;
  const bool added = UnlessOutOfMemory([&] { state.tombstones.Add(begin, end, sequences); });
  if (!added) state.status = OutOfMemory();
}

//   | header | data blocks | signature blocks | signature index | key hash blocks | filter |
//   | index partitions | index | range tombstones | range filter | properties | footer |
//
// Everything that a reader needs first is at the end, so that a table is written in one pass.
absl::StatusOr<SstableSummary> SstableBuilder::Finish() {
  State& state = *state_;
  // In the order of the file. The sync comes before the summary is returned, so that no manifest
  // can name a table whose bytes a power failure could take away; the directory is the caller's to
  // sync.
  const auto write_all = [&state](SstableSummary* summary) -> absl::Status {
    WINNOW_RETURN_IF_ERROR(state.status);
    if (state.closed) return absl::InternalError(absl::StrCat(state.path, ": table is finished"));
    if (!state.data_block.empty()) WINNOW_RETURN_IF_ERROR(state.CutDataBlock());
    if (state.separator_pending) state.AddSeparator(nullptr);
    state.properties.data_bytes = state.offset;
    Footer footer;
    footer.file_id = state.file_id;
    footer.header_bytes = state.header_bytes;
    WINNOW_RETURN_IF_ERROR(state.WriteSignatures());
    WINNOW_RETURN_IF_ERROR(state.WriteKeyHashBlocks());
    WINNOW_RETURN_IF_ERROR(state.WriteFilter(summary, &footer.filter));
    WINNOW_RETURN_IF_ERROR(state.WriteIndex(&footer));
    WINNOW_RETURN_IF_ERROR(state.WriteRangeTombstones(&footer.range_tombstones));
    WINNOW_RETURN_IF_ERROR(state.WriteRangeFilter(&footer.range_filter));
    state.FillProperties();
    WINNOW_RETURN_IF_ERROR(
        state.WriteBlock(Compression::kNone, state.properties.Encode(), &footer.properties));
    footer.file_bytes = state.offset + kFooterBytes;
    WINNOW_RETURN_IF_ERROR(state.file->Append(footer.Encode()));
    state.offset = footer.file_bytes;
    WINNOW_RETURN_IF_ERROR(state.file->Sync());
    state.closed = true;
    return state.file->Close();
  };

  SstableSummary summary;
  const absl::Status finished = CatchOutOfMemory([&]() -> absl::Status {
    WINNOW_RETURN_IF_ERROR(write_all(&summary));
    summary.file_id = state.file_id;
    summary.file_bytes = state.offset;
    state.FillBounds(&summary);
    summary.properties = state.properties;
    return absl::OkStatus();
  });
  if (!finished.ok()) {
    state.status = finished;
    Abandon();
    return finished;
  }
  return summary;
}

void SstableBuilder::Abandon() {
  if (state_->closed) return;
  state_->closed = true;
  // Nobody will read this file.
  UnlessOutOfMemory([this] { state_->file->Close().IgnoreError(); });
}

uint64_t SstableBuilder::num_entries() const { return state_->properties.num_entries; }

uint64_t SstableBuilder::num_range_deletions() const { return state_->tombstones.num_tombstones(); }

// Decides when a table is full: the filter and the index, not yet written, are a part of it.
uint64_t SstableBuilder::file_bytes_estimate() const {
  const uint64_t pending = state_->data_block.empty() ? 0 : state_->data_block.EstimatedBytes();
  const uint64_t filter_bytes =
      state_->filter == nullptr ? 0 : state_->filter->EstimatedBlockBytes();
  const uint64_t range_filter_bytes =
      state_->range_filter.has_value() ? state_->range_filter->EstimatedBlockBytes() : 0;
  const uint64_t signature_bytes =
      state_->signatures.has_value() ? state_->signatures->EstimatedBytes() : 0;
  return state_->offset + pending + signature_bytes + state_->KeyHashBytes() + filter_bytes +
         range_filter_bytes + state_->index.EstimatedBytes() +
         (state_->tombstones.empty() ? 0 : state_->tombstones.EstimatedBytes());
}

size_t SstableBuilder::memory_bytes() const {
  return state_->index.memory_bytes() +
         (state_->filter == nullptr ? 0 : state_->filter->memory_bytes()) +
         (state_->policy_filter == nullptr ? 0 : state_->policy_filter->memory_bytes()) +
         (state_->range_filter.has_value() ? state_->range_filter->memory_bytes() : 0) +
         (state_->signatures.has_value() ? state_->signatures->EstimatedBytes() : 0);
}

}  // namespace winnow
