// The packaged RocksDB behind the calls that the oracle makes. An error fails the test.
#ifndef WINNOW_TESTS_ENGINE_ROCKSDB_ORACLE_ROCKSDB_DATABASE_H_
#define WINNOW_TESTS_ENGINE_ROCKSDB_ORACLE_ROCKSDB_DATABASE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/c.h"

namespace winnow {

// An update of a batch or of a table; of a table it has no `end`.
struct OracleUpdate {
  std::string key;
  std::optional<std::string> value;
  bool merges = false;
  std::optional<std::string> end = {};  // a deletion of the keys from `key` to before this one
};

class RocksDbDatabase {
 public:
  // `counts`: the merge operator is that of uint64_add, else that of "append:,".
  RocksDbDatabase(const std::string& path, bool counts);
  ~RocksDbDatabase();
  RocksDbDatabase(const RocksDbDatabase&) = delete;
  RocksDbDatabase& operator=(const RocksDbDatabase&) = delete;

  void Open();
  void Close();
  void Write(const std::vector<OracleUpdate>& updates);
  // Of ascending, distinct keys.
  void Ingest(const std::vector<OracleUpdate>& updates);
  void Flush();
  void Compact() { rocksdb_compact_range(db_, nullptr, 0, nullptr, 0); }
  const rocksdb_snapshot_t* Snapshot() { return rocksdb_create_snapshot(db_); }
  void Release(const rocksdb_snapshot_t* snapshot) { rocksdb_release_snapshot(db_, snapshot); }

  std::string Get(const std::string& key, const rocksdb_snapshot_t* snapshot);
  rocksdb_iterator_t* NewIterator(const rocksdb_snapshot_t* snapshot);
  // "key = value" where it stands, or "end".
  static std::string Shown(const rocksdb_iterator_t* iterator);
  using Entries = std::vector<std::pair<std::string, std::string>>;
  Entries All(const rocksdb_snapshot_t* snapshot);

 private:
  void Check();

  const std::string path_;
  rocksdb_options_t* options_;
  rocksdb_readoptions_t* read_ = rocksdb_readoptions_create();
  rocksdb_writeoptions_t* write_ = rocksdb_writeoptions_create();
  rocksdb_t* db_ = nullptr;
  char* err_ = nullptr;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_ROCKSDB_ORACLE_ROCKSDB_DATABASE_H_
