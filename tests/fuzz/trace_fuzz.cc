// Any bytes as a trace, as they are and with checksums that are right. What is read is written
// again and reads the same.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/trace/trace_file.h"
#include "tests/fuzz/fuzz_target.h"
#include "winnow/memory_file_system.h"

namespace {

using winnow::TraceCall;
using winnow::TraceHeader;
using winnow::TraceReader;
using winnow::TraceRecord;
using winnow::fuzz::Require;

constexpr char kPath[] = "/calls.trace";

// What a record says, with a key of its own, and of which part of keys its hash is.
struct Call {
  TraceRecord record;
  std::string key;
  std::string part;
};

struct Trace {
  TraceHeader header;
  std::vector<Call> calls;
};

std::string Encode(const Trace& trace, size_t calls_per_frame) {
  std::string bytes = trace.header.Encode();
  std::string payload;
  uint64_t micros = 0;
  for (size_t i = 0; i < trace.calls.size(); i++) {
    TraceRecord record = trace.calls[i].record;
    record.key = trace.calls[i].key;
    if (trace.header.keys_are_hashes) {
      winnow::AppendTracePart(record.family_id, trace.calls[i].part, &payload);
    }
    winnow::AppendTraceRecord(record, trace.header.keys_are_hashes, micros, &payload);
    micros = record.micros;
    if ((i + 1) % calls_per_frame != 0 && i + 1 != trace.calls.size()) continue;
    bytes += winnow::TraceFrame(payload, bytes.size());
    payload.clear();
  }
  return bytes;
}

// FORMAT.md: the checksum of the header's fields, and of each frame as far as sizes lead on.
std::string Reseal(std::string bytes) {
  constexpr size_t kChecksumAt = 8;
  constexpr size_t kFieldsAt = 16;
  if (bytes.size() < winnow::kTraceHeaderBytes) return bytes;
  const uint64_t magic = winnow::DecodeFixed64(bytes.data());
  const std::string_view fields(bytes.data() + kFieldsAt, winnow::kTraceHeaderBytes - kFieldsAt);
  winnow::EncodeFixed64(bytes.data() + kChecksumAt, winnow::Checksum(fields, magic));
  size_t at = winnow::kTraceHeaderBytes;
  while (bytes.size() - at > winnow::kTraceFrameHeaderBytes) {
    const size_t payload_at = at + winnow::kTraceFrameHeaderBytes;
    const size_t size = winnow::DecodeFixed32(bytes.data() + at);
    if (size == 0 || size > bytes.size() - payload_at) break;
    bytes.replace(at, payload_at + size - at,
                  winnow::TraceFrame(std::string_view(bytes).substr(payload_at, size), at));
    at = payload_at + size;
  }
  return bytes;
}

void Write(winnow::FileSystem& files, std::string_view bytes) {
  const auto file = *files.Create(kPath, {});
  Require(file->Append(bytes).ok() && file->Close().ok(), "the input is written");
}

// As far as it can be read; `*ended`: to its end.
Trace Read(winnow::FileSystem& files, bool* ended) {
  Trace trace;
  *ended = false;
  const auto reader = TraceReader::Open(files, kPath);
  if (!reader.ok()) {
    Require(!reader.status().message().empty(), "a refusal has a reason");
    return trace;
  }
  trace.header = (*reader)->header();
  Require(trace.header.one_in > 0, "one key in at least one");
  TraceRecord record;
  for (;;) {
    const auto more = (*reader)->Next(&record);
    Require(more.ok() || !more.status().message().empty(), "damage has a reason");
    if (!more.ok()) return trace;
    if (!*more) break;
    Require(record.key.empty() || !trace.header.keys_are_hashes, "hashes have no keys");
    trace.calls.push_back(
        {record, std::string(record.key), std::string((*reader)->HashedPart(record.family_id))});
  }
  *ended = true;
  return trace;
}

bool Same(const Call& left, const Call& right) {
  return left.record.call == right.record.call && left.record.family_id == right.record.family_id &&
         left.record.micros == right.record.micros && left.key == right.key &&
         left.part == right.part && left.record.key_hash == right.record.key_hash &&
         left.record.value_bytes == right.record.value_bytes;
}

void Check(std::string_view bytes) {
  const auto files = winnow::NewMemoryFileSystem();
  Write(*files, bytes);
  bool ended = false;
  const Trace trace = Read(*files, &ended);
  Require(trace.calls.size() <= bytes.size(), "no more calls than bytes");
  const std::string again = Encode(trace, 3);
  Write(*files, again);
  const Trace reread = Read(*files, &ended);
  Require(ended && reread.header.keys_are_hashes == trace.header.keys_are_hashes &&
              reread.header.hash_seed == trace.header.hash_seed &&
              std::equal(reread.calls.begin(), reread.calls.end(), trace.calls.begin(),
                         trace.calls.end(), Same),
          "a trace is written and read the same");
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  std::vector<std::string> seeds;
  for (const bool hashed : {false, true}) {
    Trace trace;
    trace.header.keys_are_hashes = hashed;
    trace.header.hash_seed = 7;
    seeds.push_back(Encode(trace, 1));
    for (uint32_t i = 0; i < 24; i++) {
      Call& call = trace.calls.emplace_back();
      call.record.call = static_cast<TraceCall>(1 + i % (winnow::kNumTraceCalls - 1));
      call.record.family_id = i % 3 * 100;
      call.record.micros = i * i * 50;
      if (hashed) call.record.key_hash = i * 0x9e3779b97f4a7c15ULL;
      if (hashed) call.part = i % 2 == 0 ? "whole" : "prefix:8";
      if (!hashed) call.key = std::string(i, static_cast<char>('a' + i));
      const bool has_value =
          call.record.call == TraceCall::kPut || call.record.call == TraceCall::kMerge;
      if (has_value) call.record.value_bytes = uint64_t{1} << i;
    }
    seeds.push_back(Encode(trace, 5));
    seeds.push_back(Encode(trace, 24));
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  Check(bytes);
  Check(Reseal(bytes));
  return 0;
}
