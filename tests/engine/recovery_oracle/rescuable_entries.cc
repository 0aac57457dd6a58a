#include "tests/engine/recovery_oracle/rescuable_entries.h"

#include <gtest/gtest.h>

#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/write_time.h"
#include "engine/log/log_reader.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/version/file_names.h"
#include "engine/write/batch_format.h"
#include "engine/write/log_set.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

constexpr char kDirectory[] = "/db";
constexpr int kNumKeys = 120;

// Whether it is a value, with a write time or without, and this one.
bool IsValue(EntryType type, std::string_view stored, std::string_view value) {
  if (type == EntryType::kPutWithTime) {
    return HasWriteTime(stored) && WithoutWriteTime(stored) == value;
  }
  return type == EntryType::kPut && stored == value;
}

class Writer {
 public:
  Writer(std::mt19937_64* random, AgedDatabase* database)
      : random_(*random), database_(*database) {}

  void Write(DB& db, int count) {
    const std::vector<ColumnFamily*> families = db.ColumnFamilies();
    for (int i = 0; i < count; i++) {
      ColumnFamily* const family = families[random_() % families.size()];
      const std::string key = absl::StrCat("key", 1000 + random_() % kNumKeys);
      if (random_() % 40 == 0) {
        const std::string end = absl::StrCat("key", 1000 + random_() % kNumKeys);
        if (end < key) continue;
        EXPECT_TRUE(db.DeleteRange(WriteOptions(), family, key, end).ok());
        auto& entries = database_.contents[family->id()];
        entries.erase(entries.lower_bound(key), entries.lower_bound(end));
        continue;
      }
      if (random_() % 4 == 0) {
        EXPECT_TRUE(db.Delete(WriteOptions(), family, key).ok());
        database_.contents[family->id()].erase(key);
        continue;
      }
      if (family->id() == database_.list_family) {
        Append(db, family, key);
        continue;
      }
      const std::string value = absl::StrCat(
          "value ", written_++, std::string(random_() % (random_() % 3 == 0 ? 3000 : 90), 'v'));
      EXPECT_TRUE(db.Put(WriteOptions(), family, key, value).ok());
      database_.contents[family->id()][key] = value;
      database_.values[{family->id(), key}].insert(value);
    }
  }

 private:
  // Now and then the list begins anew.
  void Append(DB& db, ColumnFamily* family, const std::string& key) {
    const std::string number = absl::StrCat(written_++);
    auto& entries = database_.contents[family->id()];
    const bool is_new = random_() % 8 == 0;
    EXPECT_TRUE((is_new ? db.Put(WriteOptions(), family, key, number)
                        : db.Merge(WriteOptions(), family, key, number))
                    .ok());
    const auto list = entries.find(key);
    entries[key] = is_new || list == entries.end()
                       ? number
                       : absl::StrCat(list->second, std::string(1, kListDelimiter), number);
    database_.values[{family->id(), key}].insert(number);
  }

  std::mt19937_64& random_;
  AgedDatabase& database_;
  uint64_t written_ = 1;
};

Files Copy(RecordingFileSystem& disk) {
  Files files;
  const std::vector<std::string> names = *disk.List(kDirectory);
  for (const std::string& name : names) {
    files[name] = *ReadFile(disk, absl::StrCat(kDirectory, "/", name), 1 << 20);
  }
  return files;
}

void AddUnfinished(RecordingFileSystem& disk, AgedDatabase* database) {
  for (const auto& [name, bytes] : Copy(disk)) {
    if (absl::EndsWith(name, ".sst") && !database->ages.back().contains(name)) {
      database->unfinished[name] = bytes;
    }
  }
}

void FlushAll(DB& db) {
  for (ColumnFamily* family : db.ColumnFamilies()) EXPECT_TRUE(db.Flush(family).ok());
}

