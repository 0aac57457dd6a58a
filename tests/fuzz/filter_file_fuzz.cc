// Any bytes as a filter file, of which a table takes its filter.

#include <memory>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/sstable/filter_file.h"
#include "tests/fuzz/fuzz_target.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/spec.h"
#include "winnow/memory_file_system.h"

namespace {

constexpr char kPath[] = "/000009.flt";
constexpr uint64_t kMagic = 0x544c4946'4f4e4e57;  // FORMAT.md, "Filter files"
constexpr size_t kChecksumAt = 8;
constexpr size_t kCheckedFrom = 16;
constexpr size_t kHeaderBytesAt = 20;

std::string FileWith(std::string_view spec, int num_keys) {
  const auto files = winnow::NewMemoryFileSystem();
  auto builder = *winnow::filter::FilterBuilder::Create(*winnow::filter::ParseFilterSpec(spec), 7);
  for (int i = 0; i < num_keys; i++) {
    builder->Add(winnow::filter::HashKey(std::to_string(i), 7));
  }
  winnow::FilterFileHeader header;
  header.table_id = 5;
  header.hash_seed = 7;
  header.filter_spec = spec;
  header.filter_key = "whole";
  auto file = files->Create(kPath, {});
  winnow::WriteFilterFile(builder->Finish(), &header, file->get()).IgnoreError();
  return *winnow::ReadFile(*files, kPath, 1 << 20);
}

// The right checksum, so that what is behind its check is reached.
void Reseal(std::string* bytes) {
  if (bytes->size() < winnow::kMinFilterFileHeaderBytes) return;
  const uint32_t header_bytes = winnow::DecodeFixed32(bytes->data() + kHeaderBytesAt);
  if (header_bytes < kCheckedFrom || header_bytes > bytes->size()) return;
  winnow::EncodeFixed64(
      bytes->data() + kChecksumAt,
      winnow::Checksum(std::string_view(*bytes).substr(kCheckedFrom, header_bytes - kCheckedFrom),
                       winnow::ChecksumSeed(kMagic, 0)));
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  return {FileWith("blocked_bloom:10", 50), FileWith("ribbon:1%", 200), FileWith("none", 0)};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  Reseal(&bytes);
  const auto files = winnow::NewMemoryFileSystem();
  auto written = files->Create(kPath, {});
  if (!(*written)->Append(bytes).ok() || !(*written)->Close().ok()) return 0;
  auto file = winnow::FilterFile::Open(*files->OpenRandomAccess(kPath), std::string(kPath), 0, 0);
  if (!file.ok()) return 0;
  const winnow::FilterFileHeader& header = (*file)->header();
  winnow::fuzz::Require(header.file_bytes == bytes.size(), "no size but the file's is believed");
  const winnow::BlockHandle block = header.filter_block();
  winnow::fuzz::Require(!block.exists() || block.end() == bytes.size(), "the block fills the rest");
  const auto again = winnow::FilterFileHeader::Decode(header.Encode(), bytes.size(), kPath);
  winnow::fuzz::Require(again.ok(), "what was read can be written");
  (*file)->Verify().IgnoreError();
  return 0;
}
