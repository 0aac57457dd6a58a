/* As somebody wrote it for LevelDB's C interface: calls each of its 68 functions, looks at what they
   do, and prints whose library it was. Compiled with LevelDB's own header or with Winnow's. */
#include <leveldb/c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void Check(int holds, const char* claim, int line) {
  if (holds) return;
  fprintf(stderr, "line %d: does not hold: %s\n", line, claim);
  exit(1);
}
#define CHECK(claim) Check(claim, #claim, __LINE__)
#define CHECK_OK(err) CHECK((err) == NULL)

static int IsText(const char* bytes, size_t length, const char* text) {
  return bytes != NULL && length == strlen(text) && memcmp(bytes, text, length) == 0;
}

static leveldb_readoptions_t* read_options;
static leveldb_writeoptions_t* write_options;

static void Put(leveldb_t* db, const char* key, const char* value) {
  char* err = NULL;
  leveldb_put(db, write_options, key, strlen(key), value, strlen(value), &err);
  CHECK_OK(err);
}

/* Whether the key has this value; NULL stands for none. */
static int Has(leveldb_t* db, const char* key, const char* value) {
  char* err = NULL;
  size_t length = 0;
  char* found = leveldb_get(db, read_options, key, strlen(key), &length, &err);
  int same = value == NULL ? found == NULL : IsText(found, length, value);
  CHECK_OK(err);
  leveldb_free(found);
  return same;
}

static void CountPut(void* state, const char* k, size_t klen, const char* v, size_t vlen) {
  CHECK(IsText(k, klen, "batched") && IsText(v, vlen, "together"));
  *(int*)state += 1;
}
static void CountDeleted(void* state, const char* k, size_t klen) {
  CHECK(IsText(k, klen, "key"));
  *(int*)state += 100;
}

static void TryBatches(leveldb_t* db) {
  char* err = NULL;
  int counted = 0;
  leveldb_writebatch_t* batch = leveldb_writebatch_create();
  leveldb_writebatch_t* more = leveldb_writebatch_create();
  leveldb_writebatch_put(batch, "forgotten", 9, "", 0);
  leveldb_writebatch_clear(batch);
  leveldb_writebatch_put(batch, "batched", 7, "together", 8);
  leveldb_writebatch_delete(more, "key", 3);
  leveldb_writebatch_append(batch, more);
  leveldb_writebatch_iterate(batch, &counted, CountPut, CountDeleted);
  CHECK(counted == 101);
  leveldb_write(db, write_options, batch, &err);
  CHECK_OK(err);
  CHECK(Has(db, "batched", "together") && Has(db, "key", NULL) && Has(db, "forgotten", NULL));
  leveldb_writebatch_destroy(more);
  leveldb_writebatch_destroy(batch);
}

static int IsAt(leveldb_iterator_t* iterator, const char* key, const char* value) {
  size_t klen, vlen;
  const char *k, *v;
  if (!leveldb_iter_valid(iterator)) return 0;
  k = leveldb_iter_key(iterator, &klen);
  v = leveldb_iter_value(iterator, &vlen);
  return IsText(k, klen, key) && IsText(v, vlen, value);
}

static void TryIteratorsAndSnapshots(leveldb_t* db) {
  char* err = NULL;
  leveldb_iterator_t* iterator;
  const leveldb_snapshot_t* snapshot;
  Put(db, "a", "1");
  Put(db, "b", "2");
  Put(db, "c", "3");
  snapshot = leveldb_create_snapshot(db);
  Put(db, "b", "changed");
  leveldb_readoptions_set_snapshot(read_options, snapshot);
  CHECK(Has(db, "b", "2"));
  iterator = leveldb_create_iterator(db, read_options);
  leveldb_iter_seek_to_first(iterator);
  CHECK(IsAt(iterator, "a", "1"));
  leveldb_iter_next(iterator);
  CHECK(IsAt(iterator, "b", "2"));
  leveldb_iter_seek_to_last(iterator);
  CHECK(IsAt(iterator, "c", "3"));
  leveldb_iter_prev(iterator);
  CHECK(IsAt(iterator, "batched", "together"));
  leveldb_iter_seek(iterator, "bb", 2);
  CHECK(IsAt(iterator, "c", "3"));
  leveldb_iter_next(iterator);
  CHECK(!leveldb_iter_valid(iterator));
  leveldb_iter_get_error(iterator, &err);
  CHECK_OK(err);
  leveldb_iter_destroy(iterator);
  leveldb_readoptions_set_snapshot(read_options, NULL);
  leveldb_release_snapshot(db, snapshot);
  CHECK(Has(db, "b", "changed"));
}