// What one table holds, block by block.
void AddBlocks(const std::string& name, const std::string& bytes, RecordingFileSystem& disk,
               const AgedDatabase& database, std::vector<Holder>* holders) {
  const std::string path = absl::StrCat(kDirectory, "/", name);
  const auto reader = *SstableReader::Open({}, *disk.OpenRandomAccess(path), path);
  std::vector<Holder> blocks;
  std::vector<std::string> last_keys;
  std::string header;
  std::string properties;
  EXPECT_TRUE(reader
                  ->ForEachBlock([&](const SstableBlockInfo& info) {
                    const std::string block = bytes.substr(info.offset, info.stored_bytes);
                    if (info.kind == BlockKind::kHeader) header = block;
                    if (info.kind == BlockKind::kProperties) properties = block;
                    if (info.kind != BlockKind::kData) return;
                    blocks.push_back({.file = name,
                                      .bytes = block,
                                      .offset = info.offset,
                                      .file_bytes = bytes.size(),
                                      .file_id = reader->file_id(),
                                      .family_id = reader->ReadProperties()->column_family_id});
                    last_keys.push_back(info.last_key);
                  })
                  .ok());
  const auto iterator = reader->NewIterator({});
  size_t block = 0;
  const InternalKeyComparator comparator{BytewiseComparator()};
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    while (comparator.Compare(iterator->key(), last_keys[block]) > 0) block++;
    const std::string key(UserKey(iterator->key()));
    const auto& contents = database.contents.at(blocks[block].family_id);
    const auto entry = contents.find(key);
    const bool is_newest =
        entry != contents.end() && IsValue(Type(iterator->key()), iterator->value(), entry->second);
    if (is_newest) blocks[block].newest_keys.push_back(key);
  }
  for (Holder& holder : blocks) {
    holder.header = header;
    holder.properties = properties;
    holders->push_back(std::move(holder));
  }
}

using KeySet = std::set<std::pair<uint32_t, std::string>>;

// What one log holds beyond the tables, record by record.
void AddRecords(const std::string& name, const std::string& bytes, RecordingFileSystem& disk,
                const AgedDatabase& database, const KeySet& in_tables,
                std::vector<Holder>* holders) {
  uint64_t number = 0;
  FileType type = FileType::kLog;
  ASSERT_TRUE(ParseFileName(name, &type, &number));
  const auto reader =
      *LogReader::Open(disk, absl::StrCat(kDirectory, "/", name), number, LogRecoveryMode::kStrict);
  std::string_view payload;
  uint64_t offset = 0;
  for (auto more = reader->Read(&payload, &offset);; more = reader->Read(&payload, &offset)) {
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) return;
    const Holder record{.file = name,
                        .bytes = bytes.substr(offset, kLogRecordHeaderBytes + payload.size()),
                        .offset = offset,
                        .file_bytes = bytes.size(),
                        .header = bytes.substr(0, kLogFileHeaderBytes)};
    std::map<uint32_t, Holder> by_family;
    LogStart start;
    if (!LogStart::Decode(payload, &start)) {
      BatchReader batch(payload.substr(1));
      BatchUpdate update;
      for (bool has_update = true; has_update;) {
        ASSERT_TRUE(batch.Next(&update, &has_update).ok());
        if (!has_update) break;
        Holder& holder = by_family.try_emplace(update.family_id, record).first->second;
        holder.family_id = update.family_id;
        const auto& contents = database.contents.at(update.family_id);
        const auto entry = contents.find(std::string(update.key));
        // No value is written twice.
        if (entry != contents.end() && IsValue(update.type, update.value, entry->second)) {
          const bool is_flushed = in_tables.contains({update.family_id, std::string(update.key)});
          (is_flushed ? holder.flushed_keys : holder.newest_keys).emplace_back(update.key);
        }
      }
    }
    if (by_family.empty()) by_family[0] = record;
    for (auto& [family, holder] : by_family) holders->push_back(std::move(holder));
  }
}

}  // namespace

