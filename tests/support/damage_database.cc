#include "tests/support/damage_database.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace winnow {
namespace {

constexpr char kDirectory[] = "/db";
constexpr char kWithTimes[] = "ribbon";
constexpr char kWithFilterFile[] = "bloom";

// Of entries and filters.
enum class DamageKinds { kPlain, kUsual, kRich };

void Apply(const std::vector<Update>& updates, Contents* contents) {
  for (const Update& update : updates) {
    std::map<std::string, std::string>& family = (*contents)[update.family_id];
    if (update.merges && family.contains(update.key)) {
      absl::StrAppend(&family[update.key], "+", *update.value);
    } else if (update.value.has_value()) {
      family[update.key] = *update.value;
    } else if (update.end.has_value()) {
      family.erase(family.lower_bound(update.key), family.lower_bound(*update.end));
    } else {
      family.erase(update.key);
    }
  }
}

void FillFamily(DB& db, ColumnFamily* family, DamageDatabase* database) {
  for (int i = 0; i < 30; i++) {
    const std::string key = absl::StrCat("key", i);
    const std::string value = absl::StrCat("flushed ", std::string(family->name()), " ", i);
    EXPECT_TRUE(db.Put(WriteOptions(), family, key, value).ok());
    database->flushed[family->id()][key] = value;
  }
}

// Above all that, a table that was made elsewhere, and one that deletes a range. The flush comes
// last: what else a manifest without its end has forgotten is seen by the logs that are gone.
void IngestAndDeleteRange(DB& db, DamageDatabase* database) {
  const auto writer = *db.NewSstWriter(db.DefaultColumnFamily(), "/ingested.sst");
  EXPECT_TRUE(writer->Delete("key3").ok());
  EXPECT_TRUE(writer->Put("key4", "ingested").ok());
  EXPECT_TRUE(writer->Merge("key5", "operand").ok());
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_TRUE(db.Ingest({{.path = "/ingested.sst"}}, {.move = true}).ok());
  EXPECT_TRUE(db.DeleteRange(WriteOptions(), "key2", "key23").ok());
  EXPECT_TRUE(db.Put(WriteOptions(), "key21", "after the range deletion").ok());
  EXPECT_TRUE(db.Flush().ok());
  Apply({{0, "key3", std::nullopt},
         {0, "key4", "ingested"},
         {0, "key5", "operand", true},
         {0, "key2", std::nullopt, false, "key23"},
         {0, "key21", "after the range deletion"}},
        &database->flushed);
}

// Tables that are written from here on have units, too.
void RefilterInUnits(DB& db, DamageDatabase* database) {
  ColumnFamily* const family = *db.FindColumnFamily(kWithFilterFile);
  for (ColumnFamily* const settled : {db.DefaultColumnFamily(), family}) {
    const OptionSetting settings[] = {{"filter_memory_budget", "1M"}, {"filter", "ribbon"}};
    EXPECT_TRUE(db.SetOptions(settled, settings).ok());
  }
  EXPECT_EQ(db.Refilter(family, {})->files_refiltered, 1u);
  const std::string table = *db.GetProperty(family, "winnow.sstables-json");
  const uint64_t number =
      std::strtoull(table.c_str() + table.find_first_of("0123456789"), nullptr, 10);
  database->table_with_filter_file = absl::StrCat(absl::Dec(number, absl::kZeroPad6), ".sst");
}

// Each batch is recognised by keys of its own, and changes keys that others change as well.
void WriteLog(DB& db, DamageKinds kinds, DamageDatabase* database) {
  const bool is_plain = kinds == DamageKinds::kPlain;
  for (int i = 0; i < 12; i++) {
    std::vector<Update> updates;
    WriteBatch batch;
    for (ColumnFamily* family : db.ColumnFamilies()) {
      if (i % 3 != 0 && family->id() != 0) continue;
      const size_t first = updates.size();
      updates.push_back({family->id(), absl::StrCat("logged", i), absl::StrCat("batch ", i)});
      updates.push_back({family->id(), "key7", absl::StrCat("batch ", i, " was here")});
      updates.push_back({family->id(), absl::StrCat("key", 10 + i), std::nullopt});
      if (!is_plain && i % 4 == 1) updates.back().end = absl::StrCat("key", 12 + i);
      if (!is_plain && (kinds != DamageKinds::kRich || family->name() != kWithTimes)) {
        updates.push_back({family->id(), "key8", absl::StrCat("operand ", i), true});
      }
      for (size_t j = first; j < updates.size(); j++) {
        if (updates[j].merges) {
          batch.Merge(family, updates[j].key, *updates[j].value);
        } else if (updates[j].end.has_value()) {
          batch.DeleteRange(family, updates[j].key, *updates[j].end);
        } else if (updates[j].value.has_value()) {
          batch.Put(family, updates[j].key, *updates[j].value);
        } else {
          batch.Delete(family, updates[j].key);
        }
      }
    }
    EXPECT_TRUE(db.Write(WriteOptions(), batch).ok());
    database->logged.push_back(std::move(updates));
  }
}

std::string WhyPointAnswersAreWrong(DB& db, ColumnFamily* family, const std::string& key,
                                    const std::string* expected, size_t* num_errors) {
  std::string value;
  const absl::Status got = db.Get(ReadOptions(), family, key, &value);
  PinnedValue pinned;
  absl::Status multi;
  const std::string_view view = key;
  db.MultiGet(ReadOptions(), family, {&view, 1}, {&pinned, 1}, {&multi, 1});
  const absl::StatusOr<bool> exists = db.Exists(ReadOptions(), family, key);
  if (expected != nullptr && !db.MayExist(ReadOptions(), family, key)) {
    return absl::StrCat("MayExist denies '", key, "'");
  }
  for (const absl::Status& status : {got, multi, exists.status()}) {
    if (status.ok() || absl::IsNotFound(status)) continue;
    if (!IsClearError(status)) return absl::StrCat("unclear error: ", status.ToString());
    (*num_errors)++;
  }
  const bool wrong_get = got.ok() ? expected == nullptr || value != *expected
                                  : absl::IsNotFound(got) && expected != nullptr;
  const bool wrong_multi = multi.ok() ? expected == nullptr || pinned.view() != *expected
                                      : absl::IsNotFound(multi) && expected != nullptr;
  const bool wrong_exists = exists.ok() && *exists != (expected != nullptr);
  if (wrong_get || wrong_multi || wrong_exists) {
    return absl::StrCat("wrong answer for '", key, "' of ", std::string(family->name()), ": Get ",
                        got.ToString(), " '", value, "', MultiGet ", multi.ToString());
  }
  return "";
}

// What an iterator shows must be right as far as it goes, and complete unless it names an error.
std::string WhyIteratorIsWrong(DB& db, ColumnFamily* family, const ReadOptions& read,
                               const std::map<std::string, std::string>& expected,
                               size_t* num_errors) {
  const auto iterator = db.NewIterator(read, family);
  auto next = expected.lower_bound(read.lower_bound.value_or(""));
  const auto end =
      read.upper_bound.has_value() ? expected.lower_bound(*read.upper_bound) : expected.end();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++next) {
    if (next == end || next->first != iterator->key() || next->second != iterator->value()) {
      return absl::StrCat("the iterator shows '", std::string(iterator->key()), "' = '",
                          std::string(iterator->value()), "'");
    }
  }
  const absl::Status status = iterator->status();
  if (status.ok()) return next == end ? "" : "the iterator ends without an error";
  (*num_errors)++;
  return IsClearError(status) ? "" : absl::StrCat("unclear error: ", status.ToString());
}

}  // namespace

