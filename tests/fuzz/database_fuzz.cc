// A whole database with one of its files replaced by any bytes: the input's first byte says which
// file, and whether its checksums are made right again; the rest is what it holds. Opened, read,
// verified, written to, compacted and closed.

#include <map>

#include "engine/file_system/testing/recording_file_system.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/version/file_names.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/reseal.h"
#include "winnow/db.h"
#include "winnow/memory_file_system.h"

namespace {

using winnow::fuzz::Require;
using Files = std::map<std::string, std::string>;

constexpr char kDirectory[] = "/db/";
constexpr uint8_t kReseals = 0x80;

winnow::Options SmallOptions(winnow::FileSystem* files) {
  winnow::Options options;
  options.file_system = files;
  options.background_threads = 1;
  options.block_bytes = 256;
  options.write_buffer_bytes = size_t{64} << 10;
  options.block_cache_bytes = 0;
  options.merge_operator = *winnow::ParseMergeOperator("append:");
  return options;
}

// Of what a log and a table hold besides values: deletions, of a range too, and operands.
void WriteAllKinds(winnow::DB& db) {
  Require(db.Delete({}, "key3").ok() && db.DeleteRange({}, "key30", "key35").ok() &&
              db.Merge({}, "key4", "operand").ok() && db.Merge({}, "none", "operand").ok(),
          "all kinds of writes are taken");
}

// Above all that is there.
void IngestTable(winnow::DB& db) {
  const auto writer = *db.NewSstWriter(db.DefaultColumnFamily(), "/ingested.sst");
  Require(writer->Delete("key10").ok() && writer->Merge("key11", "operand").ok() &&
              writer->Put("key12", "ingested").ok() && writer->Finish().ok(),
          "a table is written");
  Require(db.Ingest({{.path = "/ingested.sst"}}, {.move = true}).ok(), "a table is ingested");
}

// A table of default and one of "people", whose values have write times; the first's filter in a
// file of its own, and above it a table that was ingested.
Files BuildDatabase() {
  const auto memory = std::make_unique<winnow::RecordingFileSystem>();
  auto db = *winnow::DB::Open(SmallOptions(memory.get()), kDirectory);
  winnow::ColumnFamilyOptions family_options;
  family_options.filter = "cuckoo:1%";
  family_options.compression = winnow::Compression::kLz4;
  family_options.ttl_seconds = winnow::kMaxTtlSeconds;
  winnow::ColumnFamily* const people = *db->CreateColumnFamily(family_options, "people");
  for (int i = 0; i < 60; i++) {
    const std::string key = "key" + std::to_string(i);
    Require(db->Put({}, key, "value").ok() && db->Put({}, people, key, "value").ok(), "a put");
    if (i != 40) continue;
    WriteAllKinds(*db);
    Require(db->Flush().ok() && db->Flush(people).ok(), "flush");
    Require(db->Refilter({.filter = "ribbon:1%"}).ok(), "another filter");
    IngestTable(*db);
  }
  WriteAllKinds(*db);
  // As a killed process leaves it, so that there is a log to replay.
  const auto disk =
      memory->StateAfterCrash(memory->num_operations(), winnow::CrashChoice::KeepAll());
  Files files;
  const std::vector<std::string> names = *disk->List(kDirectory);
  for (const std::string& name : names) {
    files[name] = *winnow::ReadFile(*disk, kDirectory + name, 1 << 20);
  }
  return files;
}

const Files& Database() {
  static const Files files = BuildDatabase();
  return files;
}

std::vector<winnow::BlockHandle> BlocksOf(const std::string& table) {
  const auto memory = winnow::NewMemoryFileSystem();
  const auto file = *memory->Create("/table", {});
  Require(file->Append(table).ok() && file->Close().ok(), "a table is written");
  const auto reader =
      *winnow::SstableReader::Open({}, *memory->OpenRandomAccess("/table"), "/table");
  std::vector<winnow::BlockHandle> blocks;
  const absl::Status visited = reader->ForEachBlock([&](const winnow::SstableBlockInfo& info) {
    if (info.kind == winnow::BlockKind::kHeader || info.kind == winnow::BlockKind::kFooter) return;
    blocks.push_back({info.offset, info.stored_bytes - winnow::kBlockTrailerBytes});
  });
  Require(visited.ok() && blocks.size() > 2, "the sound table's blocks are known");
  return blocks;
}

// CURRENT is left as it is: its checksum covers a name, and no other one exists.
std::string Reseal(const std::string& name, const std::string& sound, std::string bytes) {
  winnow::FileType type;
  uint64_t number;
  if (!winnow::ParseFileName(name, &type, &number)) return bytes;
  if (type == winnow::FileType::kLog || type == winnow::FileType::kManifest) {
    return winnow::fuzz::ResealLog(std::move(bytes), number);
  }
  if (type == winnow::FileType::kFilterFile)
    return winnow::fuzz::ResealFilterFile(std::move(bytes));
  if (type != winnow::FileType::kSstable) return bytes;
  static std::map<std::string, std::vector<winnow::BlockHandle>> blocks;
  if (!blocks.contains(name)) blocks[name] = BlocksOf(sound);
  return winnow::fuzz::ResealTable(std::move(bytes), blocks[name]);
}

void Use(winnow::DB& db) {
  for (winnow::ColumnFamily* family : db.ColumnFamilies()) {
    std::string value;
    for (const char* key : {"", "key7", "key11", "key33", "key59", "nokey"}) {
      db.Get({}, family, key, &value).IgnoreError();
      db.MayExist({}, family, key);
    }
    const auto iterator = db.NewIterator({}, family);
    size_t steps = 0;
    for (iterator->SeekToFirst(); iterator->Valid() && steps < 5000; iterator->Next()) steps++;
    for (iterator->SeekToLast(); iterator->Valid() && steps < 5000; iterator->Prev()) steps++;
  }
  db.Verify().IgnoreError();
  if (db.Put({}, "new", "value").ok()) {
    std::string value;
    const absl::Status got = db.Get({}, "new", &value);
    Require(!got.ok() || value == "value", "a new value is read back");
  }
  db.DeleteRange({}, "key2", "key4").IgnoreError();
  for (winnow::ColumnFamily* family : db.ColumnFamilies()) {
    db.Refilter(family, {.filter = "bloom:8"}).IgnoreError();
    db.CompactRange(family, std::nullopt, std::nullopt).IgnoreError();
  }
  db.Close().IgnoreError();
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  std::vector<std::string> seeds;
  char index = 0;
  for (const auto& [name, bytes] : Database()) {
    const char place = index++;
    if (bytes.empty()) continue;  // LOCK
    // Of tables and filters what no checksum stops; the rest is sstable_fuzz's.
    const bool is_table = name.ends_with(".sst") || name.ends_with(".flt");
    if (!is_table) seeds.push_back(std::string(1, place) + bytes);
    if (name == "CURRENT") continue;
    seeds.push_back(std::string(1, static_cast<char>(place | kReseals)) + bytes);
    Require(Reseal(name, bytes, bytes) == bytes, "a sound file is sealed as it is");
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t replaced = (data[0] & ~kReseals) % Database().size();
  const auto memory = winnow::NewMemoryFileSystem();
  Require(memory->CreateDirectories(kDirectory).ok(), "the directory is made");
  size_t index = 0;
  for (const auto& [name, bytes] : Database()) {
    const auto file = *memory->Create(kDirectory + name, {});
    std::string contents = bytes;
    if (index++ == replaced) {
      contents.assign(reinterpret_cast<const char*>(data) + 1, size - 1);
      if ((data[0] & kReseals) != 0) contents = Reseal(name, bytes, std::move(contents));
    }
    Require(file->Append(contents).ok() && file->Close().ok(), "a file is written");
  }
  auto db = winnow::DB::Open(SmallOptions(memory.get()), kDirectory);
  if (db.ok()) Use(**db);
  return 0;
}
