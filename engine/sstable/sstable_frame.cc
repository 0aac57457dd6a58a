#include "engine/sstable/sstable_frame.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/base/coding.h"
#include "engine/base/status.h"
#include "engine/sstable/block_file.h"
#include "engine/sstable/data_block_scan.h"
#include "engine/sstable/index_block.h"

namespace winnow {

namespace {

// Of the fields of a footer (format.cc) those that are read before it is decoded, or where a part
// of it is all that is left.
constexpr size_t kMagicFromFooterEnd = 8;
constexpr size_t kFileIdInFooter = 8;
constexpr size_t kFileBytesInFooter = 16;
// A properties block begins with the name of its first property and the length of its value.
constexpr std::string_view kPropertiesStart("\x0bnum_entries\x08", 13);
constexpr uint64_t kMaxPropertiesBytes = uint64_t{40} << 20;  // two keys of the largest size
// Read and hashed of all that begins like one: values that were made to must not hold the search up
// for ever.
constexpr uint64_t kPropertiesBudgetBytes = uint64_t{256} << 20;

class Shifted final : public RandomAccessFile {
 public:
  Shifted(const RandomAccessFile& file, int64_t shift, uint64_t file_bytes)
      : file_(file), shift_(shift), file_bytes_(file_bytes) {}

  // What would lie outside of the file reads as its end does. Callers take a short read for damage.
  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    if (offset >= file_bytes_) return size_t{0};
    const int64_t at = static_cast<int64_t>(offset) + shift_;
    if (at < 0) return size_t{0};
    const uint64_t readable = std::min<uint64_t>(length, file_bytes_ - offset);
    return file_.Read(static_cast<uint64_t>(at), readable, buffer);
  }
  uint64_t size() const override { return file_bytes_; }

 private:
  const RandomAccessFile& file_;
  const int64_t shift_;
  const uint64_t file_bytes_;
};

absl::StatusOr<std::string> ReadAt(const RandomAccessFile& file, uint64_t offset, size_t length) {
  std::string bytes(length, '\0');
  WINNOW_ASSIGN_OR_RETURN(const size_t read, file.Read(offset, length, bytes.data()));
  bytes.resize(read);
  return bytes;
}

// Calls `visit` with every place of `pattern` from the last to the first, until it returns true.
// Backwards, since what is looked for stood at the end of the table. Pieces of the file overlap by
// a byte less than the pattern has: no place is missed between two, and none comes twice.
absl::Status FindBackwards(const RandomAccessFile& file, std::string_view pattern,
                           const std::function<absl::StatusOr<bool>(uint64_t at)>& visit) {
  constexpr uint64_t kStep = uint64_t{1} << 20;
  for (uint64_t end = file.size(); end > 0;) {
    const uint64_t begin = end > kStep ? end - kStep : 0;
    WINNOW_ASSIGN_OR_RETURN(const std::string bytes,
                            ReadAt(file, begin, end - begin + pattern.size() - 1));
    for (size_t at = bytes.rfind(pattern); at != std::string::npos;
         at = at == 0 ? std::string::npos : bytes.rfind(pattern, at - 1)) {
      WINNOW_ASSIGN_OR_RETURN(const bool done, visit(begin + at));
      if (done) return absl::OkStatus();
    }
    end = begin;
  }
  return absl::OkStatus();
}

// From what says most to what says least, each believed for its checksum: a footer, wherever it
// stands; without one a properties block, which by the sizes in it says where all blocks lie;
// without either the identity alone, from the header or from the tables that a manifest knows.
//
// Values may be tables, whole and sound, and stored plain: where the header says whose file it is,
// what was found inside of it and is of another identity is one of theirs.
//
// Checksums are made with the offsets that blocks had in the table. All that is found behind a
// place where bytes were put in, or taken out, is therefore read through a file that is shifted
// back.
class FrameSearch {
 public:
  FrameSearch(const RandomAccessFile& file, const std::string& path,
              std::span<const KnownSstable> known)
      : file_(file), path_(path), known_(known) {}

