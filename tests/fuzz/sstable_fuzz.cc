// Any bytes as an SSTable, as they are and with right checksums in the footer and the blocks that
// it names: opened, asked, iterated both ways and verified.

#include "engine/sstable/filter_ledger.h"
#include "engine/sstable/key_hashes.h"
#include "engine/sstable/signature_cursor.h"
#include "engine/sstable/sstable_builder.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/sstable/sstable_reader.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/reseal.h"
#include "winnow/memory_file_system.h"

namespace {

using winnow::fuzz::Require;

constexpr char kPath[] = "/000007.sst";

// Each key is a group of its own; an operand leaves a table without signatures.
bool ParseWholeKey(std::string_view key, std::string_view value, winnow::SignedEntry* parsed) {
  *parsed = {.group = key, .has_value = true, .field = "field", .value = value};
  return true;
}

std::string BuildTable(int keys, winnow::Compression compression, const char* filter,
                       bool has_range_tombstones = false, std::vector<double> unit_bits = {},
                       bool is_signed = false, double key_hashes_ratio = 0) {
  const auto files = winnow::NewMemoryFileSystem();
  winnow::SstableBuilderOptions options;
  options.filter_spec = *winnow::filter::ParseFilterSpec(filter);
  options.filter_unit_bits = std::move(unit_bits);
  options.block_bytes = 256;
  options.restart_interval = 4;
  options.index_partition_threshold = 256;
  options.index_partition_bytes = 128;
  options.compression = compression;
  options.file_id = 0x5eed;
  options.key_hashes_ratio = key_hashes_ratio;
  if (is_signed) {
    options.signed_entry_parser = ParseWholeKey;
    options.signed_fields = {"field", "other"};
  }
  winnow::SstableBuilder builder(options, *files->Create(kPath, {}), kPath);
  for (int i = 0; i < keys; i++) {
    std::string key;
    const winnow::EntryType type = i % 5 == 0                 ? winnow::EntryType::kDelete
                                   : i % 5 == 1               ? winnow::EntryType::kPutWithTime
                                   : i % 5 == 2 && !is_signed ? winnow::EntryType::kMerge
                                                              : winnow::EntryType::kPut;
    winnow::AppendInternalKey(&key, "key" + std::to_string(1000 + i), static_cast<uint64_t>(i) + 1,
                              type);
    Require(builder.Add(key, i % 5 == 0 ? "" : std::string(20, 'v')).ok(), "an entry is added");
  }
  if (has_range_tombstones) {
    const std::vector<winnow::SequenceNumber> newer = {90, 70};
    builder.AddRangeTombstones("key1002", "key1010", newer);
    builder.AddRangeTombstones("key1010", "key1031y", std::span(newer).first(1));
  }
  Require(builder.Finish().ok(), "the table is finished");
  return *winnow::ReadFile(*files, kPath, 1 << 20);
}

void Use(const std::string& bytes) {
  const auto files = winnow::NewMemoryFileSystem();
  {
    const auto file = *files->Create(kPath, {});
    Require(file->Append(bytes).ok() && file->Close().ok(), "the input is written");
  }
  winnow::FilterLedger ledger(/*limit_bytes=*/0);
  winnow::SstableReaderOptions options;
  options.filter_ledger = &ledger;  // by which units are read
  auto opened = winnow::SstableReader::Open(options, *files->OpenRandomAccess(kPath), kPath);
  if (!opened.ok()) return;
  const winnow::SstableReader& table = **opened;
  for (const char* key : {"", "key1000", "key1031", "key1031x", "key1059", "zzz"}) {
    winnow::PointResult result;
    table.Get({}, key, winnow::kMaxSequenceNumber, &result).IgnoreError();
    const winnow::RangeTombstoneIndex* const tombstones = table.range_tombstones();
    if (tombstones != nullptr) tombstones->NewestCovering(key, winnow::kMaxSequenceNumber);
  }
  if (const winnow::RangeFilterBlock* const filter = table.range_filter(); filter != nullptr) {
    for (const char* key : {"", "key1", "key1003", "key2", "zzz"}) {
      filter->reader().MayContain("key1002", key);
      filter->reader().MayContain(key, "key1059");
    }
  }
  const auto iterator = table.NewIterator({});
  const size_t most = bytes.size() * 2 + 100;  // entries that a file of this size could hold
  size_t seen = 0;
  for (iterator->SeekToFirst(); iterator->Valid() && seen <= most; iterator->Next()) seen++;
  for (iterator->SeekToLast(); iterator->Valid() && seen <= 2 * most; iterator->Prev()) seen++;
  if (table.has_signatures()) {
    winnow::SignatureCursor signatures(table, {});
    if (signatures.Open().ok()) {
      size_t groups = 0;
      for (signatures.Seek("key1007"); signatures.Valid(); signatures.Next()) groups++;
      Require(groups <= most, "a group takes some bytes");
    }
  }
  if (table.has_key_hashes()) {
    winnow::KeyHashCursor cursor(table, {});
    std::vector<uint64_t> hashes;
    size_t num_hashes = 0;
    for (uint64_t i = 0; i < cursor.num_blocks() && cursor.Read(i, &hashes).ok(); i++) {
      num_hashes += hashes.size();
    }
    Require(num_hashes <= bytes.size() / sizeof(uint64_t), "a hash takes eight bytes");
  }
  table.Verify(nullptr, ParseWholeKey);
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  return {BuildTable(0, Compression::kNone, "none"),
          BuildTable(1, Compression::kNone, "blocked_bloom:10"),
          BuildTable(60, Compression::kNone, "blocked_bloom:10"),
          BuildTable(60, Compression::kNone, "blocked_bloom:10", /*has_range_tombstones=*/true),
          BuildTable(0, Compression::kNone, "none", /*has_range_tombstones=*/true),
          BuildTable(60, Compression::kNone, "none+range:6", /*has_range_tombstones=*/true),
          BuildTable(60, Compression::kNone, "blocked_bloom:10+range:20"),
          BuildTable(60, Compression::kLz4, "cuckoo:12"),
          BuildTable(60, Compression::kZstd, "bloom", false, {5, 5}),
          BuildTable(60, Compression::kNone, "none", false, {}, /*is_signed=*/true),
          BuildTable(60, Compression::kZstd, "bloom", false, {}, /*is_signed=*/true),
          BuildTable(60, Compression::kNone, "bloom:10", false, {}, false, /*key_hashes_ratio=*/1),
          BuildTable(60, Compression::kLz4, "bloom:10", false, {}, /*is_signed=*/true,
                     /*key_hashes_ratio=*/1),
          BuildTable(60, Compression::kSnappy, "none")};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  Use(bytes);
  Use(winnow::fuzz::ResealTable(bytes, {}));
  return 0;
}
