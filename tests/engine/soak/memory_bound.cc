#include "tests/engine/soak/memory_bound.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/engine/soak/cell_process.h"
#include "tests/engine/soak/timed_calls.h"
#include "tests/engine/soak/usage.h"
#include "winnow/db.h"

namespace winnow::soak {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kMostReads = 200'000;
constexpr uint64_t kMostScanned = 2'000'000;
constexpr size_t kValueBytes = 20;

// One of the mixers of splitmix64: a permutation of the numbers.
uint64_t Mix(uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

using Key = std::array<char, 16>;

std::string_view View(const Key& key) { return {key.data(), key.size()}; }

// Ordered as the numbers are; half of its bytes do not compress.
Key KeyOf(uint64_t number) {
  Key key;
  const uint64_t noise = Mix(number + 1);
  for (size_t i = 0; i < 8; i++) {
    key[i] = static_cast<char>(number >> (56 - 8 * i));
    key[8 + i] = static_cast<char>(noise >> (8 * i));
  }
  return key;
}

class MemoryLoad {
 public:
  MemoryLoad(const MemoryCell& cell, std::string directory)
      : cell_(cell), directory_(std::move(directory)) {}

  MemoryReport Run() {
    const auto begin = std::chrono::steady_clock::now();
    ForgetHighestResidentBytes();
    RunPhase(&report_.loading_bytes, [this] {
      if (!Open()) return;
      CreateFamilies();
      Load();
    });
    RunPhase(&report_.reading_bytes, [this] {
      Read();
      Scan();
    });
    RunPhase(&report_.compacting_bytes, [this] {
      for (ColumnFamily* family : families_) {
        const absl::Status compacted = db_->CompactRange(family, std::nullopt, std::nullopt);
        if (!compacted.ok())
          calls_.AddProblem(absl::StrCat("CompactRange: ", compacted.ToString()));
      }
    });
    RunPhase(&report_.reopened_bytes, [this] {
      if (!Reopen()) return;
      Read();
      Scan();
    });
    if (db_ != nullptr) calls_.Do("Close", [&] { return db_->Close(); });
    db_.reset();
    Judge();
    report_.seconds = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin)
            .count());
    report_.longest_milliseconds = calls_.longest_milliseconds();
    report_.longest_call = calls_.longest_call();
    report_.problems = calls_.TakeProblems();
    return std::move(report_);
  }

 private:
  template <typename Phase>
  void RunPhase(uint64_t* most, const Phase& phase) {
    if (calls_.failed()) return;
    phase();
    Sample();
    *most = HighestResidentBytes();
    ForgetHighestResidentBytes();
  }

  bool Open() {
    return calls_.Do("Open", [&] {
      auto opened = DB::Open(Options::ForMemory(cell_.memory_bytes, 2), directory_ + "/db");
      if (opened.ok()) db_ = *std::move(opened);
      return opened.status();
    });
  }

  void CreateFamilies() {
    const ColumnFamilyOptions options = Options::ForMemory(cell_.memory_bytes, 2);
    families_.push_back(db_->DefaultColumnFamily());
    for (uint64_t i = 1; i < cell_.families && !calls_.failed(); i++) {
      calls_.Do("CreateColumnFamily", [&] {
        const auto created = db_->CreateColumnFamily(options, absl::StrCat("family", i));
        if (created.ok()) families_.push_back(*created);
        return created.status();
      });
    }
  }

  bool Reopen() {
    calls_.Do("Close", [&] { return db_->Close(); });
    db_.reset();
    if (!Open()) return false;
    families_ = {db_->DefaultColumnFamily()};
    for (uint64_t i = 1; i < cell_.families && !calls_.failed(); i++) {
      const auto found = db_->FindColumnFamily(absl::StrCat("family", i));
      if (!found.ok()) calls_.AddProblem(found.status().ToString());
      if (found.ok()) families_.push_back(*found);
    }
    return !calls_.failed();
  }

  Key KeyAt(uint64_t index) const {
    return KeyOf(cell_.order == KeyOrder::kRandom ? Mix(index) : index);
  }

  ColumnFamily* FamilyAt(uint64_t index) const {
    const uint64_t family = cell_.order == KeyOrder::kSequential
                                ? index / (cell_.keys / cell_.families + 1)
                                : Mix(~index) % cell_.families;
    return families_[family];
  }

