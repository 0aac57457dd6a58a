#include "bench/engine/memory_database.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace winnow::bench {
namespace {

constexpr size_t kValueBytes = 100;

}  // namespace

void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << "the database failed: " << status << "\n";
  std::exit(1);
}

MemoryDatabase::MemoryDatabase(Options options)
    : value_(kValueBytes, 'v'), file_system_(NewMemoryFileSystem()) {
  options.file_system = file_system_.get();
  options.disable_auto_compactions = true;
  absl::StatusOr<std::unique_ptr<DB>> opened = DB::Open(options, "/database");
  Must(opened.status());
  db_ = *std::move(opened);
}

MemoryDatabase::~MemoryDatabase() { Must(db_->Close()); }

void MemoryDatabase::Load(uint64_t count) {
  std::vector<uint64_t> order(count);
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  for (uint64_t index : order) Put(2 * index);
}

void MemoryDatabase::Settle() {
  Must(db_->CompactRange(std::nullopt, std::nullopt));
  const std::unique_ptr<Iterator> iterator = db_->NewIterator(ReadOptions());
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
  }
  Must(iterator->status());
}

}  // namespace winnow::bench
