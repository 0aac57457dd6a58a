// The C API: its contract on errors, ownership and bytes, and what it has beyond LevelDB's.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "tests/engine/compat/c_api_fixture.h"
#include "tests/support/scratch_directory.h"
#include "winnow/c.h"

namespace winnow {
namespace {

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
  const ScratchDirectory scratch("c_api_parents");
  const std::string path = scratch.path() + "/missing/db";
  winnow_options_set_env(options_, nullptr);
  EXPECT_EQ(winnow_open(options_, path.c_str(), &err_), nullptr);
  EXPECT_EQ(TakeError(), "IO error: " + path + ": No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/missing"));
  EXPECT_TRUE(DB::Open(Options(), path).ok());
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
  Put("b2", "new");
  winnow_iter_refresh(iterator, &err_);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(winnow_iter_valid(iterator), 0);
  winnow_iter_seek(iterator, "b1", 2);
  ASSERT_NE(winnow_iter_valid(iterator), 0);
  EXPECT_EQ(std::string(winnow_iter_key(iterator, &length), 2), "b2");
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
                           "leveldb.num-files-at-level16", "leveldb.num-files-at-level0x",
                           "leveldb.num-files-at-level-1", "leveldb.winnow.stats"}) {
    EXPECT_EQ(winnow_property_value(db_, name), nullptr) << name;
  }
  EXPECT_EQ(winnow_saved_statistics(options_, "/nowhere", &err_), nullptr);
  EXPECT_NE(TakeError(), "");
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

TEST_F(CApiTest, SavedStatisticsAreThoseInTheEnv) {
  Put("key", "value");
  winnow_close(db_);
  db_ = nullptr;
  char* text = winnow_saved_statistics(options_, "/db", &err_);
  ASSERT_NE(text, nullptr) << err_;
  EXPECT_NE(std::string(text).find("\"is_closed\":true"), std::string::npos) << text;
  winnow_free(text);
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
  winnow_delete_range(db_, write_, "a", 1, "z", 1, &err_);
  EXPECT_EQ(TakeError().rfind("Corruption: ", 0), 0U);
  winnow_merge(db_, write_, "m", 1, "x", 1, &err_);
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
}  // namespace winnow
