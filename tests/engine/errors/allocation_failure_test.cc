// There is no memory for one request of a public call, the first, the second, and so on, or for all
// from there on: the call says ResourceExhausted or does without, the database goes on, and nothing
// that was acknowledged is lost.
//
// Once with large values and the requests of at least 32 KiB that they lead to, with std::nothrow
// (blocks, read-ahead, log buffers, filters: what the sizes in files drive) and without (memtables,
// records, copies of values, table builders); once with small values and requests of every size.
// Then the calls that build or load filters once more under a budget, with filters in units, values
// that have write times and answers that are kept. What Zstandard and LZ4 ask the C library for is
// not among them.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "engine/db/option_checks.h"
#include "engine/events/event_queue.h"
#include "tests/support/allocation_hook.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/verify_messages.h"
#include "winnow/backup.h"
#include "winnow/ingest.h"
#include "winnow/refilter.h"
#include "winnow/repair.h"
#include "winnow/transaction.h"

namespace winnow {
namespace {

constexpr AllocationsToCount kLarge = {.min_bytes = size_t{32} << 10};
constexpr AllocationsToCount kAll = {};

std::string KeyOf(int i) { return absl::StrCat("key", 100 + i); }

class AllocationFailure : public testing::Test {
 protected:
  using Contents = std::map<std::string, std::string>;
  static constexpr int kDeleted = -1;
  // What the call is asked to write, and what it says.
  struct Call {
    const char* name;
    std::function<absl::Status(AllocationFailure&)> run;
    std::map<std::string, int> writes = {};  // keys, and which ValueOf, or kDeleted
  };

  // The library's part of a call: only here, and in the library's threads, do requests fail.
  template <typename Calls>
  static auto Failing(Calls&& calls) {
    const AllocationsOfThisThread fail(true);
    return calls();
  }
  std::string ValueOf(int i) const {
    return std::string(value_bytes_, static_cast<char>('a' + i % 26));
  }

  std::string path() const { return absl::StrCat(directory_.path(), "/db", run_); }

  // Ten values in tables, some of them overwritten in the log.
  void Fill() {
    run_++;
    expected_.clear();
    db_ = OpenOrFail(TestOptions(), path());
    for (int i = 0; i < 14; i++) {
      const std::string key = KeyOf(i % 10);
      ASSERT_TRUE(db_->Put(WriteOptions(), key, ValueOf(i)).ok());
      expected_[key] = ValueOf(i);
      if (i == 4 || i == 9) {
        ASSERT_TRUE(db_->Flush().ok());
      }
    }
  }

  Contents ReadAll() {
    Contents found;
    const auto iterator = db_->NewIterator(ReadOptions());
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      found.emplace(iterator->key(), iterator->value());
    }
    EXPECT_TRUE(iterator->status().ok()) << iterator->status();
    return found;
  }

  Contents WithWrites(const std::map<std::string, int>& writes) const {
    Contents contents = expected_;
    for (const auto& [key, value] : writes) {
      if (value == kDeleted) {
        contents.erase(key);
      } else {
        contents[key] = ValueOf(value);
      }
    }
    return contents;
  }
  // All that must be there, and of what failed all or nothing.
  void ExpectAll(const std::map<std::string, int>& maybe) {
    const Contents found = ReadAll();
    EXPECT_TRUE(found == expected_ || found == WithWrites(maybe)) << found.size() << " keys";
  }

