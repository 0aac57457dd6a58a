// Any bytes as a filter file, of which a table takes its filter.

#include <memory>
#include <vector>

#include "engine/sstable/filter_file.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/reseal.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/spec.h"
#include "winnow/memory_file_system.h"

namespace {

constexpr char kPath[] = "/000009.flt";

std::string FileWith(std::string_view spec, int num_keys, std::vector<double> unit_bits = {}) {
  const auto files = winnow::NewMemoryFileSystem();
  auto builder = *winnow::filter::FilterBuilder::Create(*winnow::filter::ParseFilterSpec(spec), 7);
  builder->set_unit_bits(unit_bits);
  for (int i = 0; i < num_keys; i++) {
    builder->Add(winnow::filter::HashKey(std::to_string(i), 7));
  }
  winnow::FilterFileHeader header;
  header.table_id = 5;
  header.hash_seed = 7;
  header.filter_spec = spec;
  header.filter_key = "whole";
  auto file = files->Create(kPath, {});
  const winnow::filter::BuiltFilter built = builder->Finish();
  if (!unit_bits.empty()) header.units = built.units;
  winnow::WriteFilterFile(built, &header, file->get()).IgnoreError();
  return *winnow::ReadFile(*files, kPath, 1 << 20);
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  return {FileWith("blocked_bloom:10", 50), FileWith("ribbon:1%", 200), FileWith("none", 0),
          FileWith("bloom:10", 200, {4, 6})};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The right checksum, so that what is behind its check is reached.
  const std::string bytes =
      winnow::fuzz::ResealFilterFile({reinterpret_cast<const char*>(data), size});
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
  static_cast<void>((*file)->Verify());  // what it finds is the damage
  return 0;
}
