/* Every function of LevelDB 1.23's C interface by its own name, as a program would spell it. */
#include <stddef.h>
#include <stdio.h>

#include "leveldb/c.h"

typedef void (*AnyFunction)(void);

static const AnyFunction kFunctions[] = {
    (AnyFunction)leveldb_write,
    (AnyFunction)leveldb_open,
    (AnyFunction)leveldb_close,
    (AnyFunction)leveldb_put,
    (AnyFunction)leveldb_delete,
    (AnyFunction)leveldb_get,
    (AnyFunction)leveldb_create_iterator,
    (AnyFunction)leveldb_create_snapshot,
    (AnyFunction)leveldb_release_snapshot,
    (AnyFunction)leveldb_property_value,
    (AnyFunction)leveldb_approximate_sizes,
    (AnyFunction)leveldb_compact_range,
    (AnyFunction)leveldb_destroy_db,
    (AnyFunction)leveldb_repair_db,
    (AnyFunction)leveldb_iter_destroy,
    (AnyFunction)leveldb_iter_valid,
    (AnyFunction)leveldb_iter_seek,
    (AnyFunction)leveldb_iter_seek_to_first,
    (AnyFunction)leveldb_iter_seek_to_last,
    (AnyFunction)leveldb_iter_next,
    (AnyFunction)leveldb_iter_prev,
    (AnyFunction)leveldb_iter_key,
    (AnyFunction)leveldb_iter_value,
    (AnyFunction)leveldb_iter_get_error,
    (AnyFunction)leveldb_writebatch_create,
    (AnyFunction)leveldb_writebatch_destroy,
    (AnyFunction)leveldb_writebatch_clear,
    (AnyFunction)leveldb_writebatch_put,
    (AnyFunction)leveldb_writebatch_delete,
    (AnyFunction)leveldb_writebatch_iterate,
    (AnyFunction)leveldb_writebatch_append,
    (AnyFunction)leveldb_options_create,
    (AnyFunction)leveldb_options_destroy,
    (AnyFunction)leveldb_options_set_comparator,
    (AnyFunction)leveldb_options_set_filter_policy,
    (AnyFunction)leveldb_options_set_create_if_missing,
    (AnyFunction)leveldb_options_set_error_if_exists,
    (AnyFunction)leveldb_options_set_paranoid_checks,
    (AnyFunction)leveldb_options_set_env,
    (AnyFunction)leveldb_options_set_info_log,
    (AnyFunction)leveldb_options_set_write_buffer_size,
    (AnyFunction)leveldb_options_set_max_open_files,
    (AnyFunction)leveldb_options_set_cache,
    (AnyFunction)leveldb_options_set_block_size,
    (AnyFunction)leveldb_options_set_block_restart_interval,
    (AnyFunction)leveldb_options_set_max_file_size,
    (AnyFunction)leveldb_options_set_compression,
    (AnyFunction)leveldb_comparator_create,
    (AnyFunction)leveldb_comparator_destroy,
    (AnyFunction)leveldb_filterpolicy_create,
    (AnyFunction)leveldb_filterpolicy_destroy,
    (AnyFunction)leveldb_filterpolicy_create_bloom,
    (AnyFunction)leveldb_readoptions_create,
    (AnyFunction)leveldb_readoptions_destroy,
    (AnyFunction)leveldb_readoptions_set_verify_checksums,
    (AnyFunction)leveldb_readoptions_set_fill_cache,
    (AnyFunction)leveldb_readoptions_set_snapshot,
    (AnyFunction)leveldb_writeoptions_create,
    (AnyFunction)leveldb_writeoptions_destroy,
    (AnyFunction)leveldb_writeoptions_set_sync,
    (AnyFunction)leveldb_cache_create_lru,
    (AnyFunction)leveldb_cache_destroy,
    (AnyFunction)leveldb_create_default_env,
    (AnyFunction)leveldb_env_destroy,
    (AnyFunction)leveldb_free,
    (AnyFunction)leveldb_env_get_test_directory,
    (AnyFunction)leveldb_major_version,
    (AnyFunction)leveldb_minor_version,
};

/* The types, and the two numbers of the one enumeration. */
static const size_t kPointerSizes[] = {
    sizeof(leveldb_t*),
    sizeof(leveldb_cache_t*),
    sizeof(leveldb_comparator_t*),
    sizeof(leveldb_env_t*),
    sizeof(leveldb_filelock_t*),
    sizeof(leveldb_filterpolicy_t*),
    sizeof(leveldb_iterator_t*),
    sizeof(leveldb_logger_t*),
    sizeof(leveldb_options_t*),
    sizeof(leveldb_randomfile_t*),
    sizeof(leveldb_readoptions_t*),
    sizeof(leveldb_seqfile_t*),
    sizeof(leveldb_snapshot_t*),
    sizeof(leveldb_writablefile_t*),
    sizeof(leveldb_writebatch_t*),
    sizeof(leveldb_writeoptions_t*),
};

int main(void) {
  const size_t count = sizeof(kFunctions) / sizeof(kFunctions[0]);
  size_t i;
  for (i = 0; i < count; i++) {
    if (kFunctions[i] == NULL) return 1;
  }
  if (count != 68 || sizeof(kPointerSizes) / sizeof(kPointerSizes[0]) != 16) return 1;
  for (i = 0; i < 16; i++) {
    if (kPointerSizes[i] != sizeof(void*)) return 1;
  }
  if (leveldb_no_compression != 0 || leveldb_snappy_compression != 1) return 1;
  printf("%zu functions\n", count);
  return leveldb_major_version() == 1 && leveldb_minor_version() == 23 ? 0 : 1;
}
