// A database in memory, for programs that measure the engine's own work and no disk's.
#ifndef WINNOW_BENCH_ENGINE_MEMORY_DATABASE_H_
#define WINNOW_BENCH_ENGINE_MEMORY_DATABASE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "bench/filter/key_stream.h"
#include "winnow/db.h"
#include "winnow/memory_file_system.h"

namespace winnow::bench {

// Ends the program with a message unless `status` is OK: a benchmark has nobody to return it to.
void Must(const absl::Status& status);

// Its keys are those of bench/filter/key_stream.h: the even numbers from 0 are there, and the odd
// ones between them are not. Nothing is flushed or compacted but by the calls below, unless a
// memtable is full.
class MemoryDatabase {
 public:
  // Of `options`, file system and automatic compactions are set here.
  explicit MemoryDatabase(Options options);
  ~MemoryDatabase();
  MemoryDatabase(const MemoryDatabase&) = delete;
  MemoryDatabase& operator=(const MemoryDatabase&) = delete;

  DB& db() { return *db_; }
  void Put(uint64_t number) { Must(db_->Put(write_options_, Key(number).view(), value_)); }
  // Keys of the numbers 0, 2, ... 2 * (count - 1), in an order that is no order.
  void Load(uint64_t count);
  // One level of sorted SSTables; every block is read once, and so is in the cache if it has room.
  void Settle();

 private:
  const std::string value_;
  const WriteOptions write_options_;
  const std::unique_ptr<FileSystem> file_system_;
  std::unique_ptr<DB> db_;
};

}  // namespace winnow::bench

#endif  // WINNOW_BENCH_ENGINE_MEMORY_DATABASE_H_