  absl::StatusOr<SstableFrame> Run() {
    WINNOW_RETURN_IF_ERROR(ReadHeader());
    WINNOW_RETURN_IF_ERROR(FindFooter());
    if (frame_.footer.has_value()) {
      WINNOW_RETURN_IF_ERROR(ReadProperties());
    } else {
      WINNOW_RETURN_IF_ERROR(FindProperties());
      if (frame_.file_id == 0) WINNOW_RETURN_IF_ERROR(FindIdentity());
    }
    // Of another table, whose start was put over this one's.
    if (frame_.header.has_value() && frame_.header->file_id != frame_.file_id) {
      frame_.header.reset();
    }
    return std::move(frame_);
  }

 private:
  absl::Status ReadHeader() {
    WINNOW_ASSIGN_OR_RETURN(const std::string start, ReadAt(file_, 0, kMaxTableHeaderBytes));
    absl::StatusOr<TableHeader> header = TableHeader::Decode(start, path_);
    if (header.ok()) frame_.header = *std::move(header);
    return absl::OkStatus();
  }

  absl::Status FindFooter() {
    // Where it should be it is found without reading what lies before it.
    WINNOW_ASSIGN_OR_RETURN(const bool is_in_place, TakeFooter(file_.size()));
    if (is_in_place) return absl::OkStatus();
    char magic[8];
    EncodeFixed64(magic, kTableMagic);
    return FindBackwards(file_, std::string_view(magic, sizeof(magic)),
                         [this](uint64_t at) { return TakeFooter(at + kMagicFromFooterEnd); });
  }

  // A footer is believed for its checksum, which is made for the size that it names, not for the
  // size that the file has.
  absl::StatusOr<bool> TakeFooter(uint64_t end) {
    if (end < kFooterBytes) return false;
    WINNOW_ASSIGN_OR_RETURN(const std::string bytes,
                            ReadAt(file_, end - kFooterBytes, kFooterBytes));
    if (bytes.size() != kFooterBytes) return false;
    const uint64_t file_bytes = DecodeFixed64(bytes.data() + kFileBytesInFooter);
    const absl::StatusOr<Footer> footer = Footer::Decode(bytes, file_bytes, path_);
    // A newer format at the very end is the file's own, and not for this version to repair.
    // Anywhere else it is what some other bytes look like.
    if (absl::IsFailedPrecondition(footer.status()) && end == file_.size()) return footer.status();
    if (!footer.ok()) {
      if (end != file_.size()) return false;
      // In the words of who opens the table: the size that the bytes name is any number.
      const absl::Status problem = Footer::Decode(bytes, end, path_).status();
      frame_.problem = std::string((problem.ok() ? footer.status() : problem).message());
      return false;
    }
    // One that says of the whole file where it ends is none of a value's.
    const bool is_whole_file = end == file_.size() && file_bytes == end;
    if (!is_whole_file && IsOfAnother(footer->file_id)) return false;
    frame_.footer = *footer;
    frame_.file_id = footer->file_id;
    frame_.shift = static_cast<int64_t>(end) - static_cast<int64_t>(file_bytes);
    if (frame_.shift != 0 || end != file_.size()) {
      frame_.problem = absl::StrCat(path_, ": the table has ", file_bytes, " bytes, the file ",
                                    file_.size(), "; its end is at offset ", end);
    }
    return true;
  }

  bool IsOfAnother(uint64_t file_id) const {
    return frame_.header.has_value() && frame_.header->file_id != file_id;
  }

  absl::Status ReadProperties() {
    BlockFile blocks(ShiftedFile(file_, frame_.shift, frame_.footer->file_bytes), path_);
    blocks.set_file_id(frame_.file_id);
    const absl::StatusOr<BlockRef> block =
        blocks.Read(frame_.footer->properties, BlockKind::kProperties, {});
    if (!block.ok()) return Note(block.status());
    absl::StatusOr<SstableProperties> properties = SstableProperties::Decode((*block)->contents());
    if (!properties.ok()) return Note(properties.status());
    frame_.properties = *std::move(properties);
    return absl::OkStatus();
  }

  // Damage is a finding; what says nothing about the bytes is an error.
  absl::Status Note(const absl::Status& status) {
    if (!IsCorruption(status)) return status;
    if (frame_.problem.empty()) frame_.problem = std::string(status.message());
    return absl::OkStatus();
  }

  absl::Status FindProperties() {
    if (frame_.problem.empty()) {
      frame_.problem = absl::StrCat(path_, ": footer: its end is missing");
    }
    return FindBackwards(file_, kPropertiesStart,
                         [this](uint64_t at) { return TakeProperties(at); });
  }

