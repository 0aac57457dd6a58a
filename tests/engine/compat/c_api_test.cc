// The C API: its contract on errors, ownership and bytes, and what it has beyond LevelDB's.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/compat/c_handles.h"
#include "tests/support/scratch_directory.h"
#include "winnow/c.h"

namespace {

// A database in memory, with the handles that most calls need.
class CApiTest : public testing::Test {
 protected:
  CApiTest() {
    winnow_options_set_env(options_, env_);
    winnow_options_set_create_if_missing(options_, 1);
    Open();
  }
  ~CApiTest() override {
    winnow_close(db_);
    winnow_options_destroy(options_);
    winnow_readoptions_destroy(read_);
    winnow_writeoptions_destroy(write_);
    winnow_env_destroy(env_);
    winnow_free(err_);
  }

  void Open() {
    db_ = winnow_open(options_, "/db", &err_);
    ASSERT_EQ(err_, nullptr) << err_;
    ASSERT_NE(db_, nullptr);
  }
  void Reopen() {
    winnow_close(db_);
    Open();
  }
  void Put(const std::string& key, const std::string& value) {
    winnow_put(db_, write_, key.data(), key.size(), value.data(), value.size(), &err_);
    ASSERT_EQ(err_, nullptr) << err_;
  }
  // The value, or "absent".
  std::string Get(const std::string& key) {
    size_t length = 77;
    char* value = winnow_get(db_, read_, key.data(), key.size(), &length, &err_);
    EXPECT_EQ(err_, nullptr) << err_;
    if (value == nullptr) {
      EXPECT_EQ(length, 0U);
      return "absent";
    }
    const std::string copy(value, length);
    winnow_free(value);
    return copy;
  }
  // One byte of each SSTable's first block; the database must be closed.
  void DamageTables() {
    winnow::FileSystem& files = *env_->file_system;
    const std::vector<std::string> names = *files.List("/db");
    for (const std::string& name : names) {
      if (!name.ends_with(".sst")) continue;
      std::string bytes = *winnow::ReadFile(files, "/db/" + name, 1 << 20);
      const size_t in_first_block =
          48 + std::string_view("default").size() + 4;  // behind the header
      bytes[in_first_block] = static_cast<char>(bytes[in_first_block] ^ 1);
      ASSERT_TRUE(winnow::WriteFileAtomically(files, "/db/" + name, bytes).ok());
    }
  }
  // Takes and clears the error's text.
  std::string TakeError() {
    const std::string text = err_ == nullptr ? "" : err_;
    winnow_free(err_);
    err_ = nullptr;
    return text;
  }

