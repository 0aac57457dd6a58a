// The format of traces (FORMAT.md). Records are gathered in frames, each with a checksum, so that
// what a process wrote before it was killed can be read, and damage is not taken for calls.
#include "engine/trace/trace_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/status.h"

namespace winnow {

namespace {

constexpr uint64_t kMagic = 0x45434152'544e4e57;  // "WNNTRACE"
constexpr uint16_t kMajorVersion = 1;
constexpr uint16_t kMinorVersion = 0;
constexpr uint32_t kHashedKeys = 1;
// Behind those of calls: a record that is none.
constexpr uint32_t kPartRecord = kNumTraceCalls;

constexpr size_t kChecksumAt = 8;
constexpr size_t kCheckedFrom = 16;
constexpr size_t kMajorAt = 16;
constexpr size_t kMinorAt = 18;
constexpr size_t kFlagsAt = 20;
constexpr size_t kHashSeedAt = 24;
constexpr size_t kStartAt = 32;
constexpr size_t kOneInAt = 40;

// One key of the largest size, and what the writer collects besides.
constexpr uint64_t kMaxPayloadBytes = uint64_t{1} << 30;

bool HasValue(TraceCall call) { return call == TraceCall::kPut || call == TraceCall::kMerge; }

// Of all that stands behind it. The magic in front is its seed: under another one it would not fit.
uint64_t HeaderChecksum(std::string_view header) {
  return Checksum(header.substr(kCheckedFrom, kTraceHeaderBytes - kCheckedFrom), kMagic);
}

}  // namespace

std::string_view TraceCallName(TraceCall call) {
  switch (call) {
    case TraceCall::kGet:
      return "get";
    case TraceCall::kMultiGet:
      return "multiget";
    case TraceCall::kSeek:
      return "seek";
    case TraceCall::kPut:
      return "put";
    case TraceCall::kDelete:
      return "delete";
    case TraceCall::kMerge:
      break;
  }
  return "merge";
}

std::string TraceHeader::Encode() const {
  // The last four bytes stay zero, under the checksum as all others.
  std::string out(kTraceHeaderBytes, '\0');
  EncodeFixed64(out.data(), kMagic);
  std::memcpy(&out[kMajorAt], &kMajorVersion, sizeof(kMajorVersion));
  std::memcpy(&out[kMinorAt], &kMinorVersion, sizeof(kMinorVersion));
  EncodeFixed32(&out[kFlagsAt], keys_are_hashes ? kHashedKeys : 0);
  EncodeFixed64(&out[kHashSeedAt], hash_seed);
  EncodeFixed64(&out[kStartAt], start_micros);
  EncodeFixed32(&out[kOneInAt], one_in);
  EncodeFixed64(&out[kChecksumAt], HeaderChecksum(out));
  return out;
}

absl::StatusOr<TraceHeader> TraceHeader::Decode(std::string_view bytes, std::string_view path) {
  if (bytes.size() < kTraceHeaderBytes || DecodeFixed64(bytes.data()) != kMagic) {
    return CorruptionError(path, 0, "not a trace");
  }
  const uint16_t major = DecodeFixed16(&bytes[kMajorAt]);
  // Before the version, or a damaged one would be taken for a newer one. So every version has its
  // checksum here, over these bytes.
  if (!ChecksumsMatch(DecodeFixed64(&bytes[kChecksumAt]), HeaderChecksum(bytes))) {
    return CorruptionError(path, 0, "trace: checksum mismatch in its header");
  }
  if (major > kMajorVersion) {
    return absl::FailedPreconditionError(absl::StrCat(ToAbsl(path), ": trace of version ", major,
                                                      ", newer than ", kMajorVersion,
                                                      ", which this version of Winnow reads"));
  }
  TraceHeader header;
  const uint32_t flags = DecodeFixed32(&bytes[kFlagsAt]);
  header.keys_are_hashes = (flags & kHashedKeys) != 0;
  header.hash_seed = DecodeFixed64(&bytes[kHashSeedAt]);
  header.start_micros = DecodeFixed64(&bytes[kStartAt]);
  header.one_in = DecodeFixed32(&bytes[kOneInAt]);
  // A flag that is not known may change what records are.
  if (major == 0 || flags > kHashedKeys || header.one_in == 0) {
    return CorruptionError(path, 0, "trace: impossible field in its header");
  }
  return header;
}

void AppendTraceRecord(const TraceRecord& record, bool keys_are_hashes, uint64_t previous_micros,
                       std::string* payload) {
  PutVarint32(payload, static_cast<uint32_t>(record.call));
  PutVarint32(payload, record.family_id);
  // Not the time itself: where calls come close a difference takes one byte or two. It cannot be
  // negative; the recorder sees to that.
  PutVarint64(payload, record.micros - previous_micros);
  if (keys_are_hashes) {
    PutFixed64(payload, record.key_hash);
  } else {
    PutLengthPrefixed(payload, record.key);
  }
  if (HasValue(record.call)) PutVarint64(payload, record.value_bytes);
}

void AppendTracePart(uint32_t family_id, std::string_view part, std::string* payload) {
  PutVarint32(payload, kPartRecord);
  PutVarint32(payload, family_id);
  PutLengthPrefixed(payload, part);
}

std::string TraceFrame(std::string_view payload, uint64_t offset) {
  std::string frame;
  PutFixed32(&frame, static_cast<uint32_t>(payload.size()));
  // With its offset in the seed a frame is right in its own place alone.
  PutFixed64(&frame, Checksum(payload, ChecksumSeed(kMagic, offset)));
  frame.append(payload);
  return frame;
}

absl::Status TraceReader::Damaged(std::string_view reason) const {
  return CorruptionError(path_, offset_, ToStd(absl::StrCat("trace: ", ToAbsl(reason))));
}

absl::StatusOr<std::unique_ptr<TraceReader>> TraceReader::Open(FileSystem& file_system,
                                                               const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(auto file, file_system.OpenRandomAccess(path));
  std::unique_ptr<TraceReader> reader(new TraceReader(std::move(file), path));
  char bytes[kTraceHeaderBytes];
  WINNOW_ASSIGN_OR_RETURN(const size_t read, reader->file_->Read(0, sizeof(bytes), bytes));
  WINNOW_ASSIGN_OR_RETURN(reader->header_,
                          TraceHeader::Decode(std::string_view(bytes, read), path));
  return reader;
}

// No memory is taken for a length that the file does not have.
// A frame that the file ends in is no damage: where the process was killed, the rest was never
// written. What is there in full and wrong is. The size is that of the file as it was opened, so
// that a trace which is still being written can be read up to there.
absl::StatusOr<bool> TraceReader::ReadFrame() {
  offset_ = next_offset_;
  // `offset_` stays at this frame, for errors in its records to name.
  const uint64_t left = file_->size() - std::min(file_->size(), offset_);
  if (left == 0) return false;
  char head[kTraceFrameHeaderBytes];
  was_cut_ = left < sizeof(head);
  if (was_cut_) return false;
  WINNOW_ASSIGN_OR_RETURN(const size_t head_read, file_->Read(offset_, sizeof(head), head));
  const uint64_t size = DecodeFixed32(head);
  // No wrap: at least the head is left. A file that was cut since it was opened reads short.
  was_cut_ = head_read < sizeof(head) || size > left - sizeof(head);
  if (was_cut_) return false;
  if (size == 0 || size > kMaxPayloadBytes) return Damaged("impossible size of a frame");
  // Records of the frame before, whose keys point into it, are over: see TraceRecord::key.
  frame_.resize(size);
  WINNOW_ASSIGN_OR_RETURN(const size_t read,
                          file_->Read(offset_ + sizeof(head), size, frame_.data()));
  was_cut_ = read < size;
  if (was_cut_) return false;
  if (!ChecksumsMatch(DecodeFixed64(head + 4), Checksum(frame_, ChecksumSeed(kMagic, offset_)))) {
    return Damaged("checksum mismatch");
  }
  rest_ = frame_;
  next_offset_ = offset_ + sizeof(head) + size;
  return true;
}

// Another one for the family takes the place of what was said before.
absl::Status TraceReader::TakePart() {
  uint32_t family_id;
  std::string_view part;
  if (!header_.keys_are_hashes || !GetVarint32(&rest_, &family_id) ||
      !GetLengthPrefixed(&rest_, &part)) {
    return Damaged("malformed record");
  }
  parts_[family_id] = std::string(part);
  return absl::OkStatus();
}

std::string_view TraceReader::HashedPart(uint32_t family_id) const {
  const auto part = parts_.find(family_id);
  return part == parts_.end() ? std::string_view() : part->second;
}

absl::StatusOr<bool> TraceReader::Next(TraceRecord* record) {
  *record = TraceRecord();
  uint32_t call = kPartRecord;
  while (call == kPartRecord) {
    if (rest_.empty()) {
      WINNOW_ASSIGN_OR_RETURN(const bool more, ReadFrame());
      if (!more) return false;
    }
    if (!GetVarint32(&rest_, &call)) return Damaged("malformed record");
    if (call == kPartRecord) WINNOW_RETURN_IF_ERROR(TakePart());
  }
  uint64_t since;
  if (call == 0 || call > kNumTraceCalls || !GetVarint32(&rest_, &record->family_id) ||
      !GetVarint64(&rest_, &since)) {
    return Damaged("malformed record");
  }
  record->call = static_cast<TraceCall>(call);
  // Times run on from frame to frame.
  micros_ += since;
  record->micros = micros_;
  // A record ends in its frame: what would be behind its end fails in these. After that `rest_` is
  // in the middle of a record, and the reader of no more use.
  const bool has_key = header_.keys_are_hashes ? GetFixed64(&rest_, &record->key_hash)
                                               : GetLengthPrefixed(&rest_, &record->key);
  if (!has_key || (HasValue(record->call) && !GetVarint64(&rest_, &record->value_bytes))) {
    return Damaged("malformed record");
  }
  return true;
}

}  // namespace winnow
