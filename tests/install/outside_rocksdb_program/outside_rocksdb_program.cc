#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>

#include <cstdio>
#include <memory>

#include "winnow/filter/rocksdb.h"

// RocksDB 11 gives the database back in a unique_ptr, those before in a pointer.
template <typename Database>
rocksdb::Status Open(const rocksdb::Options& options, const char* path,
                     std::unique_ptr<Database>* db) {
  if constexpr (requires { Database::Open(options, path, db); }) {
    return Database::Open(options, path, db);
  } else {
    Database* opened = nullptr;
    const rocksdb::Status status = Database::Open(options, path, &opened);
    db->reset(opened);
    return status;
  }
}

// Fills a database in the folder that is given, by name and by pointer, and asks for absent keys.
int main(int argc, char** argv) {
  if (argc != 2 || !winnow::filter::RegisterFilterPolicies().ok()) return 1;
  const auto policy = winnow::filter::NewFilterPolicy("cuckoo:1%");
  if (!policy.ok()) return 1;
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = *policy;
  std::shared_ptr<const rocksdb::FilterPolicy> named;
  const rocksdb::Status created = rocksdb::FilterPolicy::CreateFromString(
      rocksdb::ConfigOptions(), "winnow.blocked_bloom:10", &named);
  if (!created.ok() || named->GetId() != "winnow.blocked_bloom:10") return 1;

  rocksdb::Options options;
  options.create_if_missing = true;
  options.statistics = rocksdb::CreateDBStatistics();
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  std::unique_ptr<rocksdb::DB> db;
  if (!Open(options, argv[1], &db).ok()) return 1;
  std::string value;
  for (int i = 0; i < 1000; ++i) {
    if (!db->Put({}, std::to_string(2 * i), "value").ok()) return 1;
  }
  if (!db->Flush({}).ok()) return 1;
  for (int i = 0; i < 1000; ++i) {
    if (!db->Get({}, std::to_string(2 * i), &value).ok()) return 1;
    if (!db->Get({}, std::to_string(2 * i + 1), &value).IsNotFound()) return 1;
  }
  const uint64_t rejected = options.statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
  std::puts(rejected > 800 ? "filtered" : "not filtered");
}
