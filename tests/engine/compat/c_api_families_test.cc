// Column families in the C API, and what belongs to another database.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/engine/compat/c_api_fixture.h"
#include "winnow/c.h"

namespace winnow {
namespace {

using CApiFamilies = CApiTest;

// A copy of malloc'ed text.
std::string TakeText(char* text) {
  const std::string copy = text == nullptr ? "(null)" : text;
  winnow_free(text);
  return copy;
}

TEST_F(CApiFamilies, OptionsChangeWhileTheDatabaseIsOpen) {
  winnow_columnfamily_t* family = winnow_create_column_family(db_, options_, "people", &err_);
  const char* names[] = {"block_bytes", "max_log_bytes"};
  const char* values[] = {"8K", "2M"};
  winnow_set_options(db_, 2, names, values, &err_);
  winnow_set_options_cf(db_, family, 1, names, std::vector<const char*>{"1K"}.data(), &err_);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(TakeText(winnow_get_option(db_, "block_bytes", &err_)), "8K");
  EXPECT_EQ(TakeText(winnow_get_option_cf(db_, family, "block_bytes", &err_)), "1K");
  EXPECT_EQ(TakeText(winnow_get_option_cf(db_, family, "max_log_bytes", &err_)), "2M");
  EXPECT_EQ(TakeError(), "");
  const char* bad[] = {"16K", "much"};
  winnow_set_options(db_, 2, names, bad, &err_);
  EXPECT_NE(TakeError().find("max_log_bytes"), std::string::npos);
  EXPECT_EQ(TakeText(winnow_get_option(db_, "block_bytes", &err_)), "8K") << "all or none";
  EXPECT_EQ(winnow_get_option(db_, "block_byte", &err_), nullptr);
  EXPECT_NE(TakeError().find("'block_bytes'"), std::string::npos);
  winnow_columnfamily_destroy(family);
  winnow_close(db_);
  // Who opens it next may ask for them.
  EXPECT_EQ(TakeText(winnow_options_get(options_, "block_bytes", &err_)), "4K");
  winnow_options_load(options_, "/nowhere", &err_);
  EXPECT_NE(TakeError(), "");
  winnow_options_load(options_, "/db", &err_);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(TakeText(winnow_options_get(options_, "block_bytes", &err_)), "8K");
  EXPECT_EQ(winnow_options_get(options_, "block_byte", &err_), nullptr);
  EXPECT_NE(TakeError(), "");
  Open();
  family = winnow_find_column_family(db_, "people", &err_);
  EXPECT_EQ(TakeText(winnow_get_option_cf(db_, family, "block_bytes", &err_)), "1K");
  EXPECT_EQ(TakeText(winnow_get_option(db_, "max_log_bytes", &err_)), "2M");
  winnow_columnfamily_destroy(family);
}

TEST_F(CApiFamilies, RangesAreDeletedAloneAndInBatches) {
  winnow_columnfamily_t* family = winnow_create_column_family(db_, options_, "people", &err_);
  ASSERT_NE(family, nullptr) << err_;
  // The keys that are left of "a" to "f", in the default family and in the other.
  const auto refill = [&] {
    for (const char* key : {"a", "b", "c", "d", "e", "f"}) {
      Put(key, "v");
      winnow_put_cf(db_, write_, family, key, 1, "v", 1, &err_);
    }
  };
  const auto left = [&] {
    std::string keys;
    for (winnow_iterator_t* iterator :
         {winnow_create_iterator(db_, read_), winnow_create_iterator_cf(db_, read_, family)}) {
      for (winnow_iter_seek_to_first(iterator); winnow_iter_valid(iterator) != 0;
           winnow_iter_next(iterator)) {
        size_t length = 0;
        const char* const key = winnow_iter_key(iterator, &length);
        keys.append(key, length);
      }
      keys += keys.find(' ') == std::string::npos ? " " : "";
      winnow_iter_destroy(iterator);
    }
    EXPECT_EQ(TakeError(), "");
    return keys;
  };
  refill();
  winnow_delete_range(db_, write_, "b", 1, "dx", 1, &err_);
  EXPECT_EQ(left(), "adef abcdef") << "to before the first byte of what is one byte long";
  winnow_delete_range_cf(db_, write_, family, "d", 1, "dd", 2, &err_);
  EXPECT_EQ(left(), "adef abcef");
  winnow_delete_range(db_, write_, "a", 1, "a", 1, &err_);
  EXPECT_EQ(left(), "adef abcef") << "equal ends";
  winnow_delete_range(db_, write_, "b", 1, "a", 1, &err_);
  EXPECT_EQ(TakeError().rfind("Invalid argument: ", 0), 0U);

  refill();
  winnow_writebatch_t* batch = winnow_writebatch_create();
  winnow_writebatch_delete_range(batch, "a", 1, "c", 1);
  winnow_writebatch_delete_range_cf(batch, family, "c", 1, "z", 1);
  winnow_writebatch_put(batch, "b", 1, "behind it", 9);
  EXPECT_EQ(winnow_writebatch_count(batch), 3U);
  std::vector<std::string> seen;
  winnow_writebatch_iterate_updates(batch, &seen,
                                    [](void* state, int kind, uint32_t id, const char* k,
                                       size_t klen, const char* v, size_t vlen) {
                                      static_cast<std::vector<std::string>*>(state)->push_back(
                                          std::to_string(kind) +
                                          (id == 0 ? " default " : " people ") +
                                          std::string(k, klen) + " " + std::string(v, vlen));
                                    });
  EXPECT_EQ(seen,
            (std::vector<std::string>{"3 default a c", "3 people c z", "1 default b behind it"}));
  winnow_write(db_, write_, batch, &err_);
  EXPECT_EQ(left(), "bcdef ab");
  EXPECT_EQ(Get("b"), "behind it");
  winnow_writebatch_delete_range(batch, "z", 1, "a", 1);
  Put("a", "v");
  winnow_write(db_, write_, batch, &err_);
  EXPECT_EQ(TakeError().rfind("Invalid argument: ", 0), 0U);
  EXPECT_EQ(left(), "abcdef ab") << "all of the batch or nothing";
  winnow_writebatch_destroy(batch);
  winnow_columnfamily_destroy(family);
  Reopen();
  EXPECT_EQ(Get("b"), "behind it");
  EXPECT_EQ(Get("e"), "v");
}

TEST_F(CApiFamilies, ColumnFamiliesKeepTheirOwnKeys) {
  winnow_columnfamily_t* family = winnow_create_column_family(db_, options_, "people", &err_);
  ASSERT_NE(family, nullptr) << err_;
  EXPECT_EQ(winnow_create_column_family(db_, options_, "people", &err_), nullptr);
  EXPECT_NE(TakeError(), "");
  Put("k", "default's");
  winnow_put_cf(db_, write_, family, "k", 1, "people's", 8, &err_);
  winnow_writebatch_t* batch = winnow_writebatch_create();
  winnow_writebatch_put_cf(batch, family, "j", 1, "x", 1);
  winnow_writebatch_put(batch, "i", 1, "y", 1);
  winnow_writebatch_delete_cf(batch, family, "nothing", 7);
  EXPECT_EQ(winnow_writebatch_count(batch), 3U);
  std::vector<std::string> seen;
  winnow_writebatch_iterate_cf(
      batch, &seen,
      [](void* state, uint32_t id, const char* k, size_t klen, const char*, size_t) {
        static_cast<std::vector<std::string>*>(state)->push_back(
            "put " + std::to_string(id == 0 ? 0 : 1) + std::string(k, klen));
      },
      [](void* state, uint32_t id, const char* k, size_t klen) {
        static_cast<std::vector<std::string>*>(state)->push_back(
            "delete " + std::to_string(id == 0 ? 0 : 1) + std::string(k, klen));
      });
  EXPECT_EQ(seen, (std::vector<std::string>{"put 1j", "put 0i", "delete 1nothing"}));
  winnow_write(db_, write_, batch, &err_);
  winnow_writebatch_destroy(batch);
  winnow_flush_cf(db_, family, &err_);

  size_t length = 0;
  char* value = winnow_get_cf(db_, read_, family, "k", 1, &length, &err_);
  EXPECT_EQ(std::string(value, length), "people's");
  winnow_free(value);
  EXPECT_EQ(Get("k"), "default's");
  EXPECT_EQ(winnow_exists_cf(db_, read_, family, "i", 1, &err_), 0);
  EXPECT_EQ(winnow_may_exist_cf(db_, read_, family, "j", 1), 1);
  winnow_pinned_t* pinned = winnow_get_pinned_cf(db_, read_, family, "j", 1, &err_);
  EXPECT_EQ(*winnow_pinned_value(pinned, &length), 'x');
  winnow_pinned_destroy(pinned);
  winnow_iterator_t* iterator = winnow_create_iterator_cf(db_, read_, family);
  winnow_iter_seek_for_prev(iterator, "jj", 2);
  ASSERT_EQ(winnow_iter_valid(iterator), 1);
  EXPECT_EQ(std::string(winnow_iter_key(iterator, &length), 1), "j");
  winnow_iter_destroy(iterator);
  winnow_compact_range_cf(db_, family, nullptr, 0, nullptr, 0);
  const char* starts[] = {"a"};
  const char* limits[] = {"z"};
  const size_t one[] = {1};
  uint64_t bytes = 0;
  winnow_approximate_sizes_cf(db_, family, 1, starts, one, limits, one, &bytes);
  EXPECT_GT(bytes, 0U);
  winnow_approximate_sizes(db_, 1, starts, one, limits, one, &bytes);
  EXPECT_EQ(bytes, 0U) << "default is still in its memtable";
  char* explained = winnow_explain_json_cf(db_, family, "j", 1, &err_);
  EXPECT_NE(std::string(explained).find("\"found\":true"), std::string::npos) << explained;
  winnow_free(explained);
  explained = winnow_explain_json(db_, "j", 1, &err_);
  EXPECT_NE(std::string(explained).find("\"found\":false"), std::string::npos) << explained;
  winnow_free(explained);
  winnow_set_filter_cf(db_, family, "none", nullptr, &err_);
  char* filter = winnow_property_value_cf(db_, family, "winnow.filter");
  EXPECT_STREQ(filter, "none");
  winnow_free(filter);
  EXPECT_EQ(std::string(winnow_columnfamily_name(family, &length)), "people");

  size_t num = 0;
  char** names = winnow_list_column_families(options_, "/db", &num, &err_);
  ASSERT_EQ(num, 2U) << TakeError();
  EXPECT_STREQ(names[0], "default");
  EXPECT_STREQ(names[1], "people");
  winnow_list_column_families_destroy(names, num);
  winnow_delete_cf(db_, write_, family, "j", 1, &err_);
  winnow_drop_column_family(db_, family, &err_);
  EXPECT_EQ(TakeError(), "");
  winnow_put_cf(db_, write_, family, "k", 1, "v", 1, &err_);
  EXPECT_NE(TakeError(), "");
  winnow_columnfamily_destroy(family);
}

TEST_F(CApiFamilies, WhatBelongsToAnotherDatabaseIsRefused) {
  winnow_t* other = winnow_open(options_, "/other", &err_);
  ASSERT_NE(other, nullptr) << err_;
  winnow_columnfamily_t* own = winnow_create_column_family(db_, options_, "own", &err_);
  winnow_columnfamily_t* foreign = winnow_create_column_family(other, options_, "foreign", &err_);
  winnow_writebatch_t* batch = winnow_writebatch_create();
  winnow_writebatch_put(batch, "i", 1, "y", 1);
  winnow_writebatch_put_cf(batch, foreign, "j", 1, "x", 1);
  winnow_write(db_, write_, batch, &err_);
  EXPECT_NE(TakeError().find("another open database"), std::string::npos);
  EXPECT_EQ(Get("i"), "absent");
  EXPECT_EQ(winnow_exists_cf(db_, read_, own, "j", 1, &err_), 0);
  winnow_write(other, write_, batch, &err_);
  EXPECT_EQ(winnow_exists_cf(other, read_, foreign, "j", 1, &err_), 1) << TakeError();
  winnow_writebatch_destroy(batch);

  const winnow_snapshot_t* snapshot = winnow_create_snapshot(other);
  winnow_readoptions_set_snapshot(read_, snapshot);
  size_t length = 0;
  EXPECT_EQ(winnow_get(db_, read_, "i", 1, &length, &err_), nullptr);
  EXPECT_NE(TakeError().find("another database"), std::string::npos);
  winnow_readoptions_set_snapshot(read_, nullptr);
  winnow_release_snapshot(other, snapshot);
  winnow_columnfamily_destroy(own);
  winnow_columnfamily_destroy(foreign);
  winnow_close(other);
}

// Each function that takes a family; what has no errptr answers as it does after an error.
TEST_F(CApiFamilies, NoFunctionTakesAFamilyOfAnotherDatabase) {
  winnow_t* other = winnow_open(options_, "/other", &err_);
  ASSERT_NE(other, nullptr) << err_;
  winnow_columnfamily_t* foreign = winnow_create_column_family(other, options_, "foreign", &err_);
  winnow_put_cf(other, write_, foreign, "k", 1, "v", 1, &err_);
  ASSERT_EQ(TakeError(), "");
  const auto expect_refused = [this](const char* function) {
    EXPECT_NE(TakeError().find("belongs to another database"), std::string::npos) << function;
  };
  winnow_put_cf(db_, write_, foreign, "k", 1, "w", 1, &err_);
  expect_refused("put");
  winnow_delete_cf(db_, write_, foreign, "k", 1, &err_);
  expect_refused("delete");
  size_t length = 7;
  EXPECT_EQ(winnow_get_cf(db_, read_, foreign, "k", 1, &length, &err_), nullptr);
  EXPECT_EQ(length, 0U);
  expect_refused("get");
  EXPECT_EQ(winnow_get_pinned_cf(db_, read_, foreign, "k", 1, &err_), nullptr);
  expect_refused("get_pinned");
  const char* key = "k";
  const size_t key_length = 1;
  char* value;
  winnow_multi_get_cf(db_, read_, foreign, 1, &key, &key_length, &value, &length, &err_);
  EXPECT_EQ(value, nullptr);
  expect_refused("multi_get");
  EXPECT_EQ(winnow_exists_cf(db_, read_, foreign, "k", 1, &err_), 0);
  expect_refused("exists");
  winnow_iterator_t* iterator = winnow_create_iterator_cf(db_, read_, foreign);
  winnow_iter_seek_to_first(iterator);
  EXPECT_EQ(winnow_iter_valid(iterator), 0);
  winnow_iter_get_error(iterator, &err_);
  winnow_iter_destroy(iterator);
  expect_refused("create_iterator");
  winnow_flush_cf(db_, foreign, &err_);
  expect_refused("flush");
  winnow_compact_range_checked_cf(db_, foreign, nullptr, 0, nullptr, 0, &err_);
  expect_refused("compact_range_checked");
  winnow_set_filter_cf(db_, foreign, "none", nullptr, &err_);
  expect_refused("set_filter");
  EXPECT_EQ(winnow_explain_cf(db_, foreign, "k", 1, &err_), nullptr);
  expect_refused("explain");
  EXPECT_EQ(winnow_explain_json_cf(db_, foreign, "k", 1, &err_), nullptr);
  expect_refused("explain_json");
  EXPECT_EQ(winnow_explain_range(db_, foreign, "a", 1, "z", 1, &err_), nullptr);
  expect_refused("explain_range");
  EXPECT_EQ(winnow_explain_range_json(db_, foreign, "a", 1, "z", 1, &err_), nullptr);
  expect_refused("explain_range_json");
  winnow_refilter_cf(db_, foreign, "cuckoo:12", nullptr, 0, nullptr, nullptr, &err_);
  expect_refused("refilter");
  winnow_drop_column_family(db_, foreign, &err_);
  expect_refused("drop_column_family");

  EXPECT_EQ(winnow_may_exist_cf(db_, read_, foreign, "k", 1), 1);
  for (const char* name : {"winnow.filter", "leveldb.stats", "leveldb.num-files-at-level0"}) {
    EXPECT_EQ(winnow_property_value_cf(db_, foreign, name), nullptr) << name;
  }
  uint64_t size = 7;
  winnow_flush_cf(other, foreign, &err_);
  winnow_approximate_sizes_cf(db_, foreign, 1, &key, &key_length, &key, &key_length, &size);
  EXPECT_EQ(size, 0U);
  winnow_compact_range_cf(db_, foreign, nullptr, 0, nullptr, 0);
  Put("writes", "go on");  // a refused call says nothing of the database

  EXPECT_EQ(winnow_exists_cf(other, read_, foreign, "k", 1, &err_), 1) << TakeError();
  winnow_columnfamily_destroy(foreign);
  winnow_close(other);
}

TEST_F(CApiFamilies, NoWriteOptionTableOrTransactionTakesAFamilyOfAnotherDatabase) {
  winnow_t* other = winnow_open(options_, "/other", &err_);
  ASSERT_NE(other, nullptr) << err_;
  winnow_columnfamily_t* foreign = winnow_create_column_family(other, options_, "foreign", &err_);
  const auto expect_refused = [this](const char* function) {
    EXPECT_NE(TakeError().find("belongs to another database"), std::string::npos) << function;
  };
  winnow_delete_range_cf(db_, write_, foreign, "a", 1, "z", 1, &err_);
  expect_refused("delete_range");
  winnow_merge_cf(db_, write_, foreign, "k", 1, "o", 1, &err_);
  expect_refused("merge");
  winnow_writebatch_t* batch = winnow_writebatch_create();
  const auto expect_batch_refused = [&](const char* function) {
    winnow_write(db_, write_, batch, &err_);
    EXPECT_NE(TakeError().find("another open database"), std::string::npos) << function;
    winnow_writebatch_clear(batch);
  };
  winnow_writebatch_delete_cf(batch, foreign, "k", 1);
  expect_batch_refused("writebatch_delete");
  winnow_writebatch_merge_cf(batch, foreign, "k", 1, "o", 1);
  expect_batch_refused("writebatch_merge");
  winnow_writebatch_delete_range_cf(batch, foreign, "a", 1, "z", 1);
  expect_batch_refused("writebatch_delete_range");
  winnow_writebatch_destroy(batch);
  const char* name = "block_bytes";
  const char* value = "8K";
  winnow_set_options_cf(db_, foreign, 1, &name, &value, &err_);
  expect_refused("set_options");
  EXPECT_EQ(winnow_get_option_cf(db_, foreign, name, &err_), nullptr);
  expect_refused("get_option");
  EXPECT_EQ(winnow_sstwriter_create_cf(db_, foreign, "/new.sst", &err_), nullptr);
  expect_refused("sstwriter_create");
  winnow_sstwriter_t* writer = winnow_sstwriter_create_cf(other, foreign, "/new.sst", &err_);
  winnow_sstwriter_put(writer, "k", 1, "v", 1, &err_);
  winnow_sstwriter_finish(writer, &err_);
  winnow_sstwriter_destroy(writer);
  EXPECT_EQ(TakeError(), "");
  const char* path = "/new.sst";
  winnow_ingestoptions_t* ingest = winnow_ingestoptions_create();
  winnow_ingest_cf(db_, ingest, &foreign, &path, 1, &err_);
  expect_refused("ingest");
  winnow_ingestoptions_destroy(ingest);

  winnow_transaction_t* transaction = winnow_begin_transaction(db_, nullptr, &err_);
  ASSERT_NE(transaction, nullptr) << err_;
  winnow_transaction_put(transaction, foreign, "k", 1, "v", 1, &err_);
  expect_refused("transaction_put");
  winnow_transaction_delete(transaction, foreign, "k", 1, &err_);
  expect_refused("transaction_delete");
  winnow_transaction_merge(transaction, foreign, "k", 1, "o", 1, &err_);
  expect_refused("transaction_merge");
  size_t length = 7;
  EXPECT_EQ(winnow_transaction_get(transaction, read_, foreign, "k", 1, &length, &err_), nullptr);
  expect_refused("transaction_get");
  EXPECT_EQ(winnow_transaction_get_for_update(transaction, read_, foreign, "k", 1, &length, &err_),
            nullptr);
  expect_refused("transaction_get_for_update");
  winnow_iterator_t* iterator = winnow_transaction_create_iterator(transaction, read_, foreign);
  winnow_iter_get_error(iterator, &err_);
  winnow_iter_destroy(iterator);
  expect_refused("transaction_create_iterator");
  winnow_transaction_commit(transaction, write_, &err_);
  EXPECT_EQ(TakeError(), "") << "nothing was written";
  winnow_transaction_destroy(transaction);

  EXPECT_EQ(winnow_exists_cf(other, read_, foreign, "k", 1, &err_), 0) << TakeError();
  winnow_columnfamily_destroy(foreign);
  winnow_close(other);
}

// The list of them was twice as long after each call.
TEST_F(CApiFamilies, OptionsShareTheirCallbacksOnceForEachCall) {
  winnow_close(db_);
  db_ = nullptr;
  for (int i = 0; i < 8; i++) winnow_options_load(options_, "/db", &err_);
  EXPECT_EQ(TakeError(), "");
  EXPECT_LE(options_->families_kept.size(), 8u);
  // A handle whose families are to be like itself.
  for (int i = 0; i < 8; i++) winnow_options_set_column_family(options_, "like it", options_);
  EXPECT_LE(options_->families_kept.size(), 16u);
  EXPECT_EQ(options_->options.column_families.at("like it").comparator, BytewiseComparator());
}

}  // namespace
}  // namespace winnow
