#include "tests/engine/soak/many_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/engine/soak/cell_process.h"
#include "tests/engine/soak/timed_calls.h"
#include "winnow/db.h"

namespace winnow::soak {

namespace {

constexpr uint64_t kFileBytes = 64 << 10;
constexpr size_t kValueBytes = 4096;
constexpr uint64_t kKeysPerFile = kFileBytes / kValueBytes;
constexpr uint64_t kMostLookUps = 20'000;
// What is written beside the compaction; behind all keys.
constexpr const char* kKeyBeside = "written beside";

std::string KeyAt(uint64_t number) { return absl::StrFormat("%012d", number); }

uint64_t Milliseconds(std::chrono::steady_clock::duration time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

class FilesLoad {
 public:
  FilesLoad(const FilesCell& cell, const std::string& directory)
      : cell_(cell), path_(directory + "/db") {}

  FilesReport Run() {
    LowerDescriptors();
    if (Open()) {
      CreateFamilies();
      report_.before = MeasureUsage(path_);
      ForgetHighestResidentBytes();
      Fill();
      if (!calls_.failed()) Use();
      if (!calls_.failed()) EndTheReason();
      report_.close_milliseconds = TimeOf("Close", [&] { return db_->Close(); });
      db_.reset();
    }
    report_.longest_milliseconds = calls_.longest_milliseconds();
    report_.longest_call = calls_.longest_call();
    report_.problems = calls_.TakeProblems();
    return std::move(report_);
  }

 private:
  void LowerDescriptors() const {
    if (cell_.descriptors == 0) return;
    struct rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::min<rlim_t>(cell_.descriptors, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
  }

  // Of a call that takes as long as the database is large; not among the longest.
  template <typename Call>
  uint64_t TimeOf(const char* name, const Call& call) {
    const auto begin = std::chrono::steady_clock::now();
    const absl::Status status = call();
    if (!status.ok()) calls_.AddProblem(absl::StrCat(name, ": ", status.ToString()));
    return Milliseconds(std::chrono::steady_clock::now() - begin);
  }

  // Files that stay as small as they are written, and are merged only when that is asked for.
  bool Open() {
    options_.compression = Compression::kNone;
    options_.write_buffer_bytes = 1 << 20;
    options_.target_file_bytes = kFileBytes;
    options_.block_cache_bytes = 1 << 20;
    options_.disable_auto_compactions = true;
    report_.open_milliseconds = TimeOf("Open", [&] {
      auto opened = DB::Open(options_, path_);
      if (opened.ok()) db_ = *std::move(opened);
      return opened.status();
    });
    return db_ != nullptr;
  }

  void CreateFamilies() {
    families_ = {db_->DefaultColumnFamily()};
    for (uint64_t i = 1; i < cell_.families && !calls_.failed(); i++) {
      calls_.Do("CreateColumnFamily", [&] {
        const auto created = db_->CreateColumnFamily(options_, absl::StrCat("family", i));
        if (created.ok()) families_.push_back(*created);
        return created.status();
      });
    }
  }

  void FindFamilies() {
    families_ = {db_->DefaultColumnFamily()};
    for (uint64_t i = 1; i < cell_.families && !calls_.failed(); i++) {
      const auto found = db_->FindColumnFamily(absl::StrCat("family", i));
      if (!found.ok()) calls_.AddProblem(found.status().ToString());
      if (found.ok()) families_.push_back(*found);
    }
  }

  ColumnFamily* FamilyOf(uint64_t key) const {
    return families_[key / kKeysPerFile % cell_.families];
  }

  void Fill() {
    std::string value(kValueBytes, 'v');
    for (uint64_t key = 0; key < NumKeys() && !calls_.failed(); key++) {
      calls_.Do("Put", [&] { return db_->Put(WriteOptions(), FamilyOf(key), KeyAt(key), value); });
      if (key % kKeysPerFile == kKeysPerFile - 1) {
        calls_.Do("Flush", [&] { return db_->Flush(FamilyOf(key)); });
      }
    }
    report_.flushed_tables = NumTables();
    EndPhase(&report_.writing_bytes);
    if (report_.flushed_tables < cell_.files && !calls_.failed()) {
      calls_.AddProblem(absl::StrCat("there are only ", report_.flushed_tables, " tables"));
    }
  }

  void Use() {
    TimeOf("Close", [&] { return db_->Close(); });
    db_.reset();
    if (!Open()) return;
    FindFamilies();
    LookUp();
    Walk();
    EndPhase(&report_.reading_bytes);
    CompactBesideCalls();
    EndPhase(&report_.compacting_bytes);
    report_.compacted_tables = NumTables();
    LookUp();
    Walk();
  }

  // Neighbours lie in one file: each look-up is of another one.
  void LookUp() {
    const uint64_t step = std::max<uint64_t>(NumKeys() / kMostLookUps, 1);
    std::string value;
    for (uint64_t key = 0; key < NumKeys() && !calls_.failed(); key += step) {
      calls_.Do("Get", [&] { return db_->Get(ReadOptions(), FamilyOf(key), KeyAt(key), &value); });
      calls_.Do("Get", [&] {
        const absl::Status got =
            db_->Get(ReadOptions(), FamilyOf(key), absl::StrCat(KeyAt(key), "x"), &value);
        if (absl::IsNotFound(got)) return absl::OkStatus();
        return got.ok() ? absl::InternalError("found what was never written") : got;
      });
    }
  }

  void Walk() {
    uint64_t found = 0;
    for (ColumnFamily* family : families_) {
      ReadOptions read;
      read.upper_bound = kKeyBeside;
      const auto iterator = db_->NewIterator(read, family);
      calls_.Do("SeekToFirst", [&] {
        iterator->SeekToFirst();
        return iterator->status();
      });
      while (iterator->Valid()) {
        found++;
        calls_.Do("Next", [&] {
          iterator->Next();
          return iterator->status();
        });
      }
    }
    if (found != NumKeys() && !calls_.failed()) {
      calls_.AddProblem(absl::StrCat(found, " of ", NumKeys(), " keys are walked over"));
    }
  }

  void CompactBesideCalls() {
    std::atomic<bool> done{false};
    std::thread beside([&] {
      std::string value;
      uint64_t key = 0;
      for (int step = 0; !done; step++) {
        key = (key + 7919) % NumKeys();
        calls_.Do("Put", [&] { return db_->Put(WriteOptions(), kKeyBeside, "value"); });
        calls_.Do("Get",
                  [&] { return db_->Get(ReadOptions(), FamilyOf(key), KeyAt(key), &value); });
        if (step % 64 == 0) Sample();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
    report_.compact_milliseconds = TimeOf("CompactRange", [&] { return CompactAll(); });
    done = true;
    beside.join();
  }

  absl::Status CompactAll() {
    for (ColumnFamily* family : families_) {
      const absl::Status compacted = db_->CompactRange(family, std::nullopt, std::nullopt);
      if (!compacted.ok()) return compacted;
    }
    return absl::OkStatus();
  }

  void EndTheReason() {
    if (!cell_.leaks) {
      for (uint64_t key = 0; key < NumKeys() && !calls_.failed(); key++) {
        calls_.Do("Delete", [&] { return db_->Delete(WriteOptions(), FamilyOf(key), KeyAt(key)); });
      }
      TimeOf("CompactRange", [&] { return CompactAll(); });
    }
    calls_.Do("WaitForBackgroundWork", [&] { return db_->WaitForBackgroundWork(); });
    Sample();
    report_.after =
        MeasureOnceReturned(report_.before, report_.most, path_,
                            cell_.leaks ? std::chrono::seconds(0) : std::chrono::seconds(60));
    for (std::string& what : WhatStays(report_.before, report_.most, report_.after)) {
      calls_.AddProblem(std::move(what));
    }
  }

  void EndPhase(uint64_t* resident_bytes) {
    Sample();
    *resident_bytes = HighestResidentBytes();
    ForgetHighestResidentBytes();
  }

  void Sample() {
    report_.most =
        MostOf(report_.most, {HighestResidentBytes(), OpenDescriptors(), BytesIn(path_)});
  }

  uint64_t NumKeys() const { return cell_.files * kKeysPerFile; }

  uint64_t NumTables() const {
    uint64_t tables = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      tables += entry.path().extension() == ".sst" ? 1 : 0;
    }
    return tables;
  }

  const FilesCell cell_;
  const std::string path_;
  Options options_;
  TimedCalls calls_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamily*> families_;
  FilesReport report_;
};

// One list for both ways through the pipe.
std::vector<uint64_t*> NumbersOf(FilesReport* report) {
  std::vector<uint64_t*> numbers = {
      &report->writing_bytes,        &report->reading_bytes,      &report->compacting_bytes,
      &report->flushed_tables,       &report->compacted_tables,   &report->open_milliseconds,
      &report->compact_milliseconds, &report->close_milliseconds, &report->longest_milliseconds};
  for (Usage* usage : {&report->before, &report->most, &report->after}) {
    numbers.insert(numbers.end(),
                   {&usage->resident_bytes, &usage->descriptors, &usage->disk_bytes});
  }
  return numbers;
}

}  // namespace

FilesReport RunFilesCell(const FilesCell& cell, const std::string& directory,
                         std::chrono::seconds patience) {
  FilesReport report;
  RunInProcess(directory, patience, [&] {
    FilesReport made = FilesLoad(cell, directory).Run();
    return CellOutcome::Of(NumbersOf(&made), made.longest_call, made.problems);
  }).MoveTo(NumbersOf(&report), &report.longest_call, &report.problems);
  return report;
}

}  // namespace winnow::soak