  // Names of tables and filter files in the directory.
  std::set<std::string> TableFiles() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      const std::string extension = entry.path().extension().string();
      if (extension == ".sst" || extension == ".flt")
        names.insert(entry.path().filename().string());
    }
    return names;
  }

  void CheckAfter(const Call& call, const absl::Status& status) {
    std::map<std::string, int> maybe;
    if (status.ok()) {
      expected_ = WithWrites(call.writes);
    } else {
      maybe = call.writes;
    }
    if (db_ != nullptr) {
      ExpectAll({});  // what failed is not seen before reopening
      const absl::Status later = db_->Put(WriteOptions(), "later", "value");
      if (later.ok()) {
        expected_["later"] = "value";
        EXPECT_TRUE(db_->Flush().ok());
      } else {
        // Only where a write was in the log already may the next one be refused.
        EXPECT_TRUE(absl::IsFailedPrecondition(later) && !status.ok() && !call.writes.empty())
            << later;
      }
      ExpectAll({});
      db_->Close().IgnoreError();
    }
    db_.reset();
    const std::set<std::string> left = TableFiles();
    db_ = OpenOrFail(TestOptions(), path());
    ASSERT_NE(db_, nullptr);
    if (one_fails_ && !status.ok() && kJobs.contains(call.name)) {
      // What no manifest names the opening has removed.
      const std::set<std::string> named = TableFiles();
      for (const std::string& file : left) EXPECT_TRUE(named.contains(file)) << file;
    }
    ExpectAll(maybe);
    EXPECT_EQ(VerifyMessages(*db_), std::vector<std::string>());
    EXPECT_TRUE(db_->Put(WriteOptions(), "last", "value").ok());
    EXPECT_TRUE(db_->CompactRange({}, {}).ok());
    db_.reset();
    std::filesystem::remove_all(path());
  }

  // Calls that write tables or filter files. Where a single request failed there was memory to
  // remove what they had written.
  inline static const std::set<std::string_view> kJobs = {"Flush", "CompactRange", "Refilter"};

  // Until a run in which nothing failed. Returns the number of runs with a failure.
  uint64_t Loop(const Call& call, const AllocationsToCount& counted, uint64_t stride,
                bool for_ever) {
    uint64_t runs = 0;
    one_fails_ = !for_ever;
    for (uint64_t which = 0;; which += stride) {
      SCOPED_TRACE(absl::StrCat(call.name, ", request ", which, for_ever ? " and later" : ""));
      Fill();
      CountAllocations(counted, which, for_ever);
      absl::Status status;
      try {
        status = call.run(*this);
      } catch (const std::bad_alloc&) {
        ADD_FAILURE() << "has thrown std::bad_alloc";
        return runs;
      }
      uint64_t failed = 0;
      StopCountingAllocations(&failed);
      EXPECT_TRUE(status.ok() || (failed > 0 && absl::IsResourceExhausted(status))) << status;
      CheckAfter(call, status);
      if (failed == 0 || HasFailure()) return runs;
      runs++;
    }
  }

  const AllocationsOfThisThread succeed_{false};
  size_t value_bytes_ = 40000;
  bool under_budget_ = false;
  bool one_fails_ = false;
  const ScratchDirectory directory_{"allocation"};
  int run_ = 0;
  std::unique_ptr<DB> db_;
  Contents expected_;

 public:
  DB& db() { return *db_; }
  Options TestOptions() const {
    Options options = MemoryDb::Quiet();
    options.write_buffer_bytes = size_t{1} << 20;
    options.block_cache_bytes = size_t{256} << 10;
    options.memtable_filter_ratio = 0.1;
    if (under_budget_) {
      options.filter_memory_budget = uint64_t{64} << 10;
      options.optimize_filters_for_hits = true;
      options.row_cache_bytes = size_t{64} << 10;
      options.key_hashes_ratio = 1;
      options.ttl_seconds = kMaxTtlSeconds;  // with which there is no merging
    } else {
      options.merge_operator = *ParseMergeOperator("append:");
    }
    return options;
  }
  std::string Fitting(std::string_view filter) const {
    return under_budget_ ? FilterWithoutAmount(filter) : std::string(filter);
  }
  absl::Status Reopen() {
    db_.reset();
    const Options options = TestOptions();
    const std::string directory = path();
    auto opened = Failing([&] { return DB::Open(options, directory); });
    if (!opened.ok()) return opened.status();
    db_ = *std::move(opened);
    return absl::OkStatus();
  }
  absl::Status Iterate() {
    const auto iterator = Failing([&] { return db_->NewIterator(ReadOptions()); });
    for (Failing([&] { iterator->SeekToFirst(); }); iterator->Valid();
         Failing([&] { iterator->Next(); })) {
      EXPECT_EQ(iterator->value(), expected_[std::string(iterator->key())]);
    }
    if (iterator->status().ok()) {
      for (Failing([&] { iterator->SeekToLast(); }); iterator->Valid();
           Failing([&] { iterator->Prev(); })) {
        EXPECT_EQ(iterator->value(), expected_[std::string(iterator->key())]);
      }
    }
    return iterator->status();
  }
  // Says that there was no memory to look, and nothing of damage.
  absl::Status Verify() {
    const auto problems = Failing([&] { return db_->Verify(); });
    if (!problems.ok()) return problems.status();
    for (const VerifyProblem& problem : *problems) {
      EXPECT_TRUE(absl::IsResourceExhausted(problem.status)) << problem.status;
    }
    return problems->empty() ? absl::OkStatus() : problems->front().status;
  }
  absl::Status Backup() {
    const std::string backups = Backups();
    absl::Status made = Failing([&] { return db_->BackupTo(backups).status(); });
    Unfailing([&] {
      const auto listed = ListBackups(TestOptions(), Backups());
      EXPECT_TRUE(listed.ok() || (!made.ok() && absl::IsNotFound(listed.status()))) << made;
      // What failed at its very end may be there, and whole.
      const size_t found = listed.ok() ? listed->size() : 0;
      EXPECT_TRUE(found == 1 || !made.ok());
      if (found > 0) {
        EXPECT_TRUE(VerifyBackup(TestOptions(), Backups(), 1)->empty());
      }
      std::filesystem::remove_all(Backups());
    });
    return made;
  }
  absl::Status BackUpAndVerify() {
    Unfailing([&] { EXPECT_TRUE(db_->BackupTo(Backups()).ok()); });
    const Options options = TestOptions();
    const std::string backups = Backups();
    const auto problems = Failing([&] { return VerifyBackup(options, backups, 1); });
    if (problems.ok()) {
      EXPECT_TRUE(problems->empty()) << problems->front().status;
    }
    Unfailing([&] { std::filesystem::remove_all(Backups()); });
    return problems.status();
  }
  absl::Status BackUpAndRestore() {
    Unfailing([&] { EXPECT_TRUE(db_->BackupTo(Backups()).ok()); });
    const Options options = TestOptions();
    const std::string backups = Backups();
    const std::string restored = NewDirectory();
    absl::Status status = Failing([&] { return RestoreBackup(options, backups, 0, restored); });
    Unfailing([&] {
      if (status.ok()) {
        std::unique_ptr<DB> live = std::exchange(db_, OpenOrFail(TestOptions(), restored));
        ExpectAll({});
        db_ = std::move(live);
      } else {
        EXPECT_FALSE(std::filesystem::exists(restored + "/CURRENT"));
      }
      std::filesystem::remove_all(restored);
      std::filesystem::remove_all(Backups());
    });
    return status;
  }
  absl::Status Repair() {
    Unfailing([&] { db_.reset(); });
    return RepairOnce();
  }
  absl::Status RepairOnce() {
    const Options options = TestOptions();
    const std::string directory = path();
    return Failing([&] { return RepairDatabase(options, directory).status(); });
  }
  // The same without a manifest: all tables are merged into one run.
  absl::Status RepairWithoutManifest() {
    Unfailing([&] {
      db_.reset();
      std::filesystem::remove(path() + "/CURRENT");
      for (const auto& file : std::filesystem::directory_iterator(path())) {
        if (file.path().filename().string().starts_with("MANIFEST-")) {
          std::filesystem::remove(file.path());
          break;
        }
      }
    });
    absl::Status status = RepairOnce();
    Unfailing([&] {
      if (!status.ok()) {
        EXPECT_TRUE(RepairDatabase(TestOptions(), path()).ok()) << "the second time";
      }
    });
    return status;
  }
  absl::Status GetAll(bool pinned) {
    for (const auto& entry : expected_) {
      const std::string& key = entry.first;
      std::string copy;
      PinnedValue pin;
      absl::Status status = Failing([&] {
        return pinned ? db_->Get(ReadOptions(), key, &pin) : db_->Get(ReadOptions(), key, &copy);
      });
      if (!status.ok()) return status;
      EXPECT_TRUE((pinned ? pin.view() : std::string_view(copy)) == entry.second) << key;
    }
    return absl::OkStatus();
  }
  absl::Status MultiGetAll() {
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : expected_) keys.push_back(key);
    std::vector<PinnedValue> values(keys.size());
    std::vector<absl::Status> statuses(keys.size());
    Failing([&] { db_->MultiGet(ReadOptions(), keys, values, statuses); });
    absl::Status first;
    for (size_t i = 0; i < keys.size(); i++) {
      first.Update(statuses[i]);
      EXPECT_TRUE(!statuses[i].ok() || values[i].view() == expected_[std::string(keys[i])]);
    }
    return first;
  }
  // Two keys that are new, and one that is not.
  absl::Status IngestTable() {
    const std::string table = path() + ".sst";
    Unfailing([&] {
      auto writer = *SstWriter::Create(TestOptions(), table);
      EXPECT_TRUE(writer->Put(KeyOf(3), ValueOf(21)).ok());
      EXPECT_TRUE(writer->Put(KeyOf(20), ValueOf(22)).ok());
      EXPECT_TRUE(writer->Put(KeyOf(21), ValueOf(23)).ok());
      EXPECT_TRUE(writer->Finish().ok());
    });
    const std::vector<IngestFile> files = {{.path = table}};
    absl::Status status = Failing([&] { return db_->Ingest(files, {}).status(); });
    Unfailing([&] { std::filesystem::remove(table); });
    return status;
  }
  absl::Status WriteTable() {
    const std::string table = path() + ".sst";
    const Options options = TestOptions();
    absl::Status status = Failing([&]() -> absl::Status {
      auto writer = SstWriter::Create(options, table);
      if (!writer.ok()) return writer.status();
      for (const auto& [key, value] : expected_) {
        if (absl::Status put = (*writer)->Put(key, value); !put.ok()) return put;
      }
      return (*writer)->Finish().status();
    });
    Unfailing([&] { EXPECT_EQ(std::filesystem::remove(table), status.ok()) << status; });
    return status;
  }
  // Reads, writes, undoes a part and commits.
  absl::Status Transact(TransactionOptions::Mode mode) {
    const std::string undone = ValueOf(4);
    const std::string value = ValueOf(3);
    return Failing([&]() -> absl::Status {
      auto begun = db_->BeginTransaction({.mode = mode});
      if (!begun.ok()) return begun.status();
      Transaction& transaction = **begun;
      PinnedValue read;
      absl::Status status = transaction.GetForUpdate(ReadOptions(), KeyOf(1), &read);
      if (status.ok()) status = transaction.Put(KeyOf(1), value);
      if (status.ok()) status = transaction.DeleteRange(KeyOf(6), KeyOf(8));
      if (status.ok()) status = transaction.Put("new", value);
      if (status.ok()) status = transaction.SetSavepoint();
      if (status.ok()) status = transaction.Put(KeyOf(2), undone);
      if (status.ok()) status = transaction.Delete(KeyOf(4));
      if (status.ok()) status = transaction.DeleteRange(KeyOf(0), KeyOf(9));
      if (status.ok()) status = transaction.Get(ReadOptions(), KeyOf(9), &read);
      if (status.ok()) status = transaction.RollbackToSavepoint();
      if (status.ok()) {
        const auto iterator = transaction.NewIterator(ReadOptions());
        for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
        }
        status = iterator->status();
        const std::string_view far = "a key that is too long to be copied without memory";
        if (status.ok()) {
          iterator->Seek(far);
          status = iterator->status();
        }
        if (status.ok()) {
          iterator->SeekForPrev(far);
          status = iterator->status();
        }
      }
      return status.ok() ? transaction.Commit() : status;
    });
  }
  static const std::vector<Call>& AllCalls();
  std::string NewDirectory() { return absl::StrCat(path(), "-copy"); }
  std::string Backups() { return absl::StrCat(path(), "-backups"); }
  // What is not the call itself: no request of any thread fails meanwhile.
  static void Unfailing(const std::function<void()>& prepare) {
    uint64_t failed = 0;
    StopCountingAllocations(&failed);
    prepare();
    ResumeCountingAllocations();
  }
};

