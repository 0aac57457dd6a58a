// As somebody wrote it for LevelDB.
#include <iostream>
#include <memory>
#include <string>

#include "leveldb/db.h"
#include "leveldb/filter_policy.h"
#include "leveldb/write_batch.h"

int main(int, char** arguments) {
  leveldb::Options options;
  options.create_if_missing = true;
  std::unique_ptr<const leveldb::FilterPolicy> filter(leveldb::NewBloomFilterPolicy(10));
  options.filter_policy = filter.get();
  leveldb::DB* opened = nullptr;
  leveldb::Status status = leveldb::DB::Open(options, arguments[1], &opened);
  std::unique_ptr<leveldb::DB> db(opened);
  std::string value;
  if (status.ok()) {
    leveldb::WriteBatch batch;
    batch.Put("key", "stored value");
    status = db->Write(leveldb::WriteOptions(), &batch);
  }
  if (status.ok()) status = db->Get(leveldb::ReadOptions(), "key", &value);
  std::cout << (status.ok() ? value : status.ToString()) << "\n";
}
