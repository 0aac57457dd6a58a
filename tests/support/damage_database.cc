#include "tests/support/damage_database.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace winnow {
namespace {

constexpr char kDirectory[] = "/db";

void Apply(const std::vector<Update>& updates, Contents* contents) {
  for (const Update& update : updates) {
    if (update.value.has_value()) {
      (*contents)[update.family_id][update.key] = *update.value;
    } else {
      (*contents)[update.family_id].erase(update.key);
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

// Each batch is recognised by keys of its own, and changes keys that others change as well.
void WriteLog(DB& db, DamageDatabase* database) {
  for (int i = 0; i < 12; i++) {
    std::vector<Update> updates;
    WriteBatch batch;
    for (ColumnFamily* family : db.ColumnFamilies()) {
      if (i % 3 != 0 && family->id() != 0) continue;
      updates.push_back({family->id(), absl::StrCat("logged", i), absl::StrCat("batch ", i)});
      updates.push_back({family->id(), "key7", absl::StrCat("batch ", i, " was here")});
      updates.push_back({family->id(), absl::StrCat("key", 10 + i), std::nullopt});
      for (size_t j = updates.size() - 3; j < updates.size(); j++) {
        if (updates[j].value.has_value()) {
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
std::string WhyIteratorIsWrong(DB& db, ColumnFamily* family,
                               const std::map<std::string, std::string>& expected,
                               size_t* num_errors) {
  const auto iterator = db.NewIterator(ReadOptions(), family);
  auto next = expected.begin();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++next) {
    if (next == expected.end() || next->first != iterator->key() ||
        next->second != iterator->value()) {
      return absl::StrCat("the iterator shows '", std::string(iterator->key()), "' = '",
                          std::string(iterator->value()), "'");
    }
  }
  const absl::Status status = iterator->status();
  if (status.ok()) return next == expected.end() ? "" : "the iterator ends without an error";
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
  return options;
}

DamageDatabase BuildDamageDatabase(DatabaseEnd end, const std::vector<std::string>& filters) {
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
    EXPECT_TRUE(db->CreateColumnFamily(options, name).ok());
  }
  for (ColumnFamily* family : db->ColumnFamilies()) FillFamily(*db, family, &database);
  for (ColumnFamily* family : db->ColumnFamilies()) EXPECT_TRUE(db->Flush(family).ok());
  WriteLog(*db, &database);
  if (end == DatabaseEnd::kClosed) {
    EXPECT_TRUE(db->Close().ok());
  }
  database.files = FilesOn(*memory);
  for (int i = 0; i < 30; i += 4) database.keys.push_back(absl::StrCat("key", i));
  for (int i = 0; i < 12; i++) database.keys.push_back(absl::StrCat("logged", i));
  database.keys.insert(database.keys.end(), {"", "absent", "key", "key7", "key7a", "zzz"});
  return database;
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
    std::string why = WhyIteratorIsWrong(db, family, entries, num_errors);
    for (const std::string& key : database.keys) {
      if (!why.empty()) return why;
      const auto entry = entries.find(key);
      why = WhyPointAnswersAreWrong(db, family, key,
                                    entry == entries.end() ? nullptr : &entry->second, num_errors);
    }
    if (!why.empty()) return why;
  }
  return num_families == expected.size() ? "" : "a column family is missing";
}

}  // namespace winnow
