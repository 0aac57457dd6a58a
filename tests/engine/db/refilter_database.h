// Databases of several files for the tests of DB::Refilter.
#ifndef WINNOW_TESTS_ENGINE_DB_REFILTER_DATABASE_H_
#define WINNOW_TESTS_ENGINE_DB_REFILTER_DATABASE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"

namespace winnow::refilter {

inline constexpr int kNumKeys = 6000;
inline constexpr char kNewFilter[] = "ribbon:0.1%";

inline std::string KeyAt(int i) { return absl::StrCat("user", 100000 + i, "/name"); }
inline std::string ValueAt(int i) { return absl::StrCat("value ", i, std::string(60, 'v')); }

// Keys of databases that have those of even numbers.
inline std::string Number(uint64_t i) { return absl::StrCat("key", 10'000'000 + i); }

// Threads that look for even numbers, all of which are there, and for keys behind them, which are
// not.
class NumberReaders {
 public:
  NumberReaders(DB& db, uint64_t num_keys) {
    for (uint64_t t = 0; t < 4; t++) {
      threads_.emplace_back([this, &db, num_keys, t] {
        std::mt19937_64 random(t);
        std::string value;
        while (!stop_.load(std::memory_order_relaxed)) {
          const std::string key = Number(2 * (random() % num_keys));
          const bool is_there = db.Get(ReadOptions(), key, &value).ok();
          (is_there ? found_ : missed_).fetch_add(1, std::memory_order_relaxed);
          (void)db.Get(ReadOptions(), absl::StrCat(key, "x"), &value);
        }
      });
    }
  }
  ~NumberReaders() { Stop(); }
  void Stop() {
    stop_.store(true);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  uint64_t found() const { return found_.load(); }
  uint64_t missed() const { return missed_.load(); }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> found_{0};
  std::atomic<uint64_t> missed_{0};
  std::vector<std::thread> threads_;
};

inline Options SmallFiles() {
  Options options = MemoryDb::Quiet();
  options.target_file_bytes = 64 << 10;
  options.level_base_bytes = 64 << 10;
  return options;
}

// Keys of even numbers, in several files of the last level and one of level 0.
inline void Fill(MemoryDb& db) {
  for (int i = 0; i < kNumKeys; i += 2) db.Put(KeyAt(i), ValueAt(i));
  db.CompactAll();
  for (int i = 0; i < 100; i += 2) db.Put(KeyAt(i), ValueAt(i));
  db.Flush();
}

// Even keys are there, odd ones are not; through Get and through a scan,
// which also meets so many other keys.
inline void ExpectAllKeys(MemoryDb& db, int num_others = 0) {
  for (int i = 0; i < kNumKeys; i++) {
    ASSERT_EQ(db.Get(KeyAt(i)), i % 2 == 0 ? ValueAt(i) : "(absent)") << KeyAt(i);
  }
  int seen = 0;
  const auto iterator = db->NewIterator(ReadOptions());
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) seen++;
  EXPECT_TRUE(iterator->status().ok()) << iterator->status();
  EXPECT_EQ(seen, kNumKeys / 2 + num_others);
}

inline std::vector<std::string> FilesNamed(MemoryDb& db, std::string_view suffix,
                                           const std::string& directory = MemoryDb::kPath) {
  std::vector<std::string> files;
  const auto names = db.file_system().List(directory);
  for (const std::string& name : *names) {
    if (name.ends_with(suffix)) files.push_back(name);
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Of the property "winnow.sstables": how many files have this filter.
inline size_t FilesWith(DB& db, std::string_view filter) {
  const std::string table = *db.GetProperty("winnow.sstables-json");
  const std::string wanted = absl::StrCat("\"filter\":\"", std::string(filter), "\"");
  size_t count = 0;
  for (size_t at = table.find(wanted); at != std::string::npos; at = table.find(wanted, at + 1)) {
    count++;
  }
  return count;
}

inline RefilterInfo RefilterOrFail(MemoryDb& db, RefilterOptions options) {
  const absl::StatusOr<RefilterInfo> info = db->Refilter(options);
  EXPECT_TRUE(info.ok()) << info.status();
  return info.value_or(RefilterInfo());
}

inline std::map<std::string, std::string> BytesOf(MemoryDb& db, std::string_view suffix) {
  std::map<std::string, std::string> bytes;
  for (const std::string& name : FilesNamed(db, suffix)) {
    bytes[name] = *ReadFile(db.file_system(), absl::StrCat(MemoryDb::kPath, "/", name), 64 << 20);
  }
  return bytes;
}

inline void Overwrite(MemoryDb& db, const std::string& name, std::string_view bytes) {
  auto file = db.file_system().Create(absl::StrCat(MemoryDb::kPath, "/", name), {});
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append(bytes).ok() && (*file)->Sync().ok() && (*file)->Close().ok());
}

inline uint64_t FalsePositives(DB& db) {
  uint64_t count = 0;
  for (const FilterStatistics& row : db.GetStatistics().filters) count += row.false_positive;
  return count;
}

}  // namespace winnow::refilter

#endif  // WINNOW_TESTS_ENGINE_DB_REFILTER_DATABASE_H_
