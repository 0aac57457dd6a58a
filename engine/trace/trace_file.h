// The file that a trace is (FORMAT.md): a header, then frames of records.
#ifndef WINNOW_ENGINE_TRACE_TRACE_FILE_H_
#define WINNOW_ENGINE_TRACE_TRACE_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/file_system.h"

namespace winnow {

// Numbers are on disk.
enum class TraceCall : uint8_t {
  kGet = 1,  // and Exists
  kMultiGet = 2,
  kSeek = 3,
  kPut = 4,
  kDelete = 5,
  kMerge = 6,
};
inline constexpr uint32_t kNumTraceCalls = 7;  // from 0, which is none
// "get", "multiget", "seek", "put", "delete", "merge".
std::string_view TraceCallName(TraceCall call);

struct TraceHeader {
  bool keys_are_hashes = false;
  uint64_t hash_seed = 0;     // of the database
  uint64_t start_micros = 0;  // since 1970
  uint32_t one_in = 1;

  std::string Encode() const;  // kTraceHeaderBytes
  // DataLoss: these are not the first bytes of a trace, or they are damaged. FailedPrecondition: a
  // newer major version.
  static absl::StatusOr<TraceHeader> Decode(std::string_view bytes, std::string_view path);
};
inline constexpr size_t kTraceHeaderBytes = 48;

struct TraceRecord {
  TraceCall call = TraceCall::kGet;
  uint32_t family_id = 0;
  uint64_t micros = 0;       // since the trace began
  std::string_view key;      // lives until the next record; empty where keys are hashes
  uint64_t key_hash = 0;     // where keys are hashes
  uint64_t value_bytes = 0;  // kPut, kMerge
};

// Appends to `payload`; `previous_micros` is of the record before in the file.
void AppendTraceRecord(const TraceRecord& record, bool keys_are_hashes, uint64_t previous_micros,
                       std::string* payload);
// Before the first look-up of a family in each frame of a trace of hashes, and again where it
// changes: of which part of keys, as filter::FilterKeyExtractor::Part has it for a text, those
// hashes are.
void AppendTracePart(uint32_t family_id, std::string_view part, std::string* payload);
// A frame around a payload, at `offset` of the file.
std::string TraceFrame(std::string_view payload, uint64_t offset);
inline constexpr size_t kTraceFrameHeaderBytes = 12;

// For one thread.
class TraceReader {
 public:
  static absl::StatusOr<std::unique_ptr<TraceReader>> Open(FileSystem& file_system,
                                                           const std::string& path);

  const TraceHeader& header() const { return header_; }
  // False at the end. DataLoss names path and offset.
  absl::StatusOr<bool> Next(TraceRecord* record);
  // Where keys are hashes: the part of the key that those of the family's look-ups were made of, as
  // of the last record. Empty: the trace does not say. Lives until the next record.
  std::string_view HashedPart(uint32_t family_id) const;
  // After the end: the last frame is cut, as a process that was killed leaves it.
  bool was_cut() const { return was_cut_; }

 private:
  TraceReader(std::unique_ptr<RandomAccessFile> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  absl::StatusOr<bool> ReadFrame();
  absl::Status TakePart();
  absl::Status Damaged(std::string_view reason) const;

  const std::unique_ptr<RandomAccessFile> file_;
  const std::string path_;
  TraceHeader header_;
  uint64_t offset_ = kTraceHeaderBytes;  // of the frame that is being read
  uint64_t next_offset_ = kTraceHeaderBytes;
  std::string frame_;
  std::string_view rest_;  // of frame_
  uint64_t micros_ = 0;
  std::map<uint32_t, std::string> parts_;  // by family
  bool was_cut_ = false;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TRACE_TRACE_FILE_H_
