#include "tools/winnow_bench/workload.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace winnow::bench {
namespace {

// db_bench divides the number of synced writes by this.
constexpr uint64_t kFillSyncDivisor = 1000;
// Entries of a scan between two looks at the clock.
constexpr uint64_t kWalkEntries = 256;

constexpr std::chrono::microseconds kLook{1};
constexpr size_t kKeysOfTransaction = 4;

enum class Order { kSequential, kRandom };

// Where the range of this thread begins, if each writes one of its own.
uint64_t FirstOfRange(const Worker& worker, uint64_t count) {
  const uint64_t threads = static_cast<uint64_t>(worker.place().num_threads);
  const uint64_t thread = static_cast<uint64_t>(worker.place().thread);
  return thread * (count / threads) + std::min(thread, count % threads);
}

// Writes this thread's share of the first `count` keys of the order, each once.
void WriteKeys(Worker& worker, Order order, uint64_t count) {
  const Permutation permutation(worker.config().num_keys(), worker.place().shared_seed);
  const uint64_t share = worker.ShareOf(count);
  const uint64_t batch = static_cast<uint64_t>(worker.config().batch_size);
  // A sequential fill gives each thread a range of its own, so that each still writes in order.
  const uint64_t first = order == Order::kSequential ? FirstOfRange(worker, count) : 0;
  std::string key;
  uint64_t done = 0;
  while (worker.Continues(done, share, Worker::Limit::kHard)) {
    const uint64_t entries = std::min(batch, share - done);
    for (uint64_t i = 0; i < entries; i++, done++) {
      worker.keys().Present(
          order == Order::kSequential ? first + done : permutation.At(worker.PositionOf(done)),
          &key);
      const std::string_view value = worker.values().Next();
      worker.CountWritten(key, value);
      if (batch == 1) {
        worker.session().Put(key, value);
      } else {
        worker.session().AddToBatch(key, value);
      }
    }
    if (batch > 1) worker.session().WriteBatch();
    worker.Finished(entries);
  }
}

void FillSequential(Worker& worker) {
  WriteKeys(worker, Order::kSequential, worker.config().num_keys());
}

void WriteRandom(Worker& worker) { WriteKeys(worker, Order::kRandom, worker.config().num_keys()); }

void FillSync(Worker& worker) {
  WriteKeys(worker, Order::kRandom,
            std::max<uint64_t>(1, worker.config().num_keys() / kFillSyncDivisor));
}

// Each thread writes a range of its own to tables, and brings them in together.
void Ingest(Worker& worker) {
  const uint64_t count = worker.config().num_keys();
  const uint64_t first = FirstOfRange(worker, count);
  const uint64_t share = worker.ShareOf(count);
  std::string key;
  for (uint64_t i = 0; worker.Continues(i, share, Worker::Limit::kHard); i++) {
    worker.keys().Present(first + i, &key);
    const std::string_view value = worker.values().Next();
    worker.CountWritten(key, value);
    worker.session().AddToTable(key, value);
    worker.Finished(1);
  }
  worker.session().IngestTables();
}

void DeleteRandom(Worker& worker) {
  const uint64_t num = worker.config().num_keys();
  const Permutation permutation(num, worker.place().shared_seed);
  const uint64_t share = worker.ShareOf(std::min(num, worker.config().num_deletes()));
  std::string key;
  for (uint64_t i = 0; worker.Continues(i, share, Worker::Limit::kHard); i++) {
    worker.keys().Present(permutation.At(worker.PositionOf(i)), &key);
    worker.CountWritten(key, "");
    worker.session().Delete(key);
    worker.Finished(1);
  }
}

// Of one key each, up to the next one. What is read afterwards is read beside as many range
// tombstones.
void DeleteRanges(Worker& worker) {
  const uint64_t num = std::max<uint64_t>(worker.config().num_keys(), 2) - 1;
  const Permutation permutation(num, worker.place().shared_seed);
  const uint64_t share = worker.ShareOf(std::min(num, worker.config().num_deletes()));
  std::string begin;
  std::string end;
  for (uint64_t i = 0; worker.Continues(i, share, Worker::Limit::kHard); i++) {
    const uint64_t position = permutation.At(worker.PositionOf(i));
    worker.keys().Present(position, &begin);
    worker.keys().Present(position + 1, &end);
    worker.CountWritten(begin, end);
    worker.session().DeleteRange(begin, end);
    worker.Finished(1);
  }
}

// Counts: each merge adds one to a random key, any number of times.
void MergeRandom(Worker& worker) {
  const uint64_t num = worker.config().num_keys();
  const uint64_t share = worker.ShareOf(num);
  const std::string_view one("\1\0\0\0\0\0\0\0", 8);
  std::string key;
  for (uint64_t i = 0; worker.Continues(i, share, Worker::Limit::kUnlessTimed); i++) {
    worker.keys().Present(worker.random().Below(num), &key);
    worker.CountWritten(key, one);
    worker.session().MergeNumber(key, one);
    worker.Finished(1);
  }
}

enum class Wanted { kPresent, kAbsent };

void MakeKey(Worker& worker, Wanted wanted, std::string* key) {
  const uint64_t num = worker.config().num_keys();
  if (wanted == Wanted::kPresent) {
    worker.keys().Present(worker.random().Below(num), key);
  } else {
    // The absent key after the last present one would lie outside the files' key ranges.
    worker.keys().Absent(worker.random().Below(std::max<uint64_t>(num, 2) - 1), key);
  }
}

// Each reads four keys for update, in order, so that none waits in a circle, and writes them. One
// that meets a conflict begins anew; all its tries count as one operation.
void TransactRandom(Worker& worker) {
  const uint64_t transactions = worker.config().num_reads();
  std::array<std::string, kKeysOfTransaction> keys;
  std::array<std::string_view, kKeysOfTransaction> views;
  for (uint64_t i = 0; worker.Continues(i, transactions, Worker::Limit::kUnlessTimed); i++) {
    for (std::string& key : keys) MakeKey(worker, Wanted::kPresent, &key);
    std::sort(keys.begin(), keys.end());
    std::copy(keys.begin(), keys.end(), views.begin());
    const std::string_view value = worker.values().Next();
    uint64_t found = 0;
    while (!worker.session().Transact(views, value, &found)) {
      if (!worker.session().status().ok()) return;
      found = 0;
    }
    for (const std::string& key : keys) worker.CountWritten(key, value);
    worker.CountLookups(keys.size(), found);
    worker.Finished(1);
  }
}

template <Wanted wanted>
void ReadRandom(Worker& worker) {
  const uint64_t reads = worker.config().num_reads();
  std::string key;
  for (uint64_t i = 0; worker.Continues(i, reads, Worker::Limit::kUnlessTimed); i++) {
    MakeKey(worker, wanted, &key);
    const bool found = worker.session().Get(key, worker.bytes());
    if (found) *worker.bytes() += key.size();
    worker.CountLookups(1, found);
    worker.Finished(1);
  }
}

// So few keys that a cache of answers has them all.
void ReadMissingHot(Worker& worker) {
  constexpr uint64_t kOneOf = 100;
  const uint64_t reads = worker.config().num_reads();
  const uint64_t num = std::max<uint64_t>(worker.config().num_keys(), 2) - 1;
  const uint64_t num_hot = std::max<uint64_t>(1, num / kOneOf);
  std::string key;
  for (uint64_t i = 0; worker.Continues(i, reads, Worker::Limit::kUnlessTimed); i++) {
    worker.keys().Absent(worker.random().Below(num_hot) * (num / num_hot), &key);
    worker.CountLookups(1, worker.session().Get(key, worker.bytes()));
    worker.Finished(1);
  }
}

template <Wanted wanted>
void MultiReadRandom(Worker& worker) {
  const uint64_t reads = worker.config().num_reads();
  const uint64_t batch = static_cast<uint64_t>(worker.config().multiread_batch);
  std::vector<std::string> keys(batch);
  std::vector<std::string_view> views(batch);
  for (uint64_t i = 0; worker.Continues(i, reads, Worker::Limit::kUnlessTimed); i += batch) {
    uint64_t key_bytes = 0;
    for (uint64_t k = 0; k < batch; k++) {
      MakeKey(worker, wanted, &keys[k]);
      views[k] = keys[k];
      key_bytes += keys[k].size();
    }
    const uint64_t found = worker.session().MultiGet(views, worker.bytes());
    worker.CountLookups(batch, found);
    *worker.bytes() += found * key_bytes / batch;
    worker.Finished(batch);
  }
}

template <Direction direction>
void ReadInOrder(Worker& worker) {
  const uint64_t reads = worker.config().num_reads();
  const uint64_t entries_per_call = worker.config().histogram ? 1 : kWalkEntries;
  std::unique_ptr<Cursor> cursor = worker.session().NewCursor();
  if (direction == Direction::kForward) {
    cursor->SeekToFirst();
  } else {
    cursor->SeekToLast();
  }
  uint64_t done = 0;
  while (worker.Continues(done, reads, Worker::Limit::kHard)) {
    const uint64_t wanted = std::min(entries_per_call, reads - done);
    const uint64_t entries = cursor->Walk(wanted, direction, worker.bytes());
    done += entries;
    if (entries > 0) worker.Finished(entries);
    if (entries < wanted) break;
  }
  if (absl::Status status = cursor->status(); !status.ok()) worker.Fail(status);
}

void SeekRandom(Worker& worker) {
  const uint64_t reads = worker.config().num_reads();
  const uint64_t nexts = static_cast<uint64_t>(worker.config().seek_nexts);
  std::string key;
  for (uint64_t i = 0; worker.Continues(i, reads, Worker::Limit::kUnlessTimed); i++) {
    MakeKey(worker, Wanted::kPresent, &key);
    std::unique_ptr<Cursor> cursor = worker.session().NewCursor();
    cursor->Seek(key);
    worker.CountLookups(1, cursor->StandsOn(key));
    cursor->Walk(nexts, Direction::kForward, worker.bytes());
    if (absl::Status status = cursor->status(); !status.ok()) worker.Fail(status);
    worker.Finished(1);
  }
}

// All keys that begin with one that is absent: none.
void SeekEmptyRange(Worker& worker) {
  const uint64_t reads = worker.config().num_reads();
  std::string lower;
  std::string upper;
  for (uint64_t i = 0; worker.Continues(i, reads, Worker::Limit::kUnlessTimed); i++) {
    MakeKey(worker, Wanted::kAbsent, &lower);
    upper = lower + '\xff';
    std::unique_ptr<Cursor> cursor = worker.session().NewCursorBetween(lower, upper);
    cursor->Seek(lower);
    worker.CountLookups(1, cursor->StandsOn(lower));
    if (absl::Status status = cursor->status(); !status.ok()) worker.Fail(status);
    worker.Finished(1);
  }
}

// Calls nothing. What the slowest of them took is what the machine made a thread wait (for a
// processor, mostly), and the least that the slowest call of any engine can be expected to take.
void LookAtClock(Worker& worker) {
  const uint64_t looks = worker.config().num_reads();
  for (uint64_t i = 0; worker.Continues(i, looks, Worker::Limit::kUnlessTimed); i++) {
    const Worker::Clock::time_point end = Worker::Clock::now() + kLook;
    while (Worker::Clock::now() < end) {
    }
    worker.Finished(1);
  }
}

void OverwriteUntilStopped(Worker& worker) {
  std::string key;
  while (worker.Continues(0, 1, Worker::Limit::kHard)) {
    MakeKey(worker, Wanted::kPresent, &key);
    const std::string_view value = worker.values().Next();
    worker.CountWritten(key, value);
    worker.session().Put(key, value);
  }
}

void Maintain(Worker& worker, absl::Status (Engine::*call)()) {
  worker.Fail((worker.engine().*call)());
  worker.Finished(1);
}
void Compact(Worker& worker) { Maintain(worker, &Engine::Compact); }
void Flush(Worker& worker) { Maintain(worker, &Engine::Flush); }
void WaitForCompactions(Worker& worker) {
  Maintain(worker, &Engine::WaitForCompactions);
  worker.Deduct(worker.engine().IdleTimeOfWait());
}

void PrintStats(Worker& worker) { std::printf("%s\n", worker.engine().StatsText().c_str()); }
void PrintLevels(Worker& worker) { std::printf("%s\n", worker.engine().LevelsText().c_str()); }

using Kind = WorkloadKind;

constexpr std::array<Workload, 32> kWorkloads = {{
    {"fillseq", Kind::kFill, "write all keys in order", FillSequential},
    {"fillrandom", Kind::kFill, "write each key once, in random order", WriteRandom},
    {"fillsync", Kind::kFill, "write num/1000 random keys, each synced", FillSync, false, true},
    {"ingest", Kind::kFill, "write all keys in order to tables outside, and ingest them", Ingest},
    {"overwrite", Kind::kWrite, "write each key once more, in random order", WriteRandom},
    {"deleterandom", Kind::kWrite, "delete keys in random order, each once", DeleteRandom},
    {"deleterange", Kind::kWrite, "delete ranges of one key, in random order, each once",
     DeleteRanges},
    {"mergerandom", Kind::kFill, "add 1 to random keys, as many times as there are keys",
     MergeRandom},
    {"readrandom", Kind::kRead, "look up random present keys", ReadRandom<Wanted::kPresent>, true},
    {"readmissing", Kind::kRead, "look up random absent keys", ReadRandom<Wanted::kAbsent>, true},
    {"readmissinghot", Kind::kRead, "look up num/100 absent keys, in random order, again and again",
     ReadMissingHot, true},
    {"multireadrandom", Kind::kRead, "present keys, multiread_batch in a call",
     MultiReadRandom<Wanted::kPresent>, true},
    {"multireadmissing", Kind::kRead, "absent keys, multiread_batch in a call",
     MultiReadRandom<Wanted::kAbsent>, true},
    {"readseq", Kind::kRead, "read entries in order from the first",
     ReadInOrder<Direction::kForward>},
    {"readreverse", Kind::kRead, "read entries in reverse order from the last",
     ReadInOrder<Direction::kBackward>},
    {"seekrandom", Kind::kRead, "new iterator, seek to a present key, read seek_nexts entries",
     SeekRandom, true},
    {"seekemptyrange", Kind::kRead,
     "new iterator over the keys that begin with an absent one: none", SeekEmptyRange, true},
    {"readwhilewriting", Kind::kMixed, "readrandom while one more thread overwrites",
     ReadRandom<Wanted::kPresent>, true, false, OverwriteUntilStopped},
    {"txnrandom", Kind::kMixed, "transactions that read 4 random keys for update and write them",
     TransactRandom, true, false, nullptr, true},
    {"ycsba", Kind::kMixed, "YCSB A: 50 % reads, 50 % updates, zipfian", RunYcsbA, true},
    {"ycsbb", Kind::kMixed, "YCSB B: 95 % reads, 5 % updates, zipfian", RunYcsbB, true},
    {"ycsbc", Kind::kMixed, "YCSB C: reads, zipfian", RunYcsbC, true},
    {"ycsbd", Kind::kMixed, "YCSB D: 95 % reads of the latest, 5 % inserts", RunYcsbD, true},
    {"ycsbe", Kind::kMixed, "YCSB E: 95 % scans of 1 to 100 entries, 5 % inserts", RunYcsbE, true},
    {"ycsbf", Kind::kMixed, "YCSB F: 50 % reads, 50 % read-modify-writes", RunYcsbF, true},
    {"replay", Kind::kMixed, "the calls that the trace of --replay holds", Replay, true},
    {"clock", Kind::kMixed, "look at the clock for 1 us: what the machine alone makes threads wait",
     LookAtClock},
    {"compact", Kind::kMaintenance, "compact the whole key range", Compact},
    {"flush", Kind::kMaintenance, "write the memtable to a table file", Flush},
    {"waitforcompaction", Kind::kMaintenance, "wait until background work is done",
     WaitForCompactions},
    {"stats", Kind::kReport, "print the engine's statistics", PrintStats},
    {"levelstats", Kind::kReport, "print the files of each level", PrintLevels},
}};

}  // namespace

std::span<const Workload> Workloads() { return kWorkloads; }

std::vector<std::string_view> WorkloadNames() {
  std::vector<std::string_view> names;
  names.reserve(kWorkloads.size());
  for (const Workload& workload : kWorkloads) names.push_back(workload.name);
  return names;
}

const Workload* FindWorkload(std::string_view name) {
  for (const Workload& workload : kWorkloads) {
    if (workload.name == name) return &workload;
  }
  return nullptr;
}

}  // namespace winnow::bench