bool IsClearError(const absl::Status& status) {
  const bool names_a_file = absl::StrContains(status.message(), ".sst") ||
                            absl::StrContains(status.message(), ".log") ||
                            absl::StrContains(status.message(), "MANIFEST-") ||
                            absl::StrContains(status.message(), "CURRENT");
  return (absl::IsDataLoss(status) || absl::IsFailedPrecondition(status)) && names_a_file;
}

Contents DamageDatabase::WithFirst(size_t end) const {
  Contents contents = flushed;
  for (size_t i = 0; i < end; i++) Apply(logged[i], &contents);
  return contents;
}

Contents DamageDatabase::WithoutThese(const std::vector<size_t>& batches) const {
  Contents contents = flushed;
  for (size_t i = 0; i < logged.size(); i++) {
    if (!std::binary_search(batches.begin(), batches.end(), i)) Apply(logged[i], &contents);
  }
  return contents;
}

std::vector<std::string> DamageDatabase::NamesWith(const std::string& part) const {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files) {
    if (name.find(part) != std::string::npos) names.push_back(name);
  }
  return names;
}

Options DamageOptions(FileSystem* file_system) {
  Options options;
  options.file_system = file_system;
  options.background_threads = 1;
  options.block_cache_bytes = 0;
  options.block_bytes = 512;
  options.write_buffer_bytes = size_t{64} << 10;
  options.disable_auto_compactions = true;
  options.merge_operator = *ParseMergeOperator("append:+");
  return options;
}

