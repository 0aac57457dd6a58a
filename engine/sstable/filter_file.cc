#include "engine/sstable/filter_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/status.h"
#include "engine/sstable/filter_block_verifier.h"

namespace winnow {

namespace {

constexpr uint64_t kMagic = 0x544c4946'4f4e4e57;  // "WNNOFILT"
constexpr uint16_t kMajorVersion = 1;
constexpr uint16_t kMinorVersion = 0;

// Offsets of the header's fields (FORMAT.md, "Filter files"). Magic and version keep their place in
// every version.
constexpr size_t kChecksumAt = 8;
constexpr size_t kCheckedFrom = 16;
constexpr size_t kMajorAt = 16;
constexpr size_t kMinorAt = 18;
constexpr size_t kHeaderBytesAt = 20;
constexpr size_t kFileIdAt = 24;
constexpr size_t kTableIdAt = 32;
constexpr size_t kFileBytesAt = 40;
constexpr size_t kHashSeedAt = 48;
constexpr size_t kNumKeysAt = 56;
constexpr size_t kFilterBytesAt = 64;
constexpr size_t kExpectedFprAt = 72;
constexpr size_t kFellBackAt = 80;
constexpr size_t kSpecLengthAt = 84;
constexpr size_t kKeyLengthAt = 88;
constexpr size_t kNumUnitsAt = 92;

// Seeded with the magic: the identity is itself among the bytes that are covered.
uint64_t HeaderChecksum(std::string_view header) {
  return Checksum(header.substr(kCheckedFrom), ChecksumSeed(kMagic, 0));
}

// Without a filter (the spec `none`) the header is all of the file.
uint64_t BytesOfFile(const FilterFileHeader& header) {
  const BlockHandle block = header.filter_block();
  return block.exists() ? block.end() : header.header_bytes();
}

}  // namespace

uint64_t FilterFileHeader::header_bytes() const {
  return kMinFilterFileHeaderBytes + filter_spec.size() + filter_key.size() +
         units.size() * kListedUnitBytes;
}

std::string FilterFileHeader::Encode() const {
  std::string out(kMinFilterFileHeaderBytes, '\0');
  out.append(filter_spec);
  out.append(filter_key);
  out.append(EncodeUnitList(units));
  EncodeFixed64(out.data(), kMagic);
  std::memcpy(&out[kMajorAt], &kMajorVersion, sizeof(kMajorVersion));
  std::memcpy(&out[kMinorAt], &kMinorVersion, sizeof(kMinorVersion));
  EncodeFixed32(&out[kHeaderBytesAt], static_cast<uint32_t>(header_bytes()));
  EncodeFixed64(&out[kFileIdAt], file_id);
  EncodeFixed64(&out[kTableIdAt], table_id);
  EncodeFixed64(&out[kFileBytesAt], file_bytes);
  EncodeFixed64(&out[kHashSeedAt], hash_seed);
  EncodeFixed64(&out[kNumKeysAt], num_filter_keys);
  EncodeFixed64(&out[kFilterBytesAt], filter_bytes);
  std::memcpy(&out[kExpectedFprAt], &expected_fpr, sizeof(expected_fpr));
  EncodeFixed32(&out[kFellBackAt], filter_fell_back ? 1 : 0);
  EncodeFixed32(&out[kSpecLengthAt], static_cast<uint32_t>(filter_spec.size()));
  EncodeFixed32(&out[kKeyLengthAt], static_cast<uint32_t>(filter_key.size()));
  EncodeFixed32(&out[kNumUnitsAt], static_cast<uint32_t>(units.size()));
  // Last, since it covers all fields behind it.
  EncodeFixed64(&out[kChecksumAt], HeaderChecksum(out));
  return out;
}

// Nothing is believed before the checksum, but for the lengths that say what it covers, and the
// version: a newer one may have moved everything else.
absl::StatusOr<FilterFileHeader> FilterFileHeader::Decode(std::string_view start,
                                                          uint64_t file_bytes,
                                                          std::string_view path) {
  const auto damaged = [&](std::string_view reason) {
    return CorruptionError(path, 0, ToStd(absl::StrCat("filter file: ", ToAbsl(reason))));
  };
  if (start.size() < kMinFilterFileHeaderBytes) return damaged("too short for its header");
  if (DecodeFixed64(start.data()) != kMagic) return damaged("does not begin like one");
  // All of 32 bits, added in 64: whatever they say, no sum wraps around.
  const uint64_t header_bytes = DecodeFixed32(&start[kHeaderBytesAt]);
  const uint64_t spec_length = DecodeFixed32(&start[kSpecLengthAt]);
  const uint64_t key_length = DecodeFixed32(&start[kKeyLengthAt]);
  const uint64_t num_units = DecodeFixed32(&start[kNumUnitsAt]);
  const uint64_t units_at = kMinFilterFileHeaderBytes + spec_length + key_length;
  const bool fits = header_bytes <= start.size() && spec_length <= kMaxFilterFileTextBytes &&
                    key_length <= kMaxFilterFileTextBytes && num_units <= kMostListedUnits &&
                    header_bytes == units_at + num_units * kListedUnitBytes;
  // What does not fit is not hashed: nobody knows then how far the header goes.
  const bool is_sound = fits && ChecksumsMatch(DecodeFixed64(&start[kChecksumAt]),
                                               HeaderChecksum(start.substr(0, header_bytes)));
  const uint16_t major = DecodeFixed16(&start[kMajorAt]);
  if (!is_sound) {
    // The sum of this version's bytes says that nothing but the version is wrong.
    std::string as_ours(start.substr(0, fits ? header_bytes : kMinFilterFileHeaderBytes));
    std::memcpy(&as_ours[kMajorAt], &kMajorVersion, sizeof(kMajorVersion));
    const bool only_version =
        fits && ChecksumsMatch(DecodeFixed64(&start[kChecksumAt]), HeaderChecksum(as_ours));
    if (major > kMajorVersion && major <= 255 && !only_version) {
      return absl::FailedPreconditionError(absl::StrCat(ToAbsl(path), ": filter file of version ",
                                                        major, ", newer than ", kMajorVersion,
                                                        ", which this version of Winnow reads"));
    }
    return damaged("checksum mismatch in its header");
  }
  if (major != kMajorVersion) return damaged("impossible version");

  FilterFileHeader header;
  header.file_id = DecodeFixed64(&start[kFileIdAt]);
  header.table_id = DecodeFixed64(&start[kTableIdAt]);
  header.file_bytes = DecodeFixed64(&start[kFileBytesAt]);
  header.hash_seed = DecodeFixed64(&start[kHashSeedAt]);
  header.num_filter_keys = DecodeFixed64(&start[kNumKeysAt]);
  header.filter_bytes = DecodeFixed64(&start[kFilterBytesAt]);
  std::memcpy(&header.expected_fpr, &start[kExpectedFprAt], sizeof(header.expected_fpr));
  header.filter_fell_back = DecodeFixed32(&start[kFellBackAt]) != 0;
  header.filter_spec = start.substr(kMinFilterFileHeaderBytes, spec_length);
  header.filter_key = start.substr(kMinFilterFileHeaderBytes + spec_length, key_length);
  const std::string_view units = start.substr(units_at, num_units * kListedUnitBytes);
  // 0 is how a manifest says "any" (Open): no file has it for an identity.
  const bool has_rate = header.expected_fpr >= 0 && header.expected_fpr <= 1;  // NaN: false
  if (header.file_id == 0 || header.table_id == 0 || !has_rate ||
      (num_units != 0 && !DecodeUnitList(units, &header.units))) {
    return damaged("impossible field in its header");
  }
  // No allocation goes by a size that the file does not have.
  if (header.file_bytes != file_bytes || header.filter_bytes > file_bytes ||
      BytesOfFile(header) != file_bytes) {
    return damaged(
        ToStd(absl::StrCat("has ", file_bytes, " bytes, its header says ", header.file_bytes)));
  }
  if (num_units != 0 && !UnitsFillBlock(header.units, header.filter_bytes)) {
    return damaged("the filter's units do not fill its block");
  }
  return header;
}

absl::StatusOr<std::unique_ptr<FilterFile>> FilterFile::Open(std::unique_ptr<RandomAccessFile> file,
                                                             SharedPath path,
                                                             uint64_t expected_file_id,
                                                             uint64_t table_id) {
  std::unique_ptr<FilterFile> opened(new FilterFile(std::move(file), std::move(path)));
  BlockFile& blocks = opened->blocks_;
  // As long as the longest header, or all of a shorter file: one read.
  std::string start(std::min<uint64_t>(blocks.size(), kMaxFilterFileHeaderBytes), '\0');
  WINNOW_RETURN_IF_ERROR(blocks.ReadBytes(0, start.size(), start.data()));
  WINNOW_ASSIGN_OR_RETURN(opened->header_,
                          FilterFileHeader::Decode(start, blocks.size(), blocks.path()));
  const FilterFileHeader& header = opened->header_;
  if (expected_file_id != 0 && header.file_id != expected_file_id) {
    return CorruptionError(blocks.path(), 0,
                           absl::StrCat("filter file: this is another file: identity ",
                                        absl::Hex(header.file_id, absl::kZeroPad16), " expected ",
                                        absl::Hex(expected_file_id, absl::kZeroPad16)));
  }
  if (table_id != 0 && header.table_id != table_id) {
    return CorruptionError(blocks.path(), 0,
                           absl::StrCat("filter file: of the SSTable of identity ",
                                        absl::Hex(header.table_id, absl::kZeroPad16), ", not ",
                                        absl::Hex(table_id, absl::kZeroPad16)));
  }
  // From here on its block can be read, whose checksum is made with the identity.
  blocks.set_file_id(header.file_id);
  return opened;
}

// The header must still say what it said when the file was opened: all that is in use goes by that,
// and another sound header is another file.
std::vector<SstableProblem> FilterFile::Verify() const {
  const auto problem = [&](const absl::Status& status) {
    return std::vector<SstableProblem>{ProblemOf(blocks_.path(), 0, status)};
  };
  std::string start(header_.header_bytes(), '\0');
  if (absl::Status status = blocks_.ReadBytes(0, start.size(), start.data()); !status.ok()) {
    return problem(status);
  }
  const auto header = FilterFileHeader::Decode(start, blocks_.size(), blocks_.path());
  if (!header.ok()) return problem(header.status());
  if (*header != header_) return {{0, "filter file: was replaced"}};
  const FilterBlockSource source = {&blocks_, header_.filter_block(), header_.hash_seed,
                                    /*made_by_policy=*/false};
  return FilterBlockVerifier(source, header_.units).problems();
}

// Everything is known before the first byte is written, since the header names the size of the
// whole. The sync comes before the caller can name the file in a manifest: after a power failure a
// name must not stand for bytes that are not there.
absl::Status WriteFilterFile(const filter::BuiltFilter& built, FilterFileHeader* header,
                             WritableFile* file) {
  header->file_id = RandomIdentity();
  header->num_filter_keys = built.num_keys;
  header->filter_bytes = built.block.size();
  header->expected_fpr = built.expected_fpr;
  header->filter_fell_back = built.fell_back;
  header->file_bytes = BytesOfFile(*header);
  WINNOW_RETURN_IF_ERROR(file->Append(header->Encode()));
  if (!built.block.empty()) {
    char trailer[kBlockTrailerBytes];
    trailer[0] = static_cast<char>(Compression::kNone);
    EncodeFixed64(trailer + 1,
                  BlockChecksum(built.block, 0, header->file_id, header->filter_block().offset));
    WINNOW_RETURN_IF_ERROR(file->Append(built.block));
    WINNOW_RETURN_IF_ERROR(file->Append(std::string_view(trailer, sizeof(trailer))));
  }
  WINNOW_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

}  // namespace winnow
