// Opening a table: footer, properties, index, filter.
#include <cstring>
#include <utility>

#include "engine/base/status.h"
#include "engine/sstable/sstable_reader.h"

namespace winnow {

// A new identity in the cache for each open: the same file, opened twice, is cached twice, and a
// file that was replaced can never be served from its predecessor's blocks.
SstableReader::SstableReader(const SstableReaderOptions& options,
                             std::unique_ptr<RandomAccessFile> file, std::string path)
    : options_(options), file_(std::move(file), std::move(path)), table_id_(NewTableId()) {}

SstableReader::~SstableReader() = default;

absl::StatusOr<std::unique_ptr<SstableReader>> SstableReader::Open(
    const SstableReaderOptions& options, std::unique_ptr<RandomAccessFile> file, std::string path) {
  // Point look-ups read single blocks, and iterators read ahead by themselves; the system's own
  // readahead would fetch much that nobody reads.
  file->Hint(RandomAccessFile::AccessPattern::kRandom);
  std::unique_ptr<SstableReader> reader(
      new SstableReader(options, std::move(file), std::move(path)));  // private constructor
  WINNOW_RETURN_IF_ERROR(reader->ReadFooter());
  WINNOW_RETURN_IF_ERROR(reader->ReadProperties());
  WINNOW_RETURN_IF_ERROR(reader->ReadIndex());
  reader->ReadFilter();
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

// The comparator's name must be the one that the table was sorted by: under another order searches
// would end in wrong places without any sign of it.
absl::Status SstableReader::ReadProperties() {
  const BlockHandle& handle = footer_.properties;
  WINNOW_ASSIGN_OR_RETURN(const BlockRef block, file_.Read(handle, BlockKind::kProperties, {}));
  absl::StatusOr<SstableProperties> properties = SstableProperties::Decode(block.contents());
  if (!properties.ok()) {
    return file_.Corruption(handle, BlockKind::kProperties, ToStd(properties.status().message()));
  }
  properties_ = *std::move(properties);
  const std::string_view comparator_name = options_.comparator.user()->Name();
  if (properties_.comparator_name != comparator_name) {
    return absl::FailedPreconditionError(
        absl::StrCat(file_.path(), ": written with comparator \"", properties_.comparator_name,
                     "\", opened with \"", ToAbsl(comparator_name), "\""));
  }
  // Data blocks fill the file from the header to the filter or, without one, to the index. With
  // partitions and without a filter they end somewhere before the index; ReadIndex checks that
  // partitions fill the rest.
  const uint64_t data_limit =
      footer_.filter.exists() ? footer_.filter.offset : footer_.index.offset;
  const bool fits = footer_.filter.exists() || !has_index_partitions()
                        ? properties_.data_bytes == data_limit
                        : properties_.data_bytes <= data_limit;
  if (fits) return absl::OkStatus();
  return file_.Corruption(handle, BlockKind::kProperties, "data blocks do not fill their part");
}

absl::Status SstableReader::ReadIndex() {
  const BlockHandle& handle = footer_.index;
  BlockFile::ReadOptions read_options;
  read_options.data_end = has_index_partitions() ? handle.offset : properties_.data_bytes;
  WINNOW_ASSIGN_OR_RETURN(const BlockRef block,
                          file_.Read(handle, BlockKind::kIndex, read_options));
  const std::string_view contents = block.contents();
  // Copied out of the cache's memory into memory on huge pages, which suits what every look-up
  // reads.
  index_memory_ = filter::ResidentMemory(contents.size() + CachedBlock::kReadablePadding);
  if (index_memory_.data() == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat(file_.path(), ": no memory for an index of ", contents.size(), " bytes"));
  }
  std::memcpy(index_memory_.data(), contents.data(), contents.size());
  index_ = IndexBlock(index_memory_.data());
  const uint64_t start = has_index_partitions() ? index_start() : footer_.header_bytes;
  // With this, every data block lies where data blocks may lie, and no byte between them is
  // unclaimed.
  if (index_.first_offset() != start || index_.end_offset() != read_options.data_end) {
    return file_.Corruption(handle, BlockKind::kIndex, "its blocks do not fill their part");
  }
  return absl::OkStatus();
}

// The block stays in memory as the file holds it, trailer included: filters are read in place.
void SstableReader::ReadFilter() {
  // A filter is an optimisation. Whatever is wrong with it, the table is opened without it, answers
  // are the same, and the reason is kept for tools and statistics.
  const auto unusable = [this](filter::FilterStateCode code, std::string reason) {
    filter_ = filter::FilterReader();
    filter_memory_ = filter::ResidentMemory();
    filter_policy_ = nullptr;
    policy_filter_ = std::string_view();
    filter_state_.code = code;
    filter_state_.reason = absl::StrCat(file_.path(), ": at offset ", footer_.filter.offset,
                                        ": filter block: ", reason);
  };

  absl::StatusOr<filter::FilterKeyExtractor> filter_key =
      filter::FilterKeyExtractor::Parse(properties_.filter_key);
  if (!filter_key.ok()) {
    return unusable(filter::FilterStateCode::kUnknownVersion,
                    std::string(filter_key.status().message()));
  }
  // Parsed even where there is no filter: scans and statistics use it.
  filter_key_ = *filter_key;
  if (!footer_.filter.exists() || !options_.load_filter) return;
  const bool made_by_policy = !properties_.filter_policy.empty();
  // A policy that nobody has is not damage: every key may be there.
  if (made_by_policy && (options_.filter_policy == nullptr ||
                         options_.filter_policy->Name() != properties_.filter_policy)) {
    return;
  }

  const size_t stored_bytes = footer_.filter.size + kBlockTrailerBytes;
  filter_memory_ = filter::ResidentMemory(stored_bytes);
  if (filter_memory_.data() == nullptr) {
    filter_lacks_memory_ = true;
    return unusable(filter::FilterStateCode::kDamaged, "no memory");
  }
  if (absl::Status status =
          file_.ReadBytes(footer_.filter.offset, stored_bytes, filter_memory_.data());
      !status.ok()) {
    return unusable(filter::FilterStateCode::kDamaged, std::string(status.message()));
  }
  Compression compression;
  if (absl::Status status =
          file_.CheckTrailer(std::string_view(filter_memory_.data(), stored_bytes), footer_.filter,
                             BlockKind::kFilter, true, &compression);
      !status.ok() ||
      // Filters are used in place; our writer never compresses them.
      compression != Compression::kNone) {
    return unusable(filter::FilterStateCode::kDamaged,
                    status.ok() ? "is compressed" : std::string(status.message()));
  }
  const std::string_view contents(filter_memory_.data(), footer_.filter.size);
  if (made_by_policy) {
    filter_policy_ = options_.filter_policy;
    policy_filter_ = contents;
    return;
  }
  filter_ = filter::FilterReader::Open(contents, &filter_state_);
  if (filter_state_.code != filter::FilterStateCode::kOk) {
    return unusable(filter_state_.code, filter_state_.reason);
  }
  // The filter block records its seed, and so do the properties. Queried with hashes of another
  // seed it would deny keys that it holds, the one mistake that a filter must not make.
  if (!filter_.always_true() && filter_.hash_seed() != properties_.hash_seed) {
    return unusable(filter::FilterStateCode::kDamaged,
                    "made with another hash seed than the table names");
  }
}

}  // namespace winnow
