#include "tests/engine/rocksdb_oracle/rocksdb_database.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace winnow {
namespace {

// RocksDB's callbacks for what append:, does.
char* Joined(std::string joined, bool has_first, const char* const* operands, const size_t* lengths,
             int count, unsigned char* success, size_t* length) {
  for (int i = 0; i < count; i++) {
    if (has_first || i > 0) joined += ",";
    joined.append(operands[i], lengths[i]);
  }
  *success = 1;
  *length = joined.size();
  char* copy = static_cast<char*>(std::malloc(joined.size() + 1));
  std::memcpy(copy, joined.data(), joined.size());
  return copy;
}
char* FullJoin(void*, const char*, size_t, const char* existing, size_t existing_length,
               const char* const* operands, const size_t* lengths, int count,
               unsigned char* success, size_t* length) {
  const bool has_first = existing != nullptr;
  return Joined(has_first ? std::string(existing, existing_length) : "", has_first, operands,
                lengths, count, success, length);
}
char* PartialJoin(void*, const char*, size_t, const char* const* operands, const size_t* lengths,
                  int count, unsigned char* success, size_t* length) {
  return Joined("", false, operands, lengths, count, success, length);
}
const char* JoinName(void*) { return "join"; }
void DoNothing(void*) {}

std::string EntryAt(const rocksdb_iterator_t* iterator, std::string* value) {
  size_t key_length = 0;
  size_t value_length = 0;
  const char* key = rocksdb_iter_key(iterator, &key_length);
  const char* bytes = rocksdb_iter_value(iterator, &value_length);
  value->assign(bytes, value_length);
  return {key, key_length};
}

}  // namespace

RocksDbDatabase::RocksDbDatabase(const std::string& path, bool counts)
    : path_(path), options_(rocksdb_options_create()) {
  rocksdb_options_set_create_if_missing(options_, 1);
  rocksdb_options_set_write_buffer_size(options_, 64 << 10);
  if (counts) {
    rocksdb_options_set_uint64add_merge_operator(options_);
  } else {
    rocksdb_options_set_merge_operator(
        options_,
        rocksdb_mergeoperator_create(nullptr, DoNothing, FullJoin, PartialJoin, nullptr, JoinName));
  }
  Open();
}

RocksDbDatabase::~RocksDbDatabase() {
  Close();
  rocksdb_options_destroy(options_);
  rocksdb_readoptions_destroy(read_);
  rocksdb_writeoptions_destroy(write_);
}

void RocksDbDatabase::Open() {
  db_ = rocksdb_open(options_, path_.c_str(), &err_);
  Check();
}

void RocksDbDatabase::Close() {
  rocksdb_close(db_);
  db_ = nullptr;
}

void RocksDbDatabase::Write(const std::vector<OracleUpdate>& updates) {
  rocksdb_writebatch_t* const batch = rocksdb_writebatch_create();
  for (const OracleUpdate& update : updates) {
    const std::string& key = update.key;
    if (update.end.has_value()) {
      rocksdb_writebatch_delete_range(batch, key.data(), key.size(), update.end->data(),
                                      update.end->size());
    } else if (!update.value.has_value()) {
      rocksdb_writebatch_delete(batch, key.data(), key.size());
    } else {
      (update.merges ? rocksdb_writebatch_merge : rocksdb_writebatch_put)(
          batch, key.data(), key.size(), update.value->data(), update.value->size());
    }
  }
  rocksdb_write(db_, write_, batch, &err_);
  rocksdb_writebatch_destroy(batch);
  Check();
}

void RocksDbDatabase::Ingest(const std::vector<OracleUpdate>& updates) {
  const std::string table = path_ + "-table";
  rocksdb_envoptions_t* const files = rocksdb_envoptions_create();
  rocksdb_sstfilewriter_t* const writer = rocksdb_sstfilewriter_create(files, options_);
  rocksdb_sstfilewriter_open(writer, table.c_str(), &err_);
  Check();
  for (const OracleUpdate& update : updates) {
    if (!update.value.has_value()) {
      rocksdb_sstfilewriter_delete(writer, update.key.data(), update.key.size(), &err_);
    } else {
      (update.merges ? rocksdb_sstfilewriter_merge : rocksdb_sstfilewriter_put)(
          writer, update.key.data(), update.key.size(), update.value->data(), update.value->size(),
          &err_);
    }
    Check();
  }
  rocksdb_sstfilewriter_finish(writer, &err_);
  Check();
  rocksdb_sstfilewriter_destroy(writer);
  rocksdb_envoptions_destroy(files);
  rocksdb_ingestexternalfileoptions_t* const how = rocksdb_ingestexternalfileoptions_create();
  const char* const tables[] = {table.c_str()};
  rocksdb_ingest_external_file(db_, tables, 1, how, &err_);
  rocksdb_ingestexternalfileoptions_destroy(how);
  Check();
}

void RocksDbDatabase::Flush() {
  rocksdb_flushoptions_t* const options = rocksdb_flushoptions_create();
  rocksdb_flush(db_, options, &err_);
  rocksdb_flushoptions_destroy(options);
  Check();
}

std::string RocksDbDatabase::Get(const std::string& key, const rocksdb_snapshot_t* snapshot) {
  rocksdb_readoptions_set_snapshot(read_, snapshot);
  size_t length = 0;
  char* value = rocksdb_get(db_, read_, key.data(), key.size(), &length, &err_);
  Check();
  if (value == nullptr) return "(absent)";
  std::string copy(value, length);
  rocksdb_free(value);
  return copy;
}

rocksdb_iterator_t* RocksDbDatabase::NewIterator(const rocksdb_snapshot_t* snapshot) {
  rocksdb_readoptions_set_snapshot(read_, snapshot);
  return rocksdb_create_iterator(db_, read_);
}

std::string RocksDbDatabase::Shown(const rocksdb_iterator_t* iterator) {
  if (rocksdb_iter_valid(iterator) == 0) return "end";
  std::string value;
  const std::string key = EntryAt(iterator, &value);
  return key + " = " + value;
}

RocksDbDatabase::Entries RocksDbDatabase::All(const rocksdb_snapshot_t* snapshot) {
  rocksdb_iterator_t* const iterator = NewIterator(snapshot);
  Entries entries;
  for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator) != 0;
       rocksdb_iter_next(iterator)) {
    std::string value;
    std::string key = EntryAt(iterator, &value);
    entries.emplace_back(std::move(key), std::move(value));
  }
  rocksdb_iter_destroy(iterator);
  return entries;
}

void RocksDbDatabase::Check() { ASSERT_EQ(err_, nullptr) << err_; }

}  // namespace winnow
