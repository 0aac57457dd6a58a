#include "tools/winnow_bench/rocksdb_transactions.h"

#include <rocksdb/utilities/optimistic_transaction_db.h>
#include <rocksdb/utilities/transaction_db.h>

#include <utility>

#include "tools/peer/open_peer_database.h"

namespace winnow::bench {
namespace {

using rocksdb::OptimisticTransactionDB;
using rocksdb::OptimisticTransactionOptions;
using rocksdb::TransactionDB;
using rocksdb::TransactionDBOptions;
using rocksdb::TransactionOptions;

// Keeps `opened` as a database, and begins transactions of the kind that `Kind` describes.
template <typename Kind, typename Database>
void Keep(std::unique_ptr<Database> opened, std::unique_ptr<rocksdb::DB>* db, RocksDbBegin* begin) {
  *begin = [database = opened.get()](const rocksdb::WriteOptions& options,
                                     rocksdb::Transaction* reused) {
    Kind kind;
    kind.set_snapshot = true;
    return database->BeginTransaction(options, kind, reused);
  };
  *db = std::move(opened);
}

rocksdb::Status OpenOptimistic(const rocksdb::Options& options, const std::string& directory,
                               std::unique_ptr<rocksdb::DB>* db, RocksDbBegin* begin) {
  std::unique_ptr<OptimisticTransactionDB> opened;
  rocksdb::Status status = OpenPeerDatabase(
      &opened,
      [&](auto* result) -> decltype(OptimisticTransactionDB::Open(options, directory, result)) {
        return OptimisticTransactionDB::Open(options, directory, result);
      });
  if (status.ok()) Keep<OptimisticTransactionOptions>(std::move(opened), db, begin);
  return status;
}

rocksdb::Status OpenPessimistic(const rocksdb::Options& options, const std::string& directory,
                                std::unique_ptr<rocksdb::DB>* db, RocksDbBegin* begin) {
  const TransactionDBOptions kind;
  std::unique_ptr<TransactionDB> opened;
  rocksdb::Status status = OpenPeerDatabase(
      &opened,
      [&](auto* result) -> decltype(TransactionDB::Open(options, kind, directory, result)) {
        return TransactionDB::Open(options, kind, directory, result);
      });
  if (status.ok()) Keep<TransactionOptions>(std::move(opened), db, begin);
  return status;
}

}  // namespace

rocksdb::Status OpenForTransactions(std::string_view kind, const rocksdb::Options& options,
                                    const std::string& directory, std::unique_ptr<rocksdb::DB>* db,
                                    RocksDbBegin* begin) {
  if (kind == "optimistic") return OpenOptimistic(options, directory, db, begin);
  if (kind == "pessimistic") return OpenPessimistic(options, directory, db, begin);
  return OpenPeerDatabase(
      db, [&](auto* opened) -> decltype(rocksdb::DB::Open(options, directory, opened)) {
        return rocksdb::DB::Open(options, directory, opened);
      });
}

}  // namespace winnow::bench
