// Opening a table: footer, properties, index, filter.
#include <cstring>
#include <utility>

#include "engine/base/status.h"
#include "engine/sstable/sstable_reader.h"

namespace winnow {

SstableReader::SstableReader(const SstableReaderOptions& options,
                             std::unique_ptr<RandomAccessFile> file, std::string path)
    : options_(options), file_(std::move(file), std::move(path)), table_id_(NewTableId()) {}

SstableReader::~SstableReader() = default;

absl::StatusOr<std::unique_ptr<SstableReader>> SstableReader::Open(
    const SstableReaderOptions& options, std::unique_ptr<RandomAccessFile> file, std::string path) {
  file->Hint(RandomAccessFile::AccessPattern::kRandom);
  std::unique_ptr<SstableReader> reader(
      new SstableReader(options, std::move(file), std::move(path)));  // private constructor
  WINNOW_RETURN_IF_ERROR(reader->ReadFooter());
  WINNOW_RETURN_IF_ERROR(reader->ReadProperties());
  WINNOW_RETURN_IF_ERROR(reader->ReadIndex());
  reader->ReadFilter();
  return reader;
}

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
  index_memory_ = filter::ResidentMemory(contents.size() + CachedBlock::kReadablePadding);
  if (index_memory_.data() == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat(file_.path(), ": no memory for an index of ", contents.size(), " bytes"));
  }
  std::memcpy(index_memory_.data(), contents.data(), contents.size());
  index_ = IndexBlock(index_memory_.data());
  const uint64_t start = has_index_partitions() ? index_start() : 0;
  if (index_.first_offset() != start || index_.end_offset() != read_options.data_end) {
    return file_.Corruption(handle, BlockKind::kIndex, "its blocks do not fill their part");
  }
  return absl::OkStatus();
}

void SstableReader::ReadFilter() {
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
      !status.ok() || compression != Compression::kNone) {
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
  if (!filter_.always_true() && filter_.hash_seed() != properties_.hash_seed) {
    return unusable(filter::FilterStateCode::kDamaged,
                    "made with another hash seed than the table names");
  }
}

}  // namespace winnow