  winnow_env_t* env_ = winnow_create_memory_env();
  winnow_options_t* options_ = winnow_options_create();
  winnow_readoptions_t* read_ = winnow_readoptions_create();
  winnow_writeoptions_t* write_ = winnow_writeoptions_create();
  winnow_t* db_ = nullptr;
  char* err_ = nullptr;
};

TEST_F(CApiTest, AnyBytesAreKeysAndValues) {
  Put("", "the empty key");
  Put(std::string("a\0b", 3), std::string("\0\0", 2));
  Put("empty", "");
  winnow_put(db_, write_, nullptr, 0, nullptr, 0, &err_);
  EXPECT_EQ(Get(""), "");
  EXPECT_EQ(Get(std::string("a\0b", 3)), std::string("\0\0", 2));
  EXPECT_EQ(Get("a"), "absent");
  size_t length = 1;
  char* value = winnow_get(db_, read_, "empty", 5, &length, &err_);
  EXPECT_NE(value, nullptr) << "an empty value is not an absent one";
  EXPECT_EQ(length, 0U);
  winnow_free(value);
}

TEST_F(CApiTest, AnErrorReplacesTheOldTextAndSuccessKeepsIt) {
  char* err = strdup("an earlier error");
  winnow_put(db_, write_, "k", 1, "v", 1, &err);
  EXPECT_STREQ(err, "an earlier error");
  const std::string too_long(size_t{2} << 20, 'k');
  winnow_put(db_, write_, too_long.data(), too_long.size(), "v", 1, &err);
  EXPECT_EQ(std::string(err).rfind("Invalid argument: ", 0), 0U) << err;
  winnow_put(db_, write_, too_long.data(), too_long.size(), "v", 1, &err);  // frees the old text
  winnow_free(err);
  winnow_put(db_, write_, too_long.data(), too_long.size(), "v", 1, nullptr);  // nobody asks
}

TEST_F(CApiTest, GivingBackNullDoesNothing) {
  winnow_close(nullptr);
  winnow_close_checked(nullptr, &err_);
  winnow_free(nullptr);
  winnow_release_snapshot(db_, nullptr);
  winnow_options_destroy(nullptr);
  winnow_readoptions_destroy(nullptr);
  winnow_writeoptions_destroy(nullptr);
  winnow_writebatch_destroy(nullptr);
  winnow_iter_destroy(nullptr);
  winnow_pinned_destroy(nullptr);
  winnow_cache_destroy(nullptr);
  winnow_env_destroy(nullptr);
  winnow_comparator_destroy(nullptr);
  winnow_filterpolicy_destroy(nullptr);
  winnow_columnfamily_destroy(nullptr);
  winnow_list_column_families_destroy(nullptr, 0);
  EXPECT_EQ(err_, nullptr);
}

TEST_F(CApiTest, OpeningTellsWhyItFailed) {
  EXPECT_EQ(winnow_open(options_, "/db", &err_), nullptr);
  EXPECT_EQ(TakeError().rfind("IO error: lock ", 0), 0U) << "programs know it by this";
  winnow_options_set_create_if_missing(options_, 0);
  EXPECT_EQ(winnow_open(options_, "/elsewhere", &err_), nullptr);
  EXPECT_EQ(TakeError(),
            "Invalid argument: /elsewhere: does not exist (create_if_missing is false)");
  EXPECT_EQ(winnow_open(options_, "/elsewhere", nullptr), nullptr);
}

// As LevelDB's: a mistyped path is an error. Winnow's own DB::Open makes the directories.
TEST_F(CApiTest, OpeningMakesNoMissingParents) {
  const winnow::ScratchDirectory scratch("c_api_parents");
  const std::string path = scratch.path() + "/missing/db";
  winnow_options_set_env(options_, nullptr);
  EXPECT_EQ(winnow_open(options_, path.c_str(), &err_), nullptr);
  EXPECT_EQ(TakeError(), "IO error: " + path + ": No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/missing"));
  EXPECT_TRUE(winnow::DB::Open(winnow::Options(), path).ok());
  winnow_close(winnow_open(options_, path.c_str(), &err_));
  EXPECT_EQ(TakeError(), "");
}

TEST_F(CApiTest, EveryOptionIsSetByItsName) {
  size_t count = 0;
  bool has_filter = false;
  for (; winnow_option_name(count) != nullptr; count++) {
    has_filter = has_filter || std::strcmp(winnow_option_name(count), "filter") == 0;
  }
  EXPECT_GE(count, 20U);
  EXPECT_TRUE(has_filter);
  winnow_options_set(options_, "filter", "cuckoo:0.1%", &err_);
  winnow_options_set(options_, "compression", "zstd", &err_);
  EXPECT_EQ(TakeError(), "");
  winnow_options_set(options_, "filtre", "none", &err_);
  EXPECT_NE(TakeError().find("nearest is 'filter'"), std::string::npos);
  Reopen();
  char* filter = winnow_property_value(db_, "winnow.filter");
  EXPECT_STREQ(filter, "cuckoo:0.1%");
  winnow_free(filter);
}

