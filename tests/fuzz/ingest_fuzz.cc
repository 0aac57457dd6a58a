// Any bytes as a table to ingest, as they are and with right checksums: refused with a reason, or
// read as the database's own.

#include "engine/db/sst_writer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/reseal.h"
#include "winnow/db.h"
#include "winnow/memory_file_system.h"

namespace {

using winnow::fuzz::Require;

constexpr char kPath[] = "/table.sst";

const std::shared_ptr<const winnow::MergeOperator>& Append() {
  static const auto& append = *new auto(*winnow::ParseMergeOperator("append:"));
  return append;
}

std::string BuildTable(int keys, const char* filter) {
  const auto files = winnow::NewMemoryFileSystem();
  winnow::SstableBuilderOptions options;
  options.filter_spec = *winnow::filter::ParseFilterSpec(filter);
  options.block_bytes = 256;
  options.restart_interval = 4;
  options.hash_seed = 7;
  options.file_id = 0x5eed;
  auto writer = *winnow::CreateSstWriter(options, Append(), kPath, files.get());
  for (int i = 0; i < keys; i++) {
    const std::string key = "key" + std::to_string(1000 + i);
    const absl::Status added = i % 5 == 0   ? writer->Delete(key)
                               : i % 5 == 1 ? writer->Merge(key, "operand")
                                            : writer->Put(key, std::string(20, 'v'));
    Require(added.ok(), "an entry is added");
  }
  Require(writer->Finish().ok(), "the table is finished");
  return *winnow::ReadFile(*files, kPath, 1 << 20);
}

void Use(const std::string& bytes, bool verify) {
  const auto files = winnow::NewMemoryFileSystem();
  Require(winnow::WriteFileAtomically(*files, kPath, bytes).ok(), "the input is written");
  winnow::Options options;
  options.file_system = files.get();
  options.background_threads = 1;
  options.write_buffer_bytes = 64 << 10;
  options.merge_operator = Append();
  auto opened = winnow::DB::Open(options, "/db");
  Require(opened.ok(), "an empty database opens");
  winnow::DB& db = **opened;
  Require(db.Put(winnow::WriteOptions(), "key1003", "put").ok(), "a write is taken");
  const auto ingested = db.Ingest({{kPath}}, {.verify = verify});
  if (!ingested.ok()) {
    Require(!ingested.status().message().empty(), "a refusal has a reason");
    std::string value;
    Require(db.Get(winnow::ReadOptions(), "key1003", &value).ok() && value == "put",
            "a refusal changes nothing");
    return;
  }
  Require(*files->Exists(kPath), "a copy leaves the file");
  std::string value;
  for (const char* key : {"", "key1000", "key1003", "key1031x", "zzz"}) {
    db.Get(winnow::ReadOptions(), key, &value).IgnoreError();
  }
  const auto iterator = db.NewIterator(winnow::ReadOptions());
  std::string last;
  size_t seen = 0;
  for (iterator->SeekToFirst(); iterator->Valid() && seen <= bytes.size(); iterator->Next()) {
    // Whatever was verified is in order, and has no key that look-ups miss.
    Require(!verify || seen == 0 || last < iterator->key(), "keys ascend");
    last = iterator->key();
    Require(!verify || db.Get(winnow::ReadOptions(), last, &value).ok(), "a key is found");
    seen++;
  }
  db.CompactRange(std::nullopt, std::nullopt).IgnoreError();
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  return {BuildTable(1, "none"), BuildTable(60, "blocked_bloom:10"),
          BuildTable(60, "cuckoo:12+range:8")};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  Use(bytes, true);
  const std::string resealed = winnow::fuzz::ResealTable(bytes, {});
  Use(resealed, true);
  Use(resealed, false);
  return 0;
}
