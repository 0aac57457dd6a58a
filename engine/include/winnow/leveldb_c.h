/* Compiles C programs that were written for LevelDB's leveldb/c.h, unchanged, against Winnow: each
   of LevelDB's names becomes Winnow's of the same meaning (winnow/c.h documents them).

     #include "winnow/leveldb_c.h"    in place of    #include "leveldb/c.h"

   or leave the program as it is and put include/winnow/compat on the compiler's include path.
   Databases on disk are Winnow's: LevelDB's own are read by `winnow import`. */
#ifndef WINNOW_LEVELDB_C_H_
#define WINNOW_LEVELDB_C_H_

#include <stdarg.h>

#include "winnow/c.h"

#define leveldb_t winnow_t
#define leveldb_cache_t winnow_cache_t
#define leveldb_comparator_t winnow_comparator_t
#define leveldb_env_t winnow_env_t
#define leveldb_filelock_t winnow_filelock_t
#define leveldb_filterpolicy_t winnow_filterpolicy_t
#define leveldb_iterator_t winnow_iterator_t
#define leveldb_logger_t winnow_logger_t
#define leveldb_options_t winnow_options_t
#define leveldb_randomfile_t winnow_randomfile_t
#define leveldb_readoptions_t winnow_readoptions_t
#define leveldb_seqfile_t winnow_seqfile_t
#define leveldb_snapshot_t winnow_snapshot_t
#define leveldb_writablefile_t winnow_writablefile_t
#define leveldb_writebatch_t winnow_writebatch_t
#define leveldb_writeoptions_t winnow_writeoptions_t

#define leveldb_write winnow_write
#define leveldb_open winnow_open
#define leveldb_close winnow_close
#define leveldb_put winnow_put
#define leveldb_delete winnow_delete
#define leveldb_get winnow_get
#define leveldb_create_iterator winnow_create_iterator
#define leveldb_create_snapshot winnow_create_snapshot
#define leveldb_release_snapshot winnow_release_snapshot
#define leveldb_property_value winnow_property_value
#define leveldb_approximate_sizes winnow_approximate_sizes
#define leveldb_compact_range winnow_compact_range
#define leveldb_destroy_db winnow_destroy_db
#define leveldb_repair_db winnow_repair_db
#define leveldb_iter_destroy winnow_iter_destroy
#define leveldb_iter_valid winnow_iter_valid
#define leveldb_iter_seek winnow_iter_seek
#define leveldb_iter_seek_to_first winnow_iter_seek_to_first
#define leveldb_iter_seek_to_last winnow_iter_seek_to_last
#define leveldb_iter_next winnow_iter_next
#define leveldb_iter_prev winnow_iter_prev
#define leveldb_iter_key winnow_iter_key
#define leveldb_iter_value winnow_iter_value
#define leveldb_iter_get_error winnow_iter_get_error
#define leveldb_writebatch_create winnow_writebatch_create
#define leveldb_writebatch_destroy winnow_writebatch_destroy
#define leveldb_writebatch_clear winnow_writebatch_clear
#define leveldb_writebatch_put winnow_writebatch_put
#define leveldb_writebatch_delete winnow_writebatch_delete
#define leveldb_writebatch_iterate winnow_writebatch_iterate
#define leveldb_writebatch_append winnow_writebatch_append
#define leveldb_options_create winnow_options_create
#define leveldb_options_destroy winnow_options_destroy
#define leveldb_options_set_comparator winnow_options_set_comparator
#define leveldb_options_set_filter_policy winnow_options_set_filter_policy
#define leveldb_options_set_create_if_missing winnow_options_set_create_if_missing
#define leveldb_options_set_error_if_exists winnow_options_set_error_if_exists
#define leveldb_options_set_paranoid_checks winnow_options_set_paranoid_checks
#define leveldb_options_set_env winnow_options_set_env
#define leveldb_options_set_info_log winnow_options_set_info_log
#define leveldb_options_set_write_buffer_size winnow_options_set_write_buffer_size
#define leveldb_options_set_max_open_files winnow_options_set_max_open_files
#define leveldb_options_set_cache winnow_options_set_cache
#define leveldb_options_set_block_size winnow_options_set_block_size
#define leveldb_options_set_block_restart_interval winnow_options_set_block_restart_interval
#define leveldb_options_set_max_file_size winnow_options_set_max_file_size
#define leveldb_options_set_compression winnow_options_set_compression
#define leveldb_comparator_create winnow_comparator_create
#define leveldb_comparator_destroy winnow_comparator_destroy
#define leveldb_filterpolicy_create winnow_filterpolicy_create
#define leveldb_filterpolicy_destroy winnow_filterpolicy_destroy
#define leveldb_filterpolicy_create_bloom winnow_filterpolicy_create_bloom
#define leveldb_readoptions_create winnow_readoptions_create
#define leveldb_readoptions_destroy winnow_readoptions_destroy
#define leveldb_readoptions_set_verify_checksums winnow_readoptions_set_verify_checksums
#define leveldb_readoptions_set_fill_cache winnow_readoptions_set_fill_cache
#define leveldb_readoptions_set_snapshot winnow_readoptions_set_snapshot
#define leveldb_writeoptions_create winnow_writeoptions_create
#define leveldb_writeoptions_destroy winnow_writeoptions_destroy
#define leveldb_writeoptions_set_sync winnow_writeoptions_set_sync
#define leveldb_cache_create_lru winnow_cache_create_lru
#define leveldb_cache_destroy winnow_cache_destroy
#define leveldb_create_default_env winnow_create_default_env
#define leveldb_env_destroy winnow_env_destroy
#define leveldb_free winnow_free
#define leveldb_env_get_test_directory winnow_env_get_test_directory
#define leveldb_no_compression winnow_no_compression
#define leveldb_snappy_compression winnow_snappy_compression

/* The version of LevelDB whose interface this is. */
__attribute__((unused)) static inline int leveldb_major_version(void) { return 1; }
__attribute__((unused)) static inline int leveldb_minor_version(void) { return 23; }

/* Handles that LevelDB names but never makes. */
typedef struct winnow_filelock_t winnow_filelock_t;
typedef struct winnow_randomfile_t winnow_randomfile_t;
typedef struct winnow_seqfile_t winnow_seqfile_t;
typedef struct winnow_writablefile_t winnow_writablefile_t;

#endif /* WINNOW_LEVELDB_C_H_ */