TEST_F(CApiTest, PinnedMultiGetAndExistenceAgreeWithGet) {
  Put("a", "1");
  Put("c", "");
  winnow_flush(db_, &err_);
  Put("d", "4");
  winnow_pinned_t* pinned = winnow_get_pinned(db_, read_, "a", 1, &err_);
  ASSERT_NE(pinned, nullptr);
  size_t length = 0;
  EXPECT_EQ(std::string(winnow_pinned_value(pinned, &length), 1), "1");
  EXPECT_EQ(length, 1U);
  winnow_pinned_destroy(pinned);
  EXPECT_EQ(winnow_get_pinned(db_, read_, "b", 1, &err_), nullptr);

  const char* keys[] = {"d", "b", "a", "c", nullptr};
  const size_t key_lengths[] = {1, 1, 1, 1, 0};
  char* values[5];
  size_t lengths[5];
  char* errors[5];
  winnow_multi_get(db_, read_, 5, keys, key_lengths, values, lengths, errors);
  for (char* error : errors) EXPECT_EQ(error, nullptr);
  EXPECT_EQ(std::string(values[0], lengths[0]), "4");
  EXPECT_EQ(values[1], nullptr);
  EXPECT_EQ(std::string(values[2], lengths[2]), "1");
  EXPECT_NE(values[3], nullptr);
  EXPECT_EQ(lengths[3], 0U);
  EXPECT_EQ(values[4], nullptr);
  for (char* value : values) winnow_free(value);

  EXPECT_EQ(winnow_exists(db_, read_, "c", 1, &err_), 1);
  EXPECT_EQ(winnow_exists(db_, read_, "b", 1, &err_), 0);
  EXPECT_EQ(winnow_may_exist(db_, read_, "a", 1), 1);
  EXPECT_EQ(TakeError(), "");
}

