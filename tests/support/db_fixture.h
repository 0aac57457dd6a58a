// What the tests of the whole store share: databases that must open, seeds that can be run again,
// and comparators other than the default one.
#ifndef WINNOW_TESTS_SUPPORT_DB_FIXTURE_H_
#define WINNOW_TESTS_SUPPORT_DB_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/file_system/testing/recording_file_system.h"
#include "winnow/db.h"

namespace winnow {

// Set WINNOW_LONG_TESTS=1 for runs that take minutes.
inline bool LongTests() { return std::getenv("WINNOW_LONG_TESTS") != nullptr; }

// ThreadSanitizer makes a run ten times slower, and what it looks for does not depend on the seed.
#ifdef __SANITIZE_THREAD__
inline constexpr uint64_t kFewerBy = 8;
#else
inline constexpr uint64_t kFewerBy = 1;
#endif

// The seeds to run: 1 to `count` (times ten in long runs, fewer under ThreadSanitizer), or the one
// that WINNOW_SEED names.
inline std::vector<uint64_t> Seeds(uint64_t count) {
  if (const char* chosen = std::getenv("WINNOW_SEED")) return {std::strtoull(chosen, nullptr, 10)};
  count = (count + kFewerBy - 1) / kFewerBy;
  std::vector<uint64_t> seeds;
  for (uint64_t seed = 1; seed <= (LongTests() ? count * 10 : count); seed++) seeds.push_back(seed);
  return seeds;
}

inline std::unique_ptr<DB> OpenOrFail(const Options& options, const std::string& path) {
  auto opened = DB::Open(options, path);
  EXPECT_TRUE(opened.ok()) << opened.status().ToString();
  return opened.ok() ? std::move(*opened) : nullptr;
}

inline std::unique_ptr<RecordingFileSystem> NewUnrecordedFileSystem() {
  auto file_system = std::make_unique<RecordingFileSystem>();
  file_system->set_recording(false);
  return file_system;
}

// A database in memory that flushes and compacts only when it is told to, unless `options` say
// otherwise.
class MemoryDb {
 public:
  explicit MemoryDb(Options options = Quiet()) : options_(std::move(options)) {
    options_.file_system = file_system_.get();
    Reopen();
  }

  // Small memtables, files and cache, and three background threads: something is always going on.
  static Options Busy() {
    Options options;
    options.write_buffer_bytes = 64 << 10;
    options.target_file_bytes = 64 << 10;
    options.level_base_bytes = 64 << 10;
    options.level0_compaction_trigger = 2;
    options.background_threads = 3;
    options.block_cache_bytes = 256 << 10;
    options.block_bytes = 1024;
    return options;
  }

  static Options Quiet() {
    Options options;
    options.disable_auto_compactions = true;
    options.compression = Compression::kNone;
    options.background_threads = 1;
    return options;
  }

  // Closes and opens again with what options() say now.
  void Reopen() {
    if (db_ != nullptr) {
      const absl::Status closed = db_->Close();
      EXPECT_TRUE(closed.ok()) << closed.ToString();
    }
    db_.reset();
    db_ = OpenOrFail(options_, kPath);
    ASSERT_NE(db_, nullptr);
  }
  void CloseDb() { db_.reset(); }

  DB& operator*() { return *db_; }
  DB* operator->() { return db_.get(); }
  DB* get() { return db_.get(); }
  Options& options() { return options_; }
  RecordingFileSystem& file_system() { return *file_system_; }

  void Put(std::string_view key, std::string_view value) {
    const absl::Status status = db_->Put(WriteOptions(), key, value);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void Delete(std::string_view key) {
    const absl::Status status = db_->Delete(WriteOptions(), key);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void Flush() {
    const absl::Status status = db_->Flush();
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void CompactAll() {
    const absl::Status status = db_->CompactRange(std::nullopt, std::nullopt);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  // The value, "(absent)", or the error.
  std::string Get(std::string_view key, const Snapshot* snapshot = nullptr) {
    ReadOptions read;
    read.snapshot = snapshot;
    std::string value;
    const absl::Status status = db_->Get(read, key, &value);
    if (status.ok()) return value;
    return absl::IsNotFound(status) ? "(absent)" : status.ToString();
  }
  // The same through MultiGet.
  std::vector<std::string> MultiGet(const std::vector<std::string>& keys) {
    std::vector<std::string_view> views(keys.begin(), keys.end());
    std::vector<PinnedValue> values(keys.size());
    std::vector<absl::Status> statuses(keys.size());
    db_->MultiGet(ReadOptions(), views, values, statuses);
    std::vector<std::string> results;
    for (size_t i = 0; i < keys.size(); i++) {
      results.push_back(statuses[i].ok()                ? std::string(values[i].view())
                        : absl::IsNotFound(statuses[i]) ? "(absent)"
                                                        : statuses[i].ToString());
    }
    return results;
  }

  static constexpr char kPath[] = "/db";

 private:
  const std::unique_ptr<RecordingFileSystem> file_system_ = NewUnrecordedFileSystem();
  Options options_;
  std::unique_ptr<DB> db_;
};

// The bytewise order backwards.
class ReverseComparator final : public Comparator {
 public:
  std::string_view Name() const override { return "test.reverse"; }
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  bool EqualKeysHaveEqualBytes() const override { return true; }
};

// ASCII letters of both cases are equal: keys that compare equal need not have equal bytes.
class CaseBlindComparator final : public Comparator {
 public:
  std::string_view Name() const override { return "test.case-blind"; }
  int Compare(std::string_view a, std::string_view b) const override {
    return Lower(a).compare(Lower(b));
  }

 private:
  static std::string Lower(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return lower;
  }
};

// With it, and without the filters that such keys cannot have.
inline Options CaseBlindOptions(Options options = MemoryDb::Quiet()) {
  static const CaseBlindComparator case_blind;
  options.comparator = &case_blind;
  options.filter = "none";
  options.memtable_filter_ratio = 0;
  return options;
}

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_DB_FIXTURE_H_
