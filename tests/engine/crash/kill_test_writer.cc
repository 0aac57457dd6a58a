// The program that kill_test runs and kills: writes to a database from several threads and tells
// each acknowledged write on its standard output, for as long as it lives.
//
//   kill_test_writer DIRECTORY [budget]
//
// Thread t writes batches number n = 1, 2, ...: "last-t" = n in the families default and second, a
// row of its own in each, n as an operand of "sum-t" in default, and now and then the removal of
// the rows that are kKeptRows older. The batches of the last thread are transactions; the others
// remove rows by range deletions. Some of either are ingested, as a table for each family.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/engine/crash/kill_test_rows.h"
#include "winnow/ingest.h"
#include "winnow/transaction.h"

namespace winnow {
namespace {

class WriterThread {
 public:
  WriterThread(DB* db, ColumnFamily* second, std::string tables, int thread)
      : db_(*db),
        families_{db->DefaultColumnFamily(), second},
        tables_(std::move(tables)),
        thread_(thread) {}

  [[noreturn]] void WriteForever() {
    uint64_t number = 0;
    std::string last;
    if (db_.Get(ReadOptions(), LastRowKey(thread_), &last).ok()) {
      number = std::strtoull(last.c_str(), nullptr, 10);
    }
    for (;;) {
      if (absl::Status status = WriteOne(++number); !status.ok()) {
        std::fprintf(stderr, "%s\n", status.ToString().c_str());
        std::_Exit(1);
      }
      const Acknowledgement acknowledgement = {static_cast<uint32_t>(thread_), number};
      if (write(STDOUT_FILENO, &acknowledgement, sizeof(acknowledgement)) !=
          sizeof(acknowledgement)) {
        std::_Exit(2);
      }
    }
  }

 private:
  absl::Status WriteOne(uint64_t number) {
    WriteOptions options;
    options.sync = IsSynced(number);
    if (IsIngested(number)) return Ingest(number);
    if (thread_ + 1 == kWriterThreads) return Commit(options, number);
    const uint64_t first = FirstRow(number - 1);
    const uint64_t end = FirstRow(number);
    WriteBatch batch;
    batch.Merge(families_[0], SumKey(thread_), EncodedNumber(number));
    for (ColumnFamily* family : families_) {
      batch.Put(family, LastRowKey(thread_), std::to_string(number));
      batch.Put(family, RowKey(thread_, number), RowValue(thread_, number));
      if (first < end) batch.DeleteRange(family, RowKey(thread_, first), RowKey(thread_, end));
    }
    return db_.Write(options, batch);
  }

  absl::Status Commit(const WriteOptions& options, uint64_t number) {
    TransactionOptions how;
    how.mode = number % 2 == 0 ? TransactionOptions::Mode::kOptimistic
                               : TransactionOptions::Mode::kPessimistic;
    auto begun = db_.BeginTransaction(how);
    if (!begun.ok()) return begun.status();
    Transaction& transaction = **begun;
    absl::Status status = transaction.Merge(families_[0], SumKey(thread_), EncodedNumber(number));
    for (ColumnFamily* family : families_) {
      status.Update(transaction.Put(family, LastRowKey(thread_), std::to_string(number)));
      status.Update(transaction.Put(family, RowKey(thread_, number), RowValue(thread_, number)));
      for (uint64_t row = FirstRow(number - 1); row < FirstRow(number); row++) {
        status.Update(transaction.Delete(family, RowKey(thread_, row)));
      }
    }
    return status.ok() ? transaction.Commit(options) : status;
  }

  absl::Status Ingest(uint64_t number) {
    std::map<std::string, std::optional<std::string>> rows;  // none: removed
    rows[LastRowKey(thread_)] = std::to_string(number);
    rows[RowKey(thread_, number)] = RowValue(thread_, number);
    for (uint64_t row = FirstRow(number - 1); row < FirstRow(number); row++) {
      rows[RowKey(thread_, row)] = std::nullopt;
    }
    std::vector<IngestFile> files;
    for (ColumnFamily* family : families_) {
      files.push_back({absl::StrCat(tables_, "-", thread_, "-", family->id()), family});
      std::filesystem::remove(files.back().path);  // of a copy, or of who was killed here
      auto writer = db_.NewSstWriter(family, files.back().path);
      if (!writer.ok()) return writer.status();
      absl::Status status;
      for (const auto& [key, value] : rows) {
        status.Update(value.has_value() ? (*writer)->Put(key, *value) : (*writer)->Delete(key));
      }
      // Behind all rows.
      if (family == families_[0]) {
        status.Update((*writer)->Merge(SumKey(thread_), EncodedNumber(number)));
      }
      status.Update((*writer)->Finish().status());
      if (!status.ok()) return status;
    }
    IngestOptions options;
    options.move = number % 1024 == 0;
    return db_.Ingest(files, options).status();
  }

  DB& db_;
  ColumnFamily* const families_[2];
  const std::string tables_;  // what the paths of tables begin with
  const int thread_;
};

int Run(const std::string& directory, bool under_budget) {
  auto db = DB::Open(under_budget ? KillTestOptionsUnderBudget() : KillTestOptions(), directory);
  if (!db.ok()) {
    std::fprintf(stderr, "%s\n", db.status().ToString().c_str());
    return 1;
  }
  auto second = (*db)->FindColumnFamily("second");
  if (!second.ok()) second = (*db)->CreateColumnFamily(SecondFamilyOptions(), "second");
  if (!second.ok()) return 1;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kWriterThreads; thread++) {
    threads.emplace_back([&db, &second, &directory, thread] {
      WriterThread(db->get(), *second, directory + "-table", thread).WriteForever();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  const bool under_budget = argc == 3 && std::string_view(argv[2]) == "budget";
  return argc == 2 || under_budget ? winnow::Run(argv[1], under_budget) : 2;
}