  // The list ends at the empty name that the block's type byte, 0, looks like; the trailer is there
  // too. 0: there is none in `bytes`, and only if `*goes_on` can there be one in the `readable`
  // bytes that they begin.
  static size_t PropertiesBytes(std::string_view bytes, uint64_t readable, bool* goes_on) {
    std::string_view rest = bytes;
    *goes_on = false;
    for (bool is_name = true;; is_name = !is_name) {
      const size_t at = bytes.size() - rest.size();
      uint64_t length;
      if (!GetVarint64(&rest, &length)) {
        *goes_on = rest.size() < kMaxVarint64Bytes;
        return 0;
      }
      if (length > readable) return 0;
      const bool is_end = is_name && length == 0;
      const uint64_t end = is_end ? at + kBlockTrailerBytes : bytes.size() - rest.size() + length;
      if (end > bytes.size()) {
        *goes_on = end <= readable;
        return 0;
      }
      if (is_end) return at;
      rest.remove_prefix(length);
    }
  }

  bool Spend(uint64_t bytes) {
    if (bytes > budget_bytes_) return false;
    budget_bytes_ -= bytes;
    return true;
  }

  absl::StatusOr<bool> TakeProperties(uint64_t at) {
    // Properties fit into the first piece unless the keys that they name are very long.
    const uint64_t readable = std::min(file_.size() - at, kMaxPropertiesBytes);
    const uint64_t first_piece = std::min<uint64_t>(readable, 64 << 10);
    if (!Spend(first_piece)) return false;
    WINNOW_ASSIGN_OR_RETURN(std::string bytes, ReadAt(file_, at, first_piece));
    bool goes_on = false;
    size_t size = PropertiesBytes(bytes, readable, &goes_on);
    if (goes_on && bytes.size() < readable) {
      if (!Spend(readable)) return false;
      WINNOW_ASSIGN_OR_RETURN(bytes, ReadAt(file_, at, readable));
      size = PropertiesBytes(bytes, readable, &goes_on);
    }
    if (size == 0) return false;
    absl::StatusOr<SstableProperties> properties =
        SstableProperties::Decode(std::string_view(bytes).substr(0, size));
    if (!properties.ok()) return false;
    // They say where they lie themselves, since there are no gaps.
    const uint64_t filter_bytes =
        properties->filter_bytes == 0 ? 0 : properties->filter_bytes + kBlockTrailerBytes;
    const BlockHandle handle = {properties->data_bytes + properties->signature_bytes +
                                    properties->key_hash_bytes + filter_bytes +
                                    properties->index_bytes + properties->range_tombstone_bytes +
                                    RangeFilterBytes(*properties),
                                size};
    const uint64_t stored = DecodeFixed64(bytes.data() + size + 1);
    const auto is_right = [&](uint64_t file_id) {
      return file_id != 0 && !IsOfAnother(file_id) && Spend(size) &&
             BlockChecksum(std::string_view(bytes).substr(0, size), 0, file_id, handle.offset) ==
                 stored;
    };
    // The checksum was made with the identity, which the properties do not say: one under which it
    // is right is the table's. The likeliest come first.
    std::vector<uint64_t> candidates;
    // What is left of the footer follows.
    const size_t id_at = size + kBlockTrailerBytes + kFileIdInFooter;
    if (bytes.size() >= id_at + 8) candidates.push_back(DecodeFixed64(bytes.data() + id_at));
    if (frame_.header.has_value()) candidates.push_back(frame_.header->file_id);
    for (const KnownSstable& table : known_) candidates.push_back(table.file_id);
    const auto found = std::find_if(candidates.begin(), candidates.end(), is_right);
    if (found == candidates.end()) return false;
    frame_.file_id = *found;
    frame_.shift = static_cast<int64_t>(at) - static_cast<int64_t>(handle.offset);
    frame_.properties = *std::move(properties);
    frame_.footer = FooterFrom(*frame_.properties, handle, *found);
    // Properties do not say where the first block begins: without a header that stays 0, unknown.
    if (frame_.header.has_value()) frame_.footer->header_bytes = frame_.header->header_bytes();
    return true;
  }

  // With its trailer.
  static uint64_t RangeFilterBytes(const SstableProperties& properties) {
    const uint64_t bytes = properties.range_filter_bytes;
    return bytes == 0 ? 0 : bytes + kBlockTrailerBytes;
  }

