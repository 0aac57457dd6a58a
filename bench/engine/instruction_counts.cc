// The instructions of the engine's calls, for callgrind to count: the machine may be as busy as it
// likes. `tools/dev perf instructions` runs this under callgrind and compares what each function
// named measured_* took, with all that it called, with instruction_counts.json.
//
// Prints what the counts depend on besides the engine's source, and the operations of each
// function.

#include <gnu/libc-version.h>

#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "bench/engine/memory_database.h"

namespace {

using winnow::bench::Key;
using winnow::bench::MemoryDatabase;
using winnow::bench::Must;

constexpr uint64_t kNumKeys = 10'000;
constexpr uint64_t kOperations = 2'048;
constexpr uint64_t kBatch = 32;

// False positives, which the random seed of each database decides, are too few to matter.
constexpr const char* kFilter = "blocked_bloom:20";

winnow::Options DatabaseOptions() {
  winnow::Options options;
  options.compression = winnow::Compression::kNone;
  options.filter = kFilter;
  options.target_file_bytes = size_t{256} << 10;  // several files in the level
  return options;
}

std::vector<Key> Queries(uint64_t odd) {
  std::vector<Key> keys;
  for (uint64_t i = 0; i < kOperations; ++i) {
    keys.emplace_back(2 * winnow::bench::Reduce(winnow::bench::Scramble(i), kNumKeys) + odd);
  }
  return keys;
}

void Get(winnow::DB& db, const std::vector<Key>& keys, bool expected) {
  const winnow::ReadOptions options;
  winnow::PinnedValue value;
  for (const Key& key : keys) {
    if (db.Get(options, key.view(), &value).ok() != expected) Must(absl::InternalError("Get"));
  }
}

void MultiGet(winnow::DB& db, const std::vector<Key>& keys, bool expected) {
  const winnow::ReadOptions options;
  std::vector<std::string_view> views;
  std::vector<winnow::PinnedValue> values(kBatch);
  std::vector<absl::Status> statuses(kBatch);
  for (const Key& key : keys) {
    views.push_back(key.view());
    if (views.size() < kBatch) continue;
    db.MultiGet(options, views, values, statuses);
    if (statuses.front().ok() != expected) Must(absl::InternalError("MultiGet"));
    views.clear();
  }
}

}  // namespace

// Under names that callgrind sees, each called once, and not one for those that do the same.
extern "C" {

#ifdef __clang__  // knows no such attribute, and folds nothing unless its linker is told to
#define WINNOW_MEASURED [[gnu::noinline]]
#else
#define WINNOW_MEASURED [[gnu::noinline, gnu::no_icf]]
#endif

WINNOW_MEASURED void measured_put(MemoryDatabase& database) {
  for (uint64_t i = 0; i < kOperations; ++i) {
    database.Put(2 * winnow::bench::Reduce(winnow::bench::Scramble(i), kNumKeys));
  }
}
WINNOW_MEASURED void measured_get_memtable(winnow::DB& db, const std::vector<Key>& keys) {
  Get(db, keys, true);
}
WINNOW_MEASURED void measured_get_present(winnow::DB& db, const std::vector<Key>& keys) {
  Get(db, keys, true);
}
WINNOW_MEASURED void measured_get_absent(winnow::DB& db, const std::vector<Key>& keys) {
  Get(db, keys, false);
}
WINNOW_MEASURED void measured_multiget_present(winnow::DB& db, const std::vector<Key>& keys) {
  MultiGet(db, keys, true);
}
WINNOW_MEASURED void measured_multiget_absent(winnow::DB& db, const std::vector<Key>& keys) {
  MultiGet(db, keys, false);
}
WINNOW_MEASURED void measured_seek(winnow::Iterator& iterator, const std::vector<Key>& keys) {
  for (const Key& key : keys) iterator.Seek(key.view());
}
WINNOW_MEASURED void measured_next(winnow::Iterator& iterator) {
  iterator.SeekToFirst();
  for (uint64_t i = 0; i < kOperations; ++i) iterator.Next();
}

#undef WINNOW_MEASURED

}  // extern "C"

namespace {

void Run() {
  const std::vector<Key> present = Queries(0);
  const std::vector<Key> absent = Queries(1);
  {
    MemoryDatabase written(DatabaseOptions());
    measured_put(written);
    measured_get_memtable(written.db(), present);
  }
  MemoryDatabase database(DatabaseOptions());
  database.Load(kNumKeys);
  database.Settle();
  Get(database.db(), present, true);  // what the first look-ups set up is there now
  measured_get_present(database.db(), present);
  measured_get_absent(database.db(), absent);
  measured_multiget_present(database.db(), present);
  measured_multiget_absent(database.db(), absent);
  const std::unique_ptr<winnow::Iterator> iterator =
      database.db().NewIterator(winnow::ReadOptions());
  measured_seek(*iterator, present);
  measured_next(*iterator);
  Must(iterator->status());
}

}  // namespace

int main() {
  Run();
#ifdef __clang__
  constexpr const char* kCompiler = __VERSION__;
#else
  constexpr const char* kCompiler = "g++ " __VERSION__;
#endif
  // As callgrind shows the processor, which hides what it cannot run.
  std::printf("{\"compiler\": \"%s\", \"libc\": \"%s\", \"avx2\": %s, \"operations\": %llu}\n",
              kCompiler, gnu_get_libc_version(), __builtin_cpu_supports("avx2") ? "true" : "false",
              static_cast<unsigned long long>(kOperations));
  return 0;
}