// The thread that writes the log is the store's own: nobody could catch what it throws.
TEST_F(AllocationFailure, OfALineOfTheInfoLogLeavesOutTheLine) {
  EventQueue events({});
  ASSERT_TRUE(events.Start({PosixFileSystem(), directory_.path()}, {1 << 20, 1}).ok());
  Event long_one;
  long_one.message = std::string(100'000, 'm');
  Event short_one;
  short_one.message = "the next";
  CountAllocations(kLarge, 0, /*for_ever=*/true);
  events.Add(std::move(long_one));
  events.Drain();
  uint64_t failed = 0;
  StopCountingAllocations(&failed);
  EXPECT_GT(failed, 0u);
  events.Add(std::move(short_one));
  events.Stop();
  const auto log = ReadFile(*PosixFileSystem(), absl::StrCat(directory_.path(), "/LOG"), 1 << 20);
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_NE(log->find("database opened: the next"), std::string::npos) << *log;
  EXPECT_LT(log->size(), 1000u);
}

const std::vector<AllocationFailure::Call>& AllocationFailure::AllCalls() {
  static const auto& calls = *new std::vector<Call>{
      {"Put",
       [](auto& test) {
         const std::string value = test.ValueOf(3);
         return Failing([&] { return test.db().Put(WriteOptions(), "new", value); });
       },
       {{"new", 3}}},
      {"Write, a large batch",
       [](auto& test) {
         WriteBatch batch;  // the caller's
         for (int i = 20; i < 25; i++) {
           batch.Put(test.db().DefaultColumnFamily(), KeyOf(i), test.ValueOf(i));
         }
         return Failing([&] { return test.db().Write(WriteOptions(), batch); });
       },
       {{KeyOf(20), 20}, {KeyOf(21), 21}, {KeyOf(22), 22}, {KeyOf(23), 23}, {KeyOf(24), 24}}},
      {"Merge",
       [](auto& test) {
         const std::string value = test.ValueOf(3);
         return Failing([&] { return test.db().Merge(WriteOptions(), "new", value); });
       },
       {{"new", 3}}},
      {"DeleteRange",
       [](auto& test) {
         return Failing([&] { return test.db().DeleteRange(WriteOptions(), KeyOf(2), KeyOf(5)); });
       },
       {{KeyOf(2), kDeleted}, {KeyOf(3), kDeleted}, {KeyOf(4), kDeleted}}},
      {"Ingest",
       [](auto& test) { return test.IngestTable(); },
       {{KeyOf(3), 21}, {KeyOf(20), 22}, {KeyOf(21), 23}}},
      {"SstWriter", [](auto& test) { return test.WriteTable(); }},
      {"Transaction, optimistic",
       [](auto& test) { return test.Transact(TransactionOptions::Mode::kOptimistic); },
       {{KeyOf(1), 3}, {KeyOf(6), kDeleted}, {KeyOf(7), kDeleted}, {"new", 3}}},
      {"Transaction, pessimistic",
       [](auto& test) { return test.Transact(TransactionOptions::Mode::kPessimistic); },
       {{KeyOf(1), 3}, {KeyOf(6), kDeleted}, {KeyOf(7), kDeleted}, {"new", 3}}},
      {"SetOptions",
       [](auto& test) {
         const std::string filter = test.Fitting("ribbon:1%");
         const std::vector<OptionSetting> options = {
             {"write_buffer_bytes", "2M"}, {"filter", filter}, {"compression", "lz4"}};
         DB& db = test.db();
         return Failing([&] { return db.SetOptions(db.DefaultColumnFamily(), options); });
       }},
      {"Flush", [](auto& test) { return Failing([&] { return test.db().Flush(); }); }},
      {"CompactRange",
       [](auto& test) { return Failing([&] { return test.db().CompactRange({}, {}); }); }},
      {"WaitForBackgroundWork",
       [](auto& test) { return Failing([&] { return test.db().WaitForBackgroundWork(); }); }},
      {"Refilter",
       [](auto& test) {
         const RefilterOptions options = {.filter = test.Fitting("cuckoo:12")};
         return Failing([&] { return test.db().Refilter(options).status(); });
       }},
      {"PlanFilters",
       [](auto& test) {
         return Failing([&] { return test.db().PlanFilters(64 << 10).status(); });
       }},
      {"Get", [](auto& test) { return test.GetAll(false); }},
      {"Get, pinned", [](auto& test) { return test.GetAll(true); }},
      {"MultiGet", [](auto& test) { return test.MultiGetAll(); }},
      {"Iterator", [](auto& test) { return test.Iterate(); }},
      {"CreateColumnFamily",
       [](auto& test) {
         const Options options = test.TestOptions();
         return Failing([&] { return test.db().CreateColumnFamily(options, "second").status(); });
       }},
      {"Checkpoint",
       [](auto& test) {
         const std::string directory = test.NewDirectory();
         return Failing([&] { return test.db().Checkpoint(directory); });
       }},
      {"Open", [](auto& test) { return test.Reopen(); }},
      {"Verify", [](auto& test) { return test.Verify(); }},
      {"BackupTo", [](auto& test) { return test.Backup(); }},
      {"VerifyBackup", [](auto& test) { return test.BackUpAndVerify(); }},
      {"RestoreBackup", [](auto& test) { return test.BackUpAndRestore(); }},
      {"RepairDatabase", [](auto& test) { return test.Repair(); }},
      {"RepairDatabase, rebuilding", [](auto& test) { return test.RepairWithoutManifest(); }},
  };
  return calls;
}

TEST_F(AllocationFailure, OfEveryLargeRequestOfEveryCallIsAnErrorAndLosesNothing) {
  uint64_t total = 0;
  for (const bool for_ever : {false, true}) {
    for (const Call& call : AllCalls()) {
      // A run takes some syncs: not all of them in short runs.
      const uint64_t runs = Loop(call, kLarge, for_ever && !LongTests() ? 4 : 1, for_ever);
      std::printf("%-28s %3llu large requests failed%s\n", call.name,
                  static_cast<unsigned long long>(runs), for_ever ? ", and all after each" : "");
      total += runs;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(total, 60u);
}

TEST_F(AllocationFailure, OfEveryRequestOfEveryCallIsAnErrorAndLosesNothing) {
  value_bytes_ = 300;
  uint64_t total = 0;
  for (const bool for_ever : {true, false}) {
    for (const Call& call : AllCalls()) {
      const uint64_t runs = Loop(call, kAll, LongTests() ? 1 : for_ever ? 13 : 7, for_ever);
      std::fflush(stdout);
      std::printf("%-28s %4llu requests failed%s\n", call.name,
                  static_cast<unsigned long long>(runs), for_ever ? ", and all after each" : "");
      total += runs;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(total, 60u);
}

TEST_F(AllocationFailure, OfARequestUnderABudgetOfFilterMemoryIsAnErrorAndLosesNothing) {
  value_bytes_ = 300;
  under_budget_ = true;
  const std::set<std::string_view> chosen = {"Put",      "Ingest",      "SetOptions", "Flush",
                                             "Refilter", "PlanFilters", "Get",        "MultiGet",
                                             "Open",     "CompactRange"};
  uint64_t total = 0;
  for (const bool for_ever : {true, false}) {
    for (const Call& call : AllCalls()) {
      if (!chosen.contains(call.name)) continue;
      total += Loop(call, kAll, LongTests() ? 1 : for_ever ? 29 : 17, for_ever);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(total, 60u);
}

}  // namespace
}  // namespace winnow
