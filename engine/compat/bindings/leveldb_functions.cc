// The functions of LevelDB 1.23's leveldb/c.h, by LevelDB's names and with its arguments: each is
// the function of winnow/c.h that was made after it. For libleveldb-winnow.so alone.

#include "winnow/c.h"

extern "C" {

// --- Databases ---

// Handles are Winnow's own: LevelDB's header declares its types without a definition, so that a
// program compiled with it passes them through unseen.
winnow_t* leveldb_open(const winnow_options_t* options, const char* name, char** errptr) {
  return winnow_open(options, name, errptr);
}
void leveldb_close(winnow_t* db) { winnow_close(db); }
void leveldb_put(winnow_t* db, const winnow_writeoptions_t* options, const char* key, size_t keylen,
                 const char* val, size_t vallen, char** errptr) {
  winnow_put(db, options, key, keylen, val, vallen, errptr);
}
void leveldb_delete(winnow_t* db, const winnow_writeoptions_t* options, const char* key,
                    size_t keylen, char** errptr) {
  winnow_delete(db, options, key, keylen, errptr);
}
void leveldb_write(winnow_t* db, const winnow_writeoptions_t* options, winnow_writebatch_t* batch,
                   char** errptr) {
  winnow_write(db, options, batch, errptr);
}
char* leveldb_get(winnow_t* db, const winnow_readoptions_t* options, const char* key, size_t keylen,
                  size_t* vallen, char** errptr) {
  return winnow_get(db, options, key, keylen, vallen, errptr);
}
winnow_iterator_t* leveldb_create_iterator(winnow_t* db, const winnow_readoptions_t* options) {
  return winnow_create_iterator(db, options);
}
const winnow_snapshot_t* leveldb_create_snapshot(winnow_t* db) {
  return winnow_create_snapshot(db);
}
void leveldb_release_snapshot(winnow_t* db, const winnow_snapshot_t* snapshot) {
  winnow_release_snapshot(db, snapshot);
}
char* leveldb_property_value(winnow_t* db, const char* propname) {
  return winnow_property_value(db, propname);
}
void leveldb_approximate_sizes(winnow_t* db, int num_ranges, const char* const* range_start_key,
                               const size_t* range_start_key_len,
                               const char* const* range_limit_key,
                               const size_t* range_limit_key_len, uint64_t* sizes) {
  winnow_approximate_sizes(db, num_ranges, range_start_key, range_start_key_len, range_limit_key,
                           range_limit_key_len, sizes);
}
void leveldb_compact_range(winnow_t* db, const char* start_key, size_t start_key_len,
                           const char* limit_key, size_t limit_key_len) {
  winnow_compact_range(db, start_key, start_key_len, limit_key, limit_key_len);
}
void leveldb_destroy_db(const winnow_options_t* options, const char* name, char** errptr) {
  winnow_destroy_db(options, name, errptr);
}
void leveldb_repair_db(const winnow_options_t* options, const char* name, char** errptr) {
  winnow_repair_db(options, name, errptr);
}

// --- Iterators ---

void leveldb_iter_destroy(winnow_iterator_t* iterator) { winnow_iter_destroy(iterator); }
uint8_t leveldb_iter_valid(const winnow_iterator_t* iterator) {
  return winnow_iter_valid(iterator);
}
void leveldb_iter_seek_to_first(winnow_iterator_t* iterator) {
  winnow_iter_seek_to_first(iterator);
}
void leveldb_iter_seek_to_last(winnow_iterator_t* iterator) { winnow_iter_seek_to_last(iterator); }
void leveldb_iter_seek(winnow_iterator_t* iterator, const char* k, size_t klen) {
  winnow_iter_seek(iterator, k, klen);
}
void leveldb_iter_next(winnow_iterator_t* iterator) { winnow_iter_next(iterator); }
void leveldb_iter_prev(winnow_iterator_t* iterator) { winnow_iter_prev(iterator); }
const char* leveldb_iter_key(const winnow_iterator_t* iterator, size_t* klen) {
  return winnow_iter_key(iterator, klen);
}
const char* leveldb_iter_value(const winnow_iterator_t* iterator, size_t* vlen) {
  return winnow_iter_value(iterator, vlen);
}
void leveldb_iter_get_error(const winnow_iterator_t* iterator, char** errptr) {
  winnow_iter_get_error(iterator, errptr);
}

// --- Write batches ---

winnow_writebatch_t* leveldb_writebatch_create() { return winnow_writebatch_create(); }
void leveldb_writebatch_destroy(winnow_writebatch_t* batch) { winnow_writebatch_destroy(batch); }
void leveldb_writebatch_clear(winnow_writebatch_t* batch) { winnow_writebatch_clear(batch); }
void leveldb_writebatch_put(winnow_writebatch_t* batch, const char* key, size_t klen,
                            const char* val, size_t vlen) {
  winnow_writebatch_put(batch, key, klen, val, vlen);
}
void leveldb_writebatch_delete(winnow_writebatch_t* batch, const char* key, size_t klen) {
  winnow_writebatch_delete(batch, key, klen);
}
void leveldb_writebatch_iterate(const winnow_writebatch_t* batch, void* state,
                                void (*put)(void* state, const char* k, size_t klen, const char* v,
                                            size_t vlen),
                                void (*deleted)(void* state, const char* k, size_t klen)) {
  winnow_writebatch_iterate(batch, state, put, deleted);
}
void leveldb_writebatch_append(winnow_writebatch_t* destination,
                               const winnow_writebatch_t* source) {
  winnow_writebatch_append(destination, source);
}

// --- Options ---

winnow_options_t* leveldb_options_create() { return winnow_options_create(); }
void leveldb_options_destroy(winnow_options_t* options) { winnow_options_destroy(options); }
void leveldb_options_set_comparator(winnow_options_t* options, winnow_comparator_t* comparator) {
  winnow_options_set_comparator(options, comparator);
}
void leveldb_options_set_filter_policy(winnow_options_t* options, winnow_filterpolicy_t* policy) {
  winnow_options_set_filter_policy(options, policy);
}
void leveldb_options_set_create_if_missing(winnow_options_t* options, uint8_t value) {
  winnow_options_set_create_if_missing(options, value);
}
void leveldb_options_set_error_if_exists(winnow_options_t* options, uint8_t value) {
  winnow_options_set_error_if_exists(options, value);
}
void leveldb_options_set_paranoid_checks(winnow_options_t* options, uint8_t value) {
  winnow_options_set_paranoid_checks(options, value);
}
void leveldb_options_set_env(winnow_options_t* options, winnow_env_t* env) {
  winnow_options_set_env(options, env);
}
void leveldb_options_set_info_log(winnow_options_t* options, winnow_logger_t* logger) {
  winnow_options_set_info_log(options, logger);
}
void leveldb_options_set_write_buffer_size(winnow_options_t* options, size_t bytes) {
  winnow_options_set_write_buffer_size(options, bytes);
}
void leveldb_options_set_max_open_files(winnow_options_t* options, int num_files) {
  winnow_options_set_max_open_files(options, num_files);
}
void leveldb_options_set_cache(winnow_options_t* options, winnow_cache_t* cache) {
  winnow_options_set_cache(options, cache);
}
void leveldb_options_set_block_size(winnow_options_t* options, size_t bytes) {
  winnow_options_set_block_size(options, bytes);
}
void leveldb_options_set_block_restart_interval(winnow_options_t* options, int num_keys) {
  winnow_options_set_block_restart_interval(options, num_keys);
}
void leveldb_options_set_max_file_size(winnow_options_t* options, size_t bytes) {
  winnow_options_set_max_file_size(options, bytes);
}
void leveldb_options_set_compression(winnow_options_t* options, int compression) {
  winnow_options_set_compression(options, compression);
}

// --- Comparators and filter policies ---

winnow_comparator_t* leveldb_comparator_create(void* state, void (*destructor)(void* state),
                                               int (*compare)(void* state, const char* a,
                                                              size_t alen, const char* b,
                                                              size_t blen),
                                               const char* (*name)(void* state)) {
  return winnow_comparator_create(state, destructor, compare, name);
}
void leveldb_comparator_destroy(winnow_comparator_t* comparator) {
  winnow_comparator_destroy(comparator);
}
winnow_filterpolicy_t* leveldb_filterpolicy_create(
    void* state, void (*destructor)(void* state),
    char* (*create_filter)(void* state, const char* const* key_array,
                           const size_t* key_length_array, int num_keys, size_t* filter_length),
    uint8_t (*key_may_match)(void* state, const char* key, size_t length, const char* filter,
                             size_t filter_length),
    const char* (*name)(void* state)) {
  return winnow_filterpolicy_create(state, destructor, create_filter, key_may_match, name);
}
void leveldb_filterpolicy_destroy(winnow_filterpolicy_t* policy) {
  winnow_filterpolicy_destroy(policy);
}
winnow_filterpolicy_t* leveldb_filterpolicy_create_bloom(int bits_per_key) {
  return winnow_filterpolicy_create_bloom(bits_per_key);
}

// --- Read and write options ---

winnow_readoptions_t* leveldb_readoptions_create() { return winnow_readoptions_create(); }
void leveldb_readoptions_destroy(winnow_readoptions_t* options) {
  winnow_readoptions_destroy(options);
}
void leveldb_readoptions_set_verify_checksums(winnow_readoptions_t* options, uint8_t value) {
  winnow_readoptions_set_verify_checksums(options, value);
}
void leveldb_readoptions_set_fill_cache(winnow_readoptions_t* options, uint8_t value) {
  winnow_readoptions_set_fill_cache(options, value);
}
void leveldb_readoptions_set_snapshot(winnow_readoptions_t* options,
                                      const winnow_snapshot_t* snapshot) {
  winnow_readoptions_set_snapshot(options, snapshot);
}
winnow_writeoptions_t* leveldb_writeoptions_create() { return winnow_writeoptions_create(); }
void leveldb_writeoptions_destroy(winnow_writeoptions_t* options) {
  winnow_writeoptions_destroy(options);
}
void leveldb_writeoptions_set_sync(winnow_writeoptions_t* options, uint8_t value) {
  winnow_writeoptions_set_sync(options, value);
}

// --- Caches and environments ---

winnow_cache_t* leveldb_cache_create_lru(size_t capacity) {
  return winnow_cache_create_lru(capacity);
}
void leveldb_cache_destroy(winnow_cache_t* cache) { winnow_cache_destroy(cache); }
winnow_env_t* leveldb_create_default_env() { return winnow_create_default_env(); }
void leveldb_env_destroy(winnow_env_t* env) { winnow_env_destroy(env); }
char* leveldb_env_get_test_directory(winnow_env_t* env) {
  return winnow_env_get_test_directory(env);
}

// --- The rest ---

void leveldb_free(void* ptr) { winnow_free(ptr); }
// LevelDB's numbers and not Winnow's: programs compare them with those of the header that they were
// compiled with.
int leveldb_major_version() { return 1; }
int leveldb_minor_version() { return 23; }

}  // extern "C"