Options AgedOptions(FileSystem* file_system) {
  Options options = DamageOptions(file_system);
  options.target_file_bytes = size_t{64} << 10;
  options.level_base_bytes = size_t{64} << 10;
  return options;
}

AgedDatabase BuildAgedDatabase(uint64_t seed) {
  AgedDatabase database;
  std::mt19937_64 random(seed);
  const auto disk = NewUnrecordedFileSystem();
  const Options options = AgedOptions(disk.get());
  auto db = *DB::Open(options, kDirectory);
  for (const char* name : {"plain", "packed", "lists"}) {
    ColumnFamilyOptions family = options;
    family.compression = Compression::kNone;
    // No operands elsewhere, so that nothing stands in the way of what could be rescued there.
    if (std::string_view(name) == "plain") family.merge_operator = nullptr;
    if (std::string_view(name) == "packed") {  // and with write times
      family.compression = Compression::kLz4;
      family.ttl_seconds = kMaxTtlSeconds;
      family.merge_operator = nullptr;
    }
    EXPECT_TRUE(db->CreateColumnFamily(family, name).ok());
  }
  for (ColumnFamily* family : db->ColumnFamilies()) {
    database.family_names[family->id()] = std::string(family->name());
    database.contents[family->id()];
    if (family->name() == "lists") database.list_family = family->id();
  }
  Writer writer(&random, &database);
  const auto age = [&] { database.ages.push_back(Copy(*disk)); };
  writer.Write(*db, 300);
  age();
  for (int round = 0; round < 3; round++) {
    FlushAll(*db);
    age();
    writer.Write(*db, 200);
    FlushAll(*db);
    if (random() % 2 == 0) {
      ColumnFamily* const family = db->ColumnFamilies()[random() % 4];
      EXPECT_TRUE(db->CompactRange(family, std::nullopt, std::nullopt).ok());
    }
    if (round > 0) {
      ColumnFamily* const family = db->ColumnFamilies()[random() % 4];
      EXPECT_TRUE(db->Refilter(family, {.filter = "cuckoo:12"}).ok());
    }
    if (random() % 2 == 0) {
      age();
      EXPECT_TRUE(db->Close().ok());
      age();
      db = *DB::Open(options, kDirectory);
    }
    writer.Write(*db, 60);
  }
  // One family is not flushed, and keeps the logs that the others do not need any more.
  const uint64_t keeper = random() % 4;
  for (uint64_t more_logs = random() % 4; more_logs > 0; more_logs--) {
    EXPECT_TRUE(db->Flush(db->ColumnFamilies()[(keeper + 1 + random() % 3) % 4]).ok());
    writer.Write(*db, 40);
  }
  if (random() % 2 == 0) {
    EXPECT_TRUE(db->Close().ok());
    database.is_closed = true;
  }
  age();
  if (database.is_closed) db = *DB::Open(options, kDirectory);
  for (ColumnFamily* family : db->ColumnFamilies()) {
    EXPECT_TRUE(db->Flush(family).ok());
    AddUnfinished(*disk, &database);
    EXPECT_TRUE(db->CompactRange(family, std::nullopt, std::nullopt).ok());
    AddUnfinished(*disk, &database);
  }
  return database;
}

std::vector<Holder> HoldersOf(const AgedDatabase& database) {
  std::vector<Holder> holders;
  const Files& files = database.ages.back();
  const auto disk = Restore(files);
  for (const auto& [name, bytes] : files) {
    if (absl::EndsWith(name, ".sst")) AddBlocks(name, bytes, *disk, database, &holders);
  }
  // What no table holds is in the logs.
  KeySet in_tables;
  for (const Holder& holder : holders) {
    for (const std::string& key : holder.newest_keys) in_tables.insert({holder.family_id, key});
  }
  for (const auto& [name, bytes] : files) {
    if (absl::EndsWith(name, ".log")) AddRecords(name, bytes, *disk, database, in_tables, &holders);
  }
  return holders;
}

}  // namespace winnow