  void Load() {
    std::string value(kValueBytes, 'v');
    const uint64_t sampled_each = std::max<uint64_t>(cell_.keys / 50, 1);
    for (uint64_t i = 0; i < cell_.keys && !calls_.failed(); i++) {
      const Key key = KeyAt(i);
      value.replace(0, key.size(), View(key));
      calls_.Do("Put", [&] { return db_->Put(WriteOptions(), FamilyAt(i), View(key), value); });
      if (i % sampled_each == 0) Sample();
    }
    if (cell_.exceeds) beside_.assign(AllowedBytes(cell_), 'x');
  }

  // Any key that is there, and with it one that is not.
  void Read() {
    const uint64_t reads = std::min(cell_.keys, kMostReads);
    std::string value;
    for (uint64_t i = 0; i < reads && !calls_.failed(); i++) {
      const uint64_t index = Mix(i) % cell_.keys;
      const Key key = KeyAt(index);
      calls_.Do("Get", [&] { return db_->Get(ReadOptions(), FamilyAt(index), View(key), &value); });
      if (!value.starts_with(View(key))) calls_.AddProblem("a key has another key's value");
      Key absent = key;
      absent.back() = static_cast<char>(absent.back() + 1);
      calls_.Do("Get", [&] {
        const absl::Status got = db_->Get(ReadOptions(), FamilyAt(index), View(absent), &value);
        if (absl::IsNotFound(got)) return absl::OkStatus();
        return got.ok() ? absl::InternalError("found what was never written") : got;
      });
    }
  }

  void Scan() {
    uint64_t scanned = 0;
    for (ColumnFamily* family : families_) {
      if (scanned >= kMostScanned || calls_.failed()) break;
      const auto iterator = db_->NewIterator(ReadOptions(), family);
      calls_.Do("SeekToFirst", [&] {
        iterator->SeekToFirst();
        return iterator->status();
      });
      while (iterator->Valid() && scanned < kMostScanned) {
        scanned++;
        calls_.Do("Next", [&] {
          iterator->Next();
          return iterator->status();
        });
      }
    }
    if (scanned != std::min(cell_.keys, kMostScanned)) {
      calls_.AddProblem(absl::StrCat("a scan found ", scanned, " keys"));
    }
  }

  void Sample() {
    report_.descriptors = std::max(report_.descriptors, OpenDescriptors());
    report_.disk_bytes = std::max(report_.disk_bytes, BytesIn(directory_ + "/db"));
  }

  void Judge() {
    if (kSanitized || MostBytes(report_) <= AllowedBytes(cell_)) return;
    calls_.AddProblem(absl::StrCat("the process took ", MostBytes(report_), " bytes; ",
                                   AllowedBytes(cell_), " are allowed"));
  }

  const MemoryCell cell_;
  const std::string directory_;
  TimedCalls calls_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamily*> families_;
  std::string beside_;
  MemoryReport report_;
};

// One list for both ways through the pipe.
std::vector<uint64_t*> NumbersOf(MemoryReport* report) {
  return {&report->loading_bytes,  &report->reading_bytes,       &report->compacting_bytes,
          &report->reopened_bytes, &report->disk_bytes,          &report->descriptors,
          &report->seconds,        &report->longest_milliseconds};
}

}  // namespace

uint64_t AllowedBytes(const MemoryCell& cell) {
  return cell.memory_bytes + cell.memory_bytes / 10 + 16 * kMiB;
}

uint64_t MostBytes(const MemoryReport& report) {
  return std::max(
      {report.loading_bytes, report.reading_bytes, report.compacting_bytes, report.reopened_bytes});
}

std::vector<MemoryCell> SmallMemoryCells() {
  std::vector<MemoryCell> cells;
  for (const uint64_t families : {1, 100}) {
    for (const KeyOrder order : {KeyOrder::kSequential, KeyOrder::kScattered, KeyOrder::kRandom}) {
      cells.push_back({16 * kMiB, families, 500'000, order});
    }
  }
  return cells;
}

MemoryReport RunMemoryCell(const MemoryCell& cell, const std::string& directory,
                           std::chrono::seconds patience) {
  MemoryReport report;
  RunInProcess(directory, patience, [&] {
    MemoryReport made = MemoryLoad(cell, directory).Run();
    return CellOutcome::Of(NumbersOf(&made), made.longest_call, made.problems);
  }).MoveTo(NumbersOf(&report), &report.longest_call, &report.problems);
  return report;
}

}  // namespace winnow::soak
