// The program that kill_test runs and kills: writes to a database from several threads and tells
// each acknowledged write on its standard output, for as long as it lives.
//
//   kill_test_writer DIRECTORY
//
// Thread t writes batches number n = 1, 2, ...: "last-t" = n in the families default and second, a
// row of its own in each, and the removal of the row that is kKeptRows older.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/engine/crash/kill_test_rows.h"

namespace winnow {
namespace {

void WriteForever(DB* db, ColumnFamily* second, int thread) {
  uint64_t number = 0;
  std::string last;
  if (db->Get(ReadOptions(), LastRowKey(thread), &last).ok()) {
    number = std::strtoull(last.c_str(), nullptr, 10);
  }
  for (;;) {
    number++;
    WriteBatch batch;
    for (ColumnFamily* family : {db->DefaultColumnFamily(), second}) {
      batch.Put(family, LastRowKey(thread), std::to_string(number));
      batch.Put(family, RowKey(thread, number), RowValue(thread, number));
      if (number > kKeptRows) batch.Delete(family, RowKey(thread, number - kKeptRows));
    }
    WriteOptions options;
    options.sync = IsSynced(number);
    if (absl::Status status = db->Write(options, batch); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      std::_Exit(1);
    }
    const Acknowledgement acknowledgement = {static_cast<uint32_t>(thread), number};
    if (write(STDOUT_FILENO, &acknowledgement, sizeof(acknowledgement)) !=
        sizeof(acknowledgement)) {
      std::_Exit(2);
    }
  }
}

int Run(const char* directory) {
  auto db = DB::Open(KillTestOptions(), directory);
  if (!db.ok()) {
    std::fprintf(stderr, "%s\n", db.status().ToString().c_str());
    return 1;
  }
  auto second = (*db)->FindColumnFamily("second");
  if (!second.ok()) second = (*db)->CreateColumnFamily(KillTestOptions(), "second");
  if (!second.ok()) return 1;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kWriterThreads; thread++) {
    threads.emplace_back(WriteForever, db->get(), *second, thread);
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) { return argc == 2 ? winnow::Run(argv[1]) : 2; }