static void TryMaintenance(leveldb_t* db) {
  char* err = NULL;
  char key[16], value[256];
  const char *start = "k", *limit = "l";
  const size_t one = 1;
  uint64_t size = 0;
  int i;
  for (i = 0; i < 2000; i++) {
    int j;
    snprintf(key, sizeof(key), "k%06d", i);
    for (j = 0; j < 255; j++) value[j] = (char)('!' + (i * 31 + j * (i % 7 + 1)) % 90);
    value[255] = '\0';
    Put(db, key, value);
  }
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  leveldb_approximate_sizes(db, 1, &start, &one, &limit, &one, &size);
  CHECK(size > 10000);
  CHECK(Has(db, "k001999", value));
  leveldb_delete(db, write_options, key, strlen(key), &err);
  CHECK_OK(err);
  CHECK(Has(db, key, NULL));
  CHECK(leveldb_property_value(db, "leveldb.no-such-property") == NULL);
}

static void Forget(void* state) { *(int*)state = 1; }

static int CompareBackwards(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  const int order = memcmp(b, a, alen < blen ? alen : blen);
  (void)state;
  return order != 0 ? order : (alen < blen) - (alen > blen);
}
static const char* ComparatorName(void* state) {
  (void)state;
  return "backwards";
}

/* A filter that is one letter: '1' if the table has keys. */
static char* CreateFilter(void* state, const char* const* keys, const size_t* lengths, int num_keys,
                          size_t* filter_length) {
  char* filter = malloc(1);
  (void)state, (void)keys, (void)lengths;
  *filter = num_keys > 0 ? '1' : '0';
  *filter_length = 1;
  return filter;
}
static uint8_t KeyMayMatch(void* state, const char* key, size_t length, const char* filter,
                           size_t filter_length) {
  (void)state, (void)key, (void)length;
  return filter_length == 1 && *filter == '1';
}
static const char* PolicyName(void* state) {
  (void)state;
  return "one letter";
}

static int comparator_gone = 0, policy_gone = 0;

static void TryOwnOrderAndFilter(leveldb_options_t* options, const char* path) {
  char* err = NULL;
  leveldb_comparator_t* comparator =
      leveldb_comparator_create(&comparator_gone, Forget, CompareBackwards, ComparatorName);
  leveldb_filterpolicy_t* policy =
      leveldb_filterpolicy_create(&policy_gone, Forget, CreateFilter, KeyMayMatch, PolicyName);
  leveldb_iterator_t* iterator;
  leveldb_t* db;
  leveldb_options_set_comparator(options, comparator);
  leveldb_options_set_filter_policy(options, policy);
  db = leveldb_open(options, path, &err);
  CHECK_OK(err);
  Put(db, "a", "1");
  Put(db, "z", "26");
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  CHECK(Has(db, "a", "1") && Has(db, "b", NULL));
  iterator = leveldb_create_iterator(db, read_options);
  leveldb_iter_seek_to_first(iterator);
  CHECK(IsAt(iterator, "z", "26"));
  leveldb_iter_destroy(iterator);
  leveldb_close(db);
  leveldb_destroy_db(options, path, &err);
  CHECK_OK(err);
  leveldb_comparator_destroy(comparator);
  leveldb_filterpolicy_destroy(policy);
}