namespace {

DamageDatabase Build(DatabaseEnd end, const std::vector<std::string>& filters, DamageKinds kinds) {
  DamageDatabase database;
  const auto memory = std::make_unique<RecordingFileSystem>();
  auto db = *DB::Open(DamageOptions(memory.get()), kDirectory);
  for (const std::string& filter : filters) {
    ColumnFamilyOptions options = DamageOptions(memory.get());
    options.filter = filter;
    if (options.filter == "bloom:10") options.filter_key = "prefix:4";
    if (options.filter == "cuckoo:12") options.filter_key = "whole+prefix:4";
    options.compression = options.filter == "none" ? Compression::kNone : Compression::kLz4;
    const std::string name = options.filter.substr(0, options.filter.find(':'));
    if (name == "bloom" || name == "cuckoo") options.key_hashes_ratio = 1;
    if (name == "cuckoo" || name == "none") options.filter += "+range:8";
    if (kinds == DamageKinds::kRich && name == kWithTimes) {
      options.ttl_seconds = kMaxTtlSeconds;
      options.merge_operator = nullptr;
    }
    EXPECT_TRUE(db->CreateColumnFamily(options, name).ok());
  }
  for (ColumnFamily* family : db->ColumnFamilies()) FillFamily(*db, family, &database);
  for (ColumnFamily* family : db->ColumnFamilies()) EXPECT_TRUE(db->Flush(family).ok());
  if (kinds == DamageKinds::kRich) RefilterInUnits(*db, &database);
  if (kinds != DamageKinds::kPlain) IngestAndDeleteRange(*db, &database);
  WriteLog(*db, kinds, &database);
  if (end == DatabaseEnd::kClosed) {
    EXPECT_TRUE(db->Close().ok());
  }
  database.files = FilesOn(*memory);
  for (int i = 0; i < 30; i += 4) database.keys.push_back(absl::StrCat("key", i));
  for (const int i : {2, 3, 5, 21, 22}) database.keys.push_back(absl::StrCat("key", i));
  for (int i = 0; i < 12; i++) database.keys.push_back(absl::StrCat("logged", i));
  database.keys.insert(database.keys.end(), {"", "absent", "key", "key7", "key7a", "zzz"});
  return database;
}

}  // namespace

DamageDatabase BuildDamageDatabase(DatabaseEnd end, const std::vector<std::string>& filters) {
  return Build(end, filters, DamageKinds::kUsual);
}

DamageDatabase BuildRichDamageDatabase(DatabaseEnd end, const std::vector<std::string>& filters) {
  return Build(end, filters, DamageKinds::kRich);
}

DamageDatabase BuildPlainDamageDatabase(DatabaseEnd end) {
  return Build(end, {"bloom:10", "cuckoo:12", "none"}, DamageKinds::kPlain);
}

Files FilesOn(const RecordingFileSystem& disk) {
  const auto after = disk.StateAfterCrash(disk.num_operations(), CrashChoice::KeepAll());
  const std::vector<std::string> names = *after->List(kDirectory);
  Files files;
  for (const std::string& name : names) {
    files[name] = *ReadFile(*after, absl::StrCat(kDirectory, "/", name), 1 << 20);
  }
  return files;
}

std::unique_ptr<RecordingFileSystem> Restore(const Files& files) {
  auto memory = std::make_unique<RecordingFileSystem>();
  memory->set_recording(false);
  EXPECT_TRUE(memory->CreateDirectories(kDirectory).ok());
  for (const auto& [name, bytes] : files) {
    const auto file = *memory->Create(absl::StrCat(kDirectory, "/", name), {});
    EXPECT_TRUE(file->Append(bytes).ok() && file->Close().ok());
  }
  return memory;
}

std::string WhyAnswersAreWrong(DB& db, const DamageDatabase& database, const Contents& expected,
                               size_t* num_errors) {
  size_t num_families = 0;
  for (ColumnFamily* family : db.ColumnFamilies()) {
    num_families++;
    const std::map<std::string, std::string>& entries = expected.at(family->id());
    std::string why = WhyIteratorIsWrong(db, family, ReadOptions(), entries, num_errors);
    for (const std::string& key : database.keys) {
      if (!why.empty()) return why;
      const auto entry = entries.find(key);
      why = WhyPointAnswersAreWrong(db, family, key,
                                    entry == entries.end() ? nullptr : &entry->second, num_errors);
      ReadOptions near;
      near.lower_bound = key;
      near.upper_bound = key + "8";
      if (why.empty()) why = WhyIteratorIsWrong(db, family, near, entries, num_errors);
    }
    if (!why.empty()) return why;
  }
  return num_families == expected.size() ? "" : "a column family is missing";
}

}  // namespace winnow