  // The footer as it must have been. Blocks lie without gaps, so that their sizes give their
  // places: the filter's from the end of the data on, the others' from the properties back.
  static Footer FooterFrom(const SstableProperties& properties, const BlockHandle& handle,
                           uint64_t file_id) {
    Footer footer;
    footer.file_id = file_id;
    footer.properties = handle;
    footer.file_bytes = handle.end() + kFooterBytes;
    if (properties.filter_bytes > 0) {
      footer.filter = {
          properties.data_bytes + properties.signature_bytes + properties.key_hash_bytes,
          properties.filter_bytes};
    }
    // Where the top index begins behind partitions only these could tell; without it their blocks
    // are searched for.
    footer.index_levels = properties.index_partitions == 0 ? 1 : 2;
    const uint64_t range_filter_bytes = RangeFilterBytes(properties);
    if (range_filter_bytes > 0) {
      footer.range_filter = {handle.offset - range_filter_bytes, properties.range_filter_bytes};
    }
    const uint64_t tombstone_bytes = properties.range_tombstone_bytes;
    const uint64_t tombstones_end = handle.offset - range_filter_bytes;
    if (tombstone_bytes > kBlockTrailerBytes) {
      footer.range_tombstones = {tombstones_end - tombstone_bytes,
                                 tombstone_bytes - kBlockTrailerBytes};
    }
    if (footer.index_levels == 1 && properties.index_bytes > kBlockTrailerBytes) {
      footer.index = {tombstones_end - tombstone_bytes - properties.index_bytes,
                      properties.index_bytes - kBlockTrailerBytes};
    }
    return footer;
  }

  // Nothing is left but blocks, and perhaps the header, which is then believed. Without it the
  // identity is the one under which the first block is right. If that one is what is damaged, the
  // name is all there is to go by.
  absl::Status FindIdentity() {
    const KnownSstable* found = nullptr;
    for (const KnownSstable& table : known_) {
      // With a header only the size is wanted that the table had, for the shift.
      if (frame_.header.has_value()) {
        if (table.file_id == frame_.header->file_id) found = &table;
        continue;
      }
      if (table.has_this_name && found == nullptr) found = &table;
      BlockFile blocks(ShiftedFile(file_, 0, file_.size()), path_);
      blocks.set_file_id(table.file_id);
      WINNOW_ASSIGN_OR_RETURN(const uint64_t start, StatedDataStart());
      DataBlockScan scan(blocks, start, file_.size());
      WINNOW_ASSIGN_OR_RETURN(const bool is_right, scan.StartsWithBlock());
      if (!is_right) continue;
      found = &table;
      break;
    }
    if (frame_.header.has_value()) frame_.file_id = frame_.header->file_id;
    if (found == nullptr) return absl::OkStatus();
    frame_.file_id = found->file_id;
    // As if all that is missing were missing before it; searches look in both places.
    frame_.shift = static_cast<int64_t>(file_.size()) - static_cast<int64_t>(found->file_bytes);
    return absl::OkStatus();
  }

  // As a header says that is damaged elsewhere.
  absl::StatusOr<uint64_t> StatedDataStart() const {
    constexpr uint64_t kSizeInHeader = 20;
    WINNOW_ASSIGN_OR_RETURN(const std::string size, ReadAt(file_, kSizeInHeader, sizeof(uint32_t)));
    const uint64_t stated = size.size() < sizeof(uint32_t) ? 0 : DecodeFixed32(size.data());
    return stated >= kMinTableHeaderBytes && stated <= kMaxTableHeaderBytes ? stated : 0;
  }

  const RandomAccessFile& file_;
  const std::string& path_;
  const std::span<const KnownSstable> known_;
  uint64_t budget_bytes_ = kPropertiesBudgetBytes;
  SstableFrame frame_;
};

}  // namespace

std::unique_ptr<RandomAccessFile> ShiftedFile(const RandomAccessFile& file, int64_t shift,
                                              uint64_t file_bytes) {
  return std::make_unique<Shifted>(file, shift, file_bytes);
}

absl::StatusOr<SstableFrame> FindSstableFrame(const RandomAccessFile& file, const std::string& path,
                                              std::span<const KnownSstable> known) {
  return FrameSearch(file, path, known).Run();
}

}  // namespace winnow
