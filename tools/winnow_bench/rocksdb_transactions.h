// RocksDB's transactions, for which a database is opened in a way of its own.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_ROCKSDB_TRANSACTIONS_H_
#define WINNOW_TOOLS_WINNOW_BENCH_ROCKSDB_TRANSACTIONS_H_

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/transaction.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace winnow::bench {

// Begins a transaction that reads the database as it is now; in `reused`, if that is not null.
using RocksDbBegin = std::function<rocksdb::Transaction*(const rocksdb::WriteOptions& options,
                                                         rocksdb::Transaction* reused)>;

// Opens a database for one kind of transactions, "optimistic" or "pessimistic"; for "", as any
// other, and `begin` stays empty.
rocksdb::Status OpenForTransactions(std::string_view kind, const rocksdb::Options& options,
                                    const std::string& directory, std::unique_ptr<rocksdb::DB>* db,
                                    RocksDbBegin* begin);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_ROCKSDB_TRANSACTIONS_H_