static void TryEnvironment(leveldb_env_t* env) {
  char* directory = leveldb_env_get_test_directory(env);
  CHECK(directory != NULL && *directory == '/');
  leveldb_free(directory);
}

static void PrintWhoseItIs(leveldb_t* db) {
  char* winnow = leveldb_property_value(db, "winnow.stats");
  char* leveldb = leveldb_property_value(db, "leveldb.stats");
  CHECK(leveldb != NULL);
  CHECK(leveldb_major_version() == 1 && leveldb_minor_version() >= 20);
  puts(winnow != NULL ? "Winnow" : "LevelDB");
  leveldb_free(winnow);
  leveldb_free(leveldb);
}

int main(int argc, char** argv) {
  char* err = NULL;
  leveldb_options_t* options = leveldb_options_create();
  leveldb_cache_t* cache = leveldb_cache_create_lru(1 << 20);
  leveldb_env_t* env = leveldb_create_default_env();
  leveldb_filterpolicy_t* bloom = leveldb_filterpolicy_create_bloom(10);
  leveldb_t* db;
  if (argc != 2) return 2;
  read_options = leveldb_readoptions_create();
  write_options = leveldb_writeoptions_create();
  leveldb_readoptions_set_verify_checksums(read_options, 1);
  leveldb_readoptions_set_fill_cache(read_options, 0);
  leveldb_writeoptions_set_sync(write_options, 0);
  leveldb_options_set_cache(options, cache);
  leveldb_options_set_env(options, env);
  leveldb_options_set_info_log(options, NULL);
  leveldb_options_set_filter_policy(options, bloom);
  leveldb_options_set_error_if_exists(options, 1);
  leveldb_options_set_paranoid_checks(options, 1);
  leveldb_options_set_write_buffer_size(options, 100000);
  leveldb_options_set_max_open_files(options, 100);
  leveldb_options_set_block_size(options, 1024);
  leveldb_options_set_block_restart_interval(options, 8);
  leveldb_options_set_max_file_size(options, 3 << 20);
  leveldb_options_set_compression(options, leveldb_no_compression);
  leveldb_options_set_compression(options, leveldb_snappy_compression);

  leveldb_destroy_db(options, argv[1], &err);
  CHECK_OK(err);
  CHECK(leveldb_open(options, argv[1], &err) == NULL && err != NULL);
  leveldb_free(err);
  err = NULL;
  leveldb_options_set_create_if_missing(options, 1);
  db = leveldb_open(options, argv[1], &err);
  CHECK_OK(err);
  Put(db, "key", "stored value");
  CHECK(Has(db, "key", "stored value") && Has(db, "absent", NULL));
  TryBatches(db);
  TryIteratorsAndSnapshots(db);
  TryMaintenance(db);
  TryEnvironment(env);
  leveldb_close(db);

  CHECK(leveldb_open(options, argv[1], &err) == NULL && err != NULL);
  leveldb_free(err);
  err = NULL;
  leveldb_options_set_error_if_exists(options, 0);
  leveldb_repair_db(options, argv[1], &err);
  CHECK_OK(err);
  db = leveldb_open(options, argv[1], &err);
  CHECK_OK(err);
  CHECK(Has(db, "batched", "together") && Has(db, "k000000", NULL) == 0);
  PrintWhoseItIs(db);
  leveldb_close(db);
  leveldb_destroy_db(options, argv[1], &err);
  CHECK_OK(err);
  TryOwnOrderAndFilter(options, argv[1]);

  leveldb_options_destroy(options);
  CHECK(comparator_gone && policy_gone);
  leveldb_filterpolicy_destroy(bloom);
  leveldb_cache_destroy(cache);
  leveldb_env_destroy(env);
  leveldb_readoptions_destroy(read_options);
  leveldb_writeoptions_destroy(write_options);
  return 0;
}
