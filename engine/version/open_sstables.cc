#include "engine/version/open_sstables.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "engine/base/start_thread.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// As many as RocksDB takes: they wait for the disk more than they compute.
constexpr size_t kMaxThreads = 16;
// Each thread has an arena of the C library's, which keeps a part of what it has lent out.
constexpr size_t kMaxThreadsInLittleMemory = 3;
// Fewer tables than this are opened before a thread for them is running.
constexpr size_t kTablesPerThread = 32;

}  // namespace

absl::Status OpenSstables(const std::shared_ptr<const SstableStore>& store,
                          std::span<SstableToOpen> tables) {
  std::atomic<size_t> next{0};
  // Each table is taken by one thread; joining the threads is what shows them to the caller.
  const auto open_some = [&] {
    return CatchOutOfMemory([&] {
      // Relaxed: the counter only hands out numbers.
      for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tables.size();) {
        SstableToOpen& table = tables[i];
        table.file =
            SstableFile::Open(store, std::move(table.metadata),
                              InternalKeyComparator(table.comparator), table.filter_policy);
        // Not a property of the table, which would stay unreadable for as long as the database is
        // open though nothing is wrong with it.
        if (absl::IsResourceExhausted(table.file->open_status())) return table.file->open_status();
      }
      return absl::OkStatus();
    });
  };
  const size_t most = store->charge_readers ? kMaxThreadsInLittleMemory : kMaxThreads;
  const size_t wanted = std::min(tables.size() / kTablesPerThread, most - 1);
  std::vector<std::thread> threads(wanted);
  std::vector<absl::Status> statuses(wanted);
  for (size_t i = 0; i < wanted; i++) {
    const auto run = [&open_some, status = &statuses[i]] { *status = open_some(); };
    if (!StartThread(&threads[i], run).ok()) break;  // with fewer it takes longer
  }
  absl::Status status = open_some();
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  for (const absl::Status& other : statuses) status.Update(other);
  return status;
}

}  // namespace winnow