TEST_F(CApiTest, ColumnFamiliesKeepTheirOwnKeys) {
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

TEST_F(CApiTest, WhatBelongsToAnotherDatabaseIsRefused) {
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
TEST_F(CApiTest, NoFunctionTakesAFamilyOfAnotherDatabase) {
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

// Snapshots were freed; what reads at one afterwards saw their memory.
TEST_F(CApiTest, AReleasedSnapshotStillReadsWhileTheDatabaseIsOpen) {
  Put("k", "old");
  const winnow_snapshot_t* snapshot = winnow_create_snapshot(db_);
  Put("k", "new");
  winnow_readoptions_set_snapshot(read_, snapshot);
  winnow_release_snapshot(db_, snapshot);
  winnow_release_snapshot(db_, snapshot);
  EXPECT_EQ(Get("k"), "old");
  winnow_iterator_t* iterator = winnow_create_iterator(db_, read_);
  winnow_iter_seek_to_first(iterator);
  EXPECT_EQ(winnow_iter_valid(iterator), 1);
  winnow_iter_destroy(iterator);
  winnow_readoptions_set_snapshot(read_, nullptr);
}

// The error was lost: later writes succeeded, and the property was empty.
TEST_F(CApiTest, AnErrorOfCompactRangeStopsLaterWritesUntilOneSucceeds) {
  for (const char* value : {"1", "2"}) {
    Put("a", value);
    Put("z", value);
    winnow_flush(db_, &err_);
  }
  winnow_close(db_);
  DamageTables();
  Open();
  winnow_compact_range_checked(db_, nullptr, 0, nullptr, 0, &err_);
  EXPECT_EQ(TakeError().rfind("Corruption: ", 0), 0U);
  Put("m", "the caller was told");
  char* error = winnow_property_value(db_, "winnow.background-error");
  EXPECT_STREQ(error, "");
  winnow_free(error);

  winnow_compact_range(db_, nullptr, 0, nullptr, 0);
  error = winnow_property_value(db_, "winnow.background-error");
  EXPECT_NE(std::string(error).find("an earlier compaction of a range failed"), std::string::npos);
  winnow_free(error);
  winnow_put(db_, write_, "n", 1, "x", 1, &err_);
  EXPECT_EQ(TakeError().rfind("Corruption: ", 0), 0U);
  winnow_delete(db_, write_, "m", 1, &err_);
  EXPECT_EQ(TakeError().rfind("Corruption: ", 0), 0U);
  winnow_writebatch_t* batch = winnow_writebatch_create();
  winnow_writebatch_put(batch, "n", 1, "x", 1);
  winnow_write(db_, write_, batch, &err_);
  EXPECT_EQ(TakeError().rfind("Corruption: ", 0), 0U);
  winnow_writebatch_destroy(batch);
  EXPECT_EQ(Get("m"), "the caller was told");
  EXPECT_EQ(Get("n"), "absent");

  winnow_columnfamily_t* sound = winnow_create_column_family(db_, options_, "sound", &err_);
  winnow_compact_range_cf(db_, sound, nullptr, 0, nullptr, 0);
  winnow_columnfamily_destroy(sound);
  Put("n", "y");
}

TEST_F(CApiTest, AnOptionThatIsRefusedChangesNothing) {
  winnow_options_set(options_, "filter", "cuckoo:12", &err_);
  for (const auto& [name, value] :
       {std::pair("filter", "any text"), std::pair("compression_per_level", ""),
        std::pair("level_size_multiplier", "99999999999999999999999"),
        std::pair("block_bytes", "99999999999999999999999")}) {
    winnow_options_set(options_, name, value, &err_);
    EXPECT_EQ(TakeError().rfind(std::string("Invalid argument: option ") + name, 0), 0U) << name;
  }
  Reopen();
  char* filter = winnow_property_value(db_, "winnow.filter");
  EXPECT_STREQ(filter, "cuckoo:12");
  winnow_free(filter);
}

TEST_F(CApiTest, IteratorsStopAtBounds) {
  for (const char* key : {"a", "b", "c", "d"}) Put(key, key);
  winnow_readoptions_set_lower_bound(read_, "b", 1);
  winnow_readoptions_set_upper_bound(read_, "d", 1);
  winnow_iterator_t* iterator = winnow_create_iterator(db_, read_);
  std::string keys;
  size_t length;
  for (winnow_iter_seek_to_first(iterator); winnow_iter_valid(iterator) != 0;
       winnow_iter_next(iterator)) {
    keys.append(winnow_iter_key(iterator, &length), 1);
  }
  for (winnow_iter_seek_to_last(iterator); winnow_iter_valid(iterator) != 0;
       winnow_iter_prev(iterator)) {
    keys.append(winnow_iter_key(iterator, &length), 1);
  }
  winnow_iter_get_error(iterator, &err_);
  winnow_iter_destroy(iterator);
  EXPECT_EQ(keys, "bccb");
  winnow_readoptions_set_lower_bound(read_, nullptr, 0);
  EXPECT_EQ(TakeError(), "");
}

TEST_F(CApiTest, PropertiesExplanationsAndSizes) {
  for (int i = 0; i < 1000; i++) Put("key" + std::to_string(1000 + i), std::string(100, 'v'));
  winnow_flush(db_, &err_);
  winnow_wait_for_background_work(db_, &err_);
  EXPECT_EQ(TakeError(), "");
  for (const char* name :
       {"leveldb.stats", "leveldb.sstables", "leveldb.approximate-memory-usage",
        "leveldb.num-files-at-level0", "leveldb.num-files-at-level6", "winnow.filter-stats"}) {
    char* value = winnow_property_value(db_, name);
    EXPECT_NE(value, nullptr) << name;
    winnow_free(value);
  }
  for (const char* name : {"", "leveldb.", "leveldb.num-files-at-level", "leveldb.nothing",
                           "leveldb.num-files-at-level7", "leveldb.num-files-at-level0x",
                           "leveldb.num-files-at-level-1", "leveldb.winnow.stats"}) {
    EXPECT_EQ(winnow_property_value(db_, name), nullptr) << name;
  }
  char* text = winnow_explain(db_, "key1000", 7, &err_);
  EXPECT_NE(std::string(text).find("value"), std::string::npos);
  winnow_free(text);
  text = winnow_explain_json(db_, "absent", 6, &err_);
  EXPECT_EQ(text[0], '{');
  winnow_free(text);

  const char* starts[] = {"key1000", "key1500", "x"};
  const char* limits[] = {"key1500", "key2000", "z"};
  const size_t start_lengths[] = {7, 7, 1};
  const size_t limit_lengths[] = {7, 7, 1};
  uint64_t sizes[3];
  winnow_approximate_sizes(db_, 3, starts, start_lengths, limits, limit_lengths, sizes);
  EXPECT_GT(sizes[0], 0U);
  EXPECT_GT(sizes[1], 0U);
  EXPECT_EQ(sizes[2], 0U);
  EXPECT_EQ(winnow_verify(db_), nullptr);
}

// --- Callbacks ---

struct CallbackCounts {
  int destroyed = 0;
  int filters = 0;
};
void CountDestruction(void* state) { static_cast<CallbackCounts*>(state)->destroyed++; }
int ReverseCompare(void*, const char* a, size_t alen, const char* b, size_t blen) {
  return std::string_view(b, blen).compare(std::string_view(a, alen));
}
const char* ReverseName(void*) { return "test.reverse"; }
char* FirstBytes(void* state, const char* const* keys, const size_t* lengths, int num_keys,
                 size_t* filter_length) {
  static_cast<CallbackCounts*>(state)->filters++;
  char* filter = static_cast<char*>(std::malloc(static_cast<size_t>(num_keys)));
  for (int i = 0; i < num_keys; i++) filter[i] = lengths[i] == 0 ? '\0' : keys[i][0];
  *filter_length = static_cast<size_t>(num_keys);
  return filter;
}
uint8_t FirstByteIsThere(void*, const char* key, size_t length, const char* filter,
                         size_t filter_length) {
  const std::string_view bytes(filter, filter_length);
  return bytes.find(length == 0 ? '\0' : key[0]) != std::string_view::npos ? 1 : 0;
}
const char* FirstBytesName(void*) { return "test.first-bytes"; }

TEST_F(CApiTest, CallbacksOutliveTheirHandlesWhileADatabaseUsesThem) {
  CallbackCounts order;
  CallbackCounts filter;
  winnow_comparator_t* comparator =
      winnow_comparator_create(&order, CountDestruction, ReverseCompare, ReverseName);
  winnow_filterpolicy_t* policy = winnow_filterpolicy_create(&filter, CountDestruction, FirstBytes,
                                                             FirstByteIsThere, FirstBytesName);
  winnow_options_set_comparator(options_, comparator);
  winnow_options_set_filter_policy(options_, policy);
  winnow_t* reversed = winnow_open(options_, "/reversed", &err_);
  ASSERT_NE(reversed, nullptr) << err_;
  winnow_options_set_comparator(options_, nullptr);
  winnow_options_set_filter_policy(options_, nullptr);
  winnow_comparator_destroy(comparator);
  winnow_filterpolicy_destroy(policy);

  winnow_put(reversed, write_, "a", 1, "1", 1, &err_);
  winnow_put(reversed, write_, "b", 1, "2", 1, &err_);
  winnow_flush(reversed, &err_);
  EXPECT_EQ(filter.filters, 1);
  EXPECT_EQ(winnow_may_exist(reversed, read_, "ax", 2), 1);
  EXPECT_EQ(winnow_may_exist(reversed, read_, "az", 2), 1);
  winnow_iterator_t* iterator = winnow_create_iterator(reversed, read_);
  winnow_iter_seek_to_first(iterator);
  size_t length;
  EXPECT_EQ(*winnow_iter_key(iterator, &length), 'b');
  winnow_iter_destroy(iterator);
  EXPECT_EQ(order.destroyed + filter.destroyed, 0);
  winnow_close_checked(reversed, &err_);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(order.destroyed, 1);
  EXPECT_EQ(filter.destroyed, 1);
}

TEST_F(CApiTest, ABloomPolicyFiltersUnderACustomOrder) {
  CallbackCounts order;
  winnow_comparator_t* comparator =
      winnow_comparator_create(&order, CountDestruction, ReverseCompare, ReverseName);
  winnow_filterpolicy_t* policy = winnow_filterpolicy_create_bloom(10);
  winnow_options_set_comparator(options_, comparator);
  winnow_options_set_filter_policy(options_, policy);
  winnow_t* db = winnow_open(options_, "/bloom", &err_);
  ASSERT_NE(db, nullptr) << err_;
  char* filter = winnow_property_value(db, "winnow.filter");
  EXPECT_STREQ(filter, "blocked_bloom:10");
  winnow_free(filter);
  winnow_close(db);

  winnow_options_set_filter_policy(options_, nullptr);
  winnow_options_set(options_, "filter", "cuckoo:12", &err_);
  EXPECT_EQ(winnow_open(options_, "/bloom", &err_), nullptr);
  EXPECT_NE(TakeError().find("EqualKeysHaveEqualBytes"), std::string::npos);
  winnow_comparator_set_equal_keys_have_equal_bytes(comparator, 1);
  db = winnow_open(options_, "/bloom", &err_);
  EXPECT_NE(db, nullptr) << err_;
  winnow_close(db);
  winnow_comparator_destroy(comparator);
  winnow_filterpolicy_destroy(policy);
  winnow_options_set_comparator(options_, nullptr);
  EXPECT_EQ(order.destroyed, 1);
}

TEST_F(CApiTest, FamiliesOpenWithTheirOwnOptions) {
  static CallbackCounts order;  // the fixture's options keep the comparator longer than this test
  winnow_comparator_t* comparator =
      winnow_comparator_create(&order, CountDestruction, ReverseCompare, ReverseName);
  winnow_options_t* family_options = winnow_options_create();
  winnow_options_set_comparator(family_options, comparator);
  winnow_comparator_destroy(comparator);
  winnow_columnfamily_t* family =
      winnow_create_column_family(db_, family_options, "reversed", &err_);
  ASSERT_NE(family, nullptr) << err_;
  winnow_put_cf(db_, write_, family, "a", 1, "", 0, &err_);
  winnow_columnfamily_destroy(family);
  winnow_options_set_column_family(options_, "reversed", family_options);
  winnow_options_destroy(family_options);
  Reopen();
  family = winnow_find_column_family(db_, "reversed", &err_);
  EXPECT_EQ(winnow_exists_cf(db_, read_, family, "a", 1, &err_), 1) << err_;
  winnow_columnfamily_destroy(family);
  EXPECT_EQ(winnow_find_column_family(db_, "nobody", &err_), nullptr);
  EXPECT_NE(TakeError(), "");
}

TEST_F(CApiTest, SnapshotsAndSharedCachesAndForMemory) {
  Put("k", "old");
  const winnow_snapshot_t* snapshot = winnow_create_snapshot(db_);
  Put("k", "new");
  winnow_readoptions_set_snapshot(read_, snapshot);
  EXPECT_EQ(Get("k"), "old");
  winnow_readoptions_set_snapshot(read_, nullptr);
  EXPECT_EQ(Get("k"), "new");
  winnow_release_snapshot(db_, snapshot);

  winnow_options_t* options = winnow_options_create_for_memory(size_t{64} << 20, 2);
  winnow_cache_t* cache = winnow_cache_create_lru(1 << 20);
  winnow_options_set_cache(options, cache);
  winnow_options_set_env(options, env_);
  winnow_options_set_create_if_missing(options, 1);
  winnow_t* db = winnow_open(options, "/other", &err_);
  ASSERT_NE(db, nullptr) << err_;
  winnow_cache_destroy(cache);
  winnow_options_destroy(options);
  winnow_put(db, write_, "k", 1, "v", 1, &err_);
  winnow_close(db);
  winnow_destroy_db(options_, "/other", &err_);
  EXPECT_EQ(TakeError(), "");
}

TEST_F(CApiTest, SizesOutOfRangeAreMovedIntoIt) {
  for (const size_t bytes : {size_t{0}, size_t{1}, ~size_t{0}}) {
    winnow_options_t* options = winnow_options_create();
    winnow_options_set_env(options, env_);
    winnow_options_set_create_if_missing(options, 1);
    winnow_options_set_write_buffer_size(options, bytes == ~size_t{0} ? 1 << 20 : bytes);
    winnow_options_set_block_size(options, bytes);
    winnow_options_set_max_file_size(options, bytes);
    winnow_options_set_block_restart_interval(options, bytes == 0 ? -3 : 1 << 30);
    winnow_options_set_max_open_files(options, bytes == 0 ? -1 : static_cast<int>(bytes % 1000));
    winnow_options_set_compression(options, 17);
    winnow_t* db = winnow_open(options, "/ranges", &err_);
    EXPECT_NE(db, nullptr) << err_;
    winnow_close(db);
    winnow_options_destroy(options);
  }
}

TEST_F(CApiTest, RepairOfAMissingDatabaseIsAnError) {
  winnow_repair_db(options_, "/nowhere", &err_);
  EXPECT_EQ(TakeError(), "IO error: /nowhere: No such file or directory") << "not NotFound";
  Put("k", "v");
  winnow_close(db_);
  winnow_repair_db(options_, "/db", &err_);
  EXPECT_EQ(TakeError(), "");
  Open();
  EXPECT_EQ(Get("k"), "v");
}

}  // namespace
