/* Winnow for C, and for every language that calls C.

   The 68 functions of LevelDB's C API come first in each part, under the prefix winnow_ and with
   their arguments, ownership and errors; the ones after "Beyond LevelDB" have no counterpart there.
   A program written for leveldb/c.h compiles unchanged with winnow/leveldb_c.h.

     char* err = NULL;
     winnow_options_t* options = winnow_options_create();
     winnow_options_set_create_if_missing(options, 1);
     winnow_options_set(options, "filter", "cuckoo:0.1%", &err);
     winnow_t* db = winnow_open(options, "/tmp/example", &err);
     if (err != NULL) { fputs(err, stderr); winnow_free(err); return 1; }

   Conventions:
   - Handles are opaque. A handle comes from a _create function or winnow_open and goes back to the
     _destroy function of its type (winnow_close); giving back NULL does nothing. A handle must not
     be used after it has been given back.
   - Keys and values are any bytes, with a length; the pointer may be NULL where the length is 0.
     They are copied: the caller's bytes are not needed after a call.
   - A result of type char* was made by malloc and belongs to the caller, who gives it to
     winnow_free. Text ends in a zero byte. Pointers to const belong to the handle they came from.
   - Errors: `errptr` points to a char* that is NULL or malloc'ed text. On failure the old text is
     freed and replaced by a new one; on success nothing is changed. The text starts with the kind
     of error: "NotFound: ", "Corruption: ", "Invalid argument: ", "Not implemented: " or
     "IO error: ". `errptr` itself may be NULL: errors are then discarded.
   - Out of memory is an error like others, "IO error: out of memory"; a function without errptr
     that returns a pointer then returns NULL, if nothing else is said. What a function without a
     result could not copy (an update, an option, a bound) is an error of the calls that are given
     the batch or the options, until the batch is cleared, the bound set again; options stay
     unusable. Where there is no memory for an error's text either, the text is one that was not
     malloc'ed, which winnow_free knows, as does every function that replaces it: free() must not be
     given it.
   - Truth values are uint8_t: 0 is false, the rest true.
   - Arguments that are pointers to handles must not be NULL but where it is said.
   - A winnow_t may be used by many threads at once. Every other handle is for one thread at a time,
     options may be read by many. Iterators, snapshots, pinned values and column families must be
     given back before their database is closed.
   - An open database belongs to the process that opened it. In a child made by fork all calls
     are errors; handles may be given back, which leaves the database's files as they are.
   - A column family or a snapshot of another database is an error; without an errptr nothing
     happens, and the result is that of an error. */
#ifndef WINNOW_C_H_
#define WINNOW_C_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct winnow_t winnow_t;
typedef struct winnow_cache_t winnow_cache_t;
typedef struct winnow_clock_t winnow_clock_t;
typedef struct winnow_columnfamily_t winnow_columnfamily_t;
typedef struct winnow_compactionfilter_t winnow_compactionfilter_t;
typedef struct winnow_comparator_t winnow_comparator_t;
typedef struct winnow_env_t winnow_env_t;
typedef struct winnow_eventlistener_t winnow_eventlistener_t;
typedef struct winnow_filterpolicy_t winnow_filterpolicy_t;
typedef struct winnow_indexed_write_batch_t winnow_indexed_write_batch_t;
typedef struct winnow_iterator_t winnow_iterator_t;
typedef struct winnow_logger_t winnow_logger_t; /* never made: winnow_options_set_info_log */
typedef struct winnow_mergeoperator_t winnow_mergeoperator_t;
typedef struct winnow_options_t winnow_options_t;
typedef struct winnow_pinned_t winnow_pinned_t;
typedef struct winnow_readoptions_t winnow_readoptions_t;
typedef struct winnow_snapshot_t winnow_snapshot_t;
typedef struct winnow_sstwriter_t winnow_sstwriter_t;
typedef struct winnow_ingestoptions_t winnow_ingestoptions_t;
typedef struct winnow_transaction_t winnow_transaction_t;
typedef struct winnow_transactionoptions_t winnow_transactionoptions_t;
typedef struct winnow_writebatch_t winnow_writebatch_t;
typedef struct winnow_writeoptions_t winnow_writeoptions_t;

/* ---- Database ---- */

/* Opens or creates the database in directory `name`. NULL on failure: "Invalid argument: " where
   there is none and create_if_missing is false, there is one and error_if_exists is true, or it has
   another comparator; "IO error: lock " where somebody has it open; "IO error: " where its parent
   directory is missing. `options` and what it refers
   to by winnow_options_set_comparator, _filter_policy, _cache and _env may be given back while the
   database is open. */
winnow_t* winnow_open(const winnow_options_t* options, const char* name, char** errptr);

/* Closes and frees. Errors are lost: see winnow_close_checked. */
void winnow_close(winnow_t* db);

/* Sets `key` to `val`. */
void winnow_put(winnow_t* db, const winnow_writeoptions_t* options, const char* key, size_t keylen,
                const char* val, size_t vallen, char** errptr);

/* Removes `key`; an absent key is no error. */
void winnow_delete(winnow_t* db, const winnow_writeoptions_t* options, const char* key,
                   size_t keylen, char** errptr);

/* Beyond LevelDB: removes the keys from `begin` to before `end`, in the comparator's order, by one
   record, however many there are. Equal ends remove nothing; an end before the begin is an error.
 */
void winnow_delete_range(winnow_t* db, const winnow_writeoptions_t* options, const char* begin,
                         size_t begin_len, const char* end, size_t end_len, char** errptr);

/* Applies the whole batch or nothing. The batch stays the caller's and stays as it is. */
void winnow_write(winnow_t* db, const winnow_writeoptions_t* options, winnow_writebatch_t* batch,
                  char** errptr);

/* The value of `key` in malloc'ed memory, its length in *vallen; NULL, and 0, if the key is absent
   or on an error. A value of length 0 is not NULL. */
char* winnow_get(winnow_t* db, const winnow_readoptions_t* options, const char* key, size_t keylen,
                 size_t* vallen, char** errptr);

/* An iterator over the database as it is now (or at the options' snapshot); at first on no entry.
   Never NULL: an error shows in winnow_iter_get_error, out of memory too. */
winnow_iterator_t* winnow_create_iterator(winnow_t* db, const winnow_readoptions_t* options);

/* The present state, for reads through winnow_readoptions_set_snapshot. NULL, which there means the
   newest state, if there is no memory. */
const winnow_snapshot_t* winnow_create_snapshot(winnow_t* db);

/* Gives a snapshot back. NULL does nothing. */
void winnow_release_snapshot(winnow_t* db, const winnow_snapshot_t* snapshot);

/* The value of a property, malloc'ed text; NULL if there is no such property. Names are those of
   DB::GetProperty in winnow/db.h ("winnow.stats", "winnow.filter-stats", ...), and LevelDB's
   "leveldb.num-files-at-level<N>", "leveldb.stats", "leveldb.sstables" and
   "leveldb.approximate-memory-usage". */
char* winnow_property_value(winnow_t* db, const char* propname);

/* DB::ReadStatistics (winnow/db.h) as malloc'ed JSON: what the process has counted that has the
   database open, or had it last. */
char* winnow_saved_statistics(const winnow_options_t* options, const char* name, char** errptr);

/* For each range [start, limit), the bytes of files that hold its keys, roughly, in sizes[i]; what
   is still in memory is not counted. 0 where a file cannot be read. */
void winnow_approximate_sizes(winnow_t* db, int num_ranges, const char* const* range_start_key,
                              const size_t* range_start_key_len, const char* const* range_limit_key,
                              const size_t* range_limit_key_len, uint64_t* sizes);

/* Compacts the keys from start_key to limit_key, both included, and waits; NULL: from the first, to
   the last key. An error shows in the property "winnow.background-error", and in winnow_put,
   winnow_delete, winnow_delete_range, winnow_merge, winnow_write and
   winnow_indexed_write_batch_write, which write nothing until a range was compacted without one.
   Transactions and ingestions, which LevelDB has not, go on. */
void winnow_compact_range(winnow_t* db, const char* start_key, size_t start_key_len,
                          const char* limit_key, size_t limit_key_len);

/* Removes the database in directory `name`, and nothing that is not Winnow's. A missing database is
   no error; an open one is, and so is one of LevelDB or RocksDB, which no function here changes. */
void winnow_destroy_db(const winnow_options_t* options, const char* name, char** errptr);

/* Makes a damaged, closed database open again with everything that can still be read; what it
   replaces goes to the directory `name`/lost (winnow/repair.h). */
void winnow_repair_db(const winnow_options_t* options, const char* name, char** errptr);

/* Beyond LevelDB */

/* Closes and frees, like winnow_close, and reports the first error that was not reported before. */
void winnow_close_checked(winnow_t* db, char** errptr);

/* Compacts, like winnow_compact_range, and reports an error, which then stops no writes. */
void winnow_compact_range_checked(winnow_t* db, const char* start_key, size_t start_key_len,
                                  const char* limit_key, size_t limit_key_len, char** errptr);

/* The value of `key` without copying it: NULL if the key is absent or on an error. The handle keeps
   the value's block in memory until winnow_pinned_destroy, which must come before winnow_close. */
winnow_pinned_t* winnow_get_pinned(winnow_t* db, const winnow_readoptions_t* options,
                                   const char* key, size_t keylen, char** errptr);
/* The bytes of a pinned value, *vallen of them; they live as long as the handle. */
const char* winnow_pinned_value(const winnow_pinned_t* pinned, size_t* vallen);
/* Gives a pinned value back. */
void winnow_pinned_destroy(winnow_pinned_t* pinned);

/* Looks `num_keys` keys up at once, all as of one moment. For each key: values[i] is what
   winnow_get would return (NULL if absent), value_lens[i] its length, errs[i] NULL or malloc'ed
   text. What the three arrays held before is not read. */
void winnow_multi_get(winnow_t* db, const winnow_readoptions_t* options, size_t num_keys,
                      const char* const* keys, const size_t* key_lens, char** values,
                      size_t* value_lens, char** errs);

/* Asks memory and filters only. 0 only if the key is absent; 1 if it is there, and for absent keys
   at the filters' false-positive rate. */
uint8_t winnow_may_exist(winnow_t* db, const winnow_readoptions_t* options, const char* key,
                         size_t keylen);
/* Exactly whether the key is there; the value is not copied. 0 on an error. */
uint8_t winnow_exists(winnow_t* db, const winnow_readoptions_t* options, const char* key,
                      size_t keylen, char** errptr);

/* Writes everything in memory to SSTables and waits. */
void winnow_flush(winnow_t* db, char** errptr);
/* Waits until no flush or compaction is running or due. */
void winnow_wait_for_background_work(winnow_t* db, char** errptr);

/* Changes options while the database is open, `count` of them, all or none, by the names and texts
   of winnow_options_set; winnow/db.h, DB::SetOptions, says when they take effect and what is
   refused. winnow_get_option gives the text of one as it is now, malloc'ed; NULL on an error. */
void winnow_set_options(winnow_t* db, int count, const char* const* names,
                        const char* const* values, char** errptr);
char* winnow_get_option(winnow_t* db, const char* name, char** errptr);

/* Changes filter and filter key of SSTables written from now on; NULL or "" leaves one as it is. */
void winnow_set_filter(winnow_t* db, const char* filter, const char* filter_key, char** errptr);

/* Records calls in a new file (winnow/db.h, DB::StartTrace); max_bytes 0: 1 GiB. */
void winnow_start_trace(winnow_t* db, const char* path, uint64_t max_bytes, uint8_t hash_keys,
                        uint32_t one_in, char** errptr);
/* Ends the recording; gives how many calls it holds. */
uint64_t winnow_end_trace(winnow_t* db, char** errptr);

/* Sets them in the same way, and gives every SSTable such a filter without a compaction
   (winnow/refilter.h). Under a budget of filter memory `filter_memory_budget` sizes them, 0: as
   the present one does. `progress`, which may be NULL, is called on the calling thread after
   each file; 0 ends the call with an error, and what was done by then stays. */
void winnow_refilter(winnow_t* db, const char* filter, const char* filter_key,
                     uint64_t filter_memory_budget,
                     uint8_t (*progress)(void* state, uint64_t files_done, uint64_t files_left),
                     void* state, char** errptr);

/* What a filter_memory_budget of so many bytes would bring (winnow/db.h, DB::PlanFilters).
   Malloc'ed text: a table for people, or JSON. NULL on an error. */
char* winnow_plan_filters(winnow_t* db, uint64_t budget_bytes, char** errptr);
char* winnow_plan_filters_json(winnow_t* db, uint64_t budget_bytes, char** errptr);

/* How a look-up of `key` proceeds: where it looks, what each filter answers. Malloc'ed text: a
   table for people, or JSON. NULL on an error. */
char* winnow_explain(winnow_t* db, const char* key, size_t keylen, char** errptr);
char* winnow_explain_json(winnow_t* db, const char* key, size_t keylen, char** errptr);
/* The same for an iterator from `start` to before `limit`: what each range filter answers.
   `family` may be NULL: "default". */
char* winnow_explain_range(winnow_t* db, winnow_columnfamily_t* family, const char* start,
                           size_t startlen, const char* limit, size_t limitlen, char** errptr);
char* winnow_explain_range_json(winnow_t* db, winnow_columnfamily_t* family, const char* start,
                                size_t startlen, const char* limit, size_t limitlen, char** errptr);

/* Reads and checks every block of every SSTable. NULL if all is well, else malloc'ed text with one
   problem a line, each with file, offset and reason, or with what kept it from checking. */
char* winnow_verify(winnow_t* db);

/* ---- Column families (beyond LevelDB) ----
   A handle is a small object of the caller's: it goes back to winnow_columnfamily_destroy before
   the database is closed, which does not drop the family. The _cf functions do in the family what
   the functions without _cf do in the family "default". */

/* Creates a family with the column family settings of `options`. NULL on failure. */
winnow_columnfamily_t* winnow_create_column_family(winnow_t* db, const winnow_options_t* options,
                                                   const char* name, char** errptr);
/* A family that exists. NULL and an error if there is none of that name. */
winnow_columnfamily_t* winnow_find_column_family(winnow_t* db, const char* name, char** errptr);
/* Removes the family with its data, at once. The handle must still be destroyed. */
void winnow_drop_column_family(winnow_t* db, winnow_columnfamily_t* family, char** errptr);
/* Gives a handle back; the family stays. */
void winnow_columnfamily_destroy(winnow_columnfamily_t* family);
/* Its name, *length bytes; owned by the handle. */
const char* winnow_columnfamily_name(const winnow_columnfamily_t* family, size_t* length);
/* Its number, as winnow_writebatch_iterate_cf gives it. "default" is 0. */
uint32_t winnow_columnfamily_id(const winnow_columnfamily_t* family);

/* The names of the families of a database, open or not, *num of them; NULL on an error. Goes back
   to winnow_list_column_families_destroy. */
char** winnow_list_column_families(const winnow_options_t* options, const char* name, size_t* num,
                                   char** errptr);
void winnow_list_column_families_destroy(char** names, size_t num);

void winnow_put_cf(winnow_t* db, const winnow_writeoptions_t* options,
                   winnow_columnfamily_t* family, const char* key, size_t keylen, const char* val,
                   size_t vallen, char** errptr);
void winnow_delete_cf(winnow_t* db, const winnow_writeoptions_t* options,
                      winnow_columnfamily_t* family, const char* key, size_t keylen, char** errptr);
void winnow_delete_range_cf(winnow_t* db, const winnow_writeoptions_t* options,
                            winnow_columnfamily_t* family, const char* begin, size_t begin_len,
                            const char* end, size_t end_len, char** errptr);
char* winnow_get_cf(winnow_t* db, const winnow_readoptions_t* options,
                    winnow_columnfamily_t* family, const char* key, size_t keylen, size_t* vallen,
                    char** errptr);
winnow_pinned_t* winnow_get_pinned_cf(winnow_t* db, const winnow_readoptions_t* options,
                                      winnow_columnfamily_t* family, const char* key, size_t keylen,
                                      char** errptr);
void winnow_multi_get_cf(winnow_t* db, const winnow_readoptions_t* options,
                         winnow_columnfamily_t* family, size_t num_keys, const char* const* keys,
                         const size_t* key_lens, char** values, size_t* value_lens, char** errs);
uint8_t winnow_may_exist_cf(winnow_t* db, const winnow_readoptions_t* options,
                            winnow_columnfamily_t* family, const char* key, size_t keylen);
uint8_t winnow_exists_cf(winnow_t* db, const winnow_readoptions_t* options,
                         winnow_columnfamily_t* family, const char* key, size_t keylen,
                         char** errptr);
winnow_iterator_t* winnow_create_iterator_cf(winnow_t* db, const winnow_readoptions_t* options,
                                             winnow_columnfamily_t* family);
char* winnow_property_value_cf(winnow_t* db, winnow_columnfamily_t* family, const char* propname);
void winnow_compact_range_cf(winnow_t* db, winnow_columnfamily_t* family, const char* start_key,
                             size_t start_key_len, const char* limit_key, size_t limit_key_len);
void winnow_compact_range_checked_cf(winnow_t* db, winnow_columnfamily_t* family,
                                     const char* start_key, size_t start_key_len,
                                     const char* limit_key, size_t limit_key_len, char** errptr);
void winnow_approximate_sizes_cf(winnow_t* db, winnow_columnfamily_t* family, int num_ranges,
                                 const char* const* range_start_key,
                                 const size_t* range_start_key_len,
                                 const char* const* range_limit_key,
                                 const size_t* range_limit_key_len, uint64_t* sizes);
void winnow_flush_cf(winnow_t* db, winnow_columnfamily_t* family, char** errptr);
void winnow_set_options_cf(winnow_t* db, winnow_columnfamily_t* family, int count,
                           const char* const* names, const char* const* values, char** errptr);
char* winnow_get_option_cf(winnow_t* db, winnow_columnfamily_t* family, const char* name,
                           char** errptr);
void winnow_refilter_cf(winnow_t* db, winnow_columnfamily_t* family, const char* filter,
                        const char* filter_key, uint64_t filter_memory_budget,
                        uint8_t (*progress)(void* state, uint64_t files_done, uint64_t files_left),
                        void* state, char** errptr);
void winnow_set_filter_cf(winnow_t* db, winnow_columnfamily_t* family, const char* filter,
                          const char* filter_key, char** errptr);
char* winnow_explain_cf(winnow_t* db, winnow_columnfamily_t* family, const char* key, size_t keylen,
                        char** errptr);
char* winnow_explain_json_cf(winnow_t* db, winnow_columnfamily_t* family, const char* key,
                             size_t keylen, char** errptr);

/* ---- Bulk loading (beyond LevelDB; winnow/ingest.h) ---- */

/* Begins an SSTable for databases to ingest, in the file `path`, which must not exist, with the
   column family settings of `options`, in their env. NULL on failure. */
winnow_sstwriter_t* winnow_sstwriter_create(const winnow_options_t* options, const char* path,
                                            char** errptr);
/* The same as the database's family would write it. It may outlive the database. */
winnow_sstwriter_t* winnow_sstwriter_create_cf(winnow_t* db, winnow_columnfamily_t* family,
                                               const char* path, char** errptr);
/* Keys come in strictly ascending order, whether put or deleted; one that does not is an error and
   is left out. */
void winnow_sstwriter_put(winnow_sstwriter_t* writer, const char* key, size_t keylen,
                          const char* val, size_t vallen, char** errptr);
void winnow_sstwriter_delete(winnow_sstwriter_t* writer, const char* key, size_t keylen,
                             char** errptr);
/* Writes the rest and makes the file durable; nothing may be added afterwards. */
void winnow_sstwriter_finish(winnow_sstwriter_t* writer, char** errptr);
/* Roughly what the file would have if it were finished now. */
uint64_t winnow_sstwriter_file_bytes(const winnow_sstwriter_t* writer);
/* Gives a writer back; a file that was not finished is removed. */
void winnow_sstwriter_destroy(winnow_sstwriter_t* writer);

winnow_ingestoptions_t* winnow_ingestoptions_create(void);
void winnow_ingestoptions_destroy(winnow_ingestoptions_t* options);
/* The files become the database's and lose their names. Default false: they are copied. */
void winnow_ingestoptions_set_move(winnow_ingestoptions_t* options, uint8_t value);
/* What is ingested is older than everything in the database. Default false: newer. */
void winnow_ingestoptions_set_behind(winnow_ingestoptions_t* options, uint8_t value);
/* Each file is read and checked whole before. Default true. */
void winnow_ingestoptions_set_verify(winnow_ingestoptions_t* options, uint8_t value);

/* Brings `num_paths` files into the database, all of them or none. The result is the sequence
   number of their entries; 0 on an error, and for what was ingested behind. */
uint64_t winnow_ingest(winnow_t* db, const winnow_ingestoptions_t* options,
                       const char* const* paths, size_t num_paths, char** errptr);
/* The same for files of several families: families[i] is that of paths[i]. */
uint64_t winnow_ingest_cf(winnow_t* db, const winnow_ingestoptions_t* options,
                          winnow_columnfamily_t* const* families, const char* const* paths,
                          size_t num_paths, char** errptr);

/* ---- Iterators ---- */

/* Destroys the iterator. */
void winnow_iter_destroy(winnow_iterator_t* iterator);
/* True while the iterator stands on an entry. */
uint8_t winnow_iter_valid(const winnow_iterator_t* iterator);
void winnow_iter_seek_to_first(winnow_iterator_t* iterator);
void winnow_iter_seek_to_last(winnow_iterator_t* iterator);
/* To the first key >= k. */
void winnow_iter_seek(winnow_iterator_t* iterator, const char* k, size_t klen);
/* One entry on, or back. Only while valid. */
void winnow_iter_next(winnow_iterator_t* iterator);
void winnow_iter_prev(winnow_iterator_t* iterator);
/* Key and value, only while valid; the bytes live until the iterator is moved or destroyed. */
const char* winnow_iter_key(const winnow_iterator_t* iterator, size_t* klen);
const char* winnow_iter_value(const winnow_iterator_t* iterator, size_t* vlen);
/* Reports the error that ended the iteration, if there was one. */
void winnow_iter_get_error(const winnow_iterator_t* iterator, char** errptr);

/* Beyond LevelDB: to the last key <= k. */
void winnow_iter_seek_for_prev(winnow_iterator_t* iterator, const char* k, size_t klen);
/* Beyond LevelDB: shows the database as it is now, from the next seek on; invalid until then.
   Refused, with nothing changed, where the iterator was made for a snapshot. */
void winnow_iter_refresh(winnow_iterator_t* iterator, char** errptr);

/* ---- Write batches ---- */

winnow_writebatch_t* winnow_writebatch_create(void);
void winnow_writebatch_destroy(winnow_writebatch_t* batch);
/* Empties the batch. */
void winnow_writebatch_clear(winnow_writebatch_t* batch);
void winnow_writebatch_put(winnow_writebatch_t* batch, const char* key, size_t klen,
                           const char* val, size_t vlen);
void winnow_writebatch_delete(winnow_writebatch_t* batch, const char* key, size_t klen);
/* Calls back for each update in order, of whichever family; passes over merges and range
   deletions, for which there is winnow_writebatch_iterate_updates. */
void winnow_writebatch_iterate(const winnow_writebatch_t* batch, void* state,
                               void (*put)(void* state, const char* k, size_t klen, const char* v,
                                           size_t vlen),
                               void (*deleted)(void* state, const char* k, size_t klen));
/* Adds the updates of `source` behind those of `destination`; they may be the same batch. */
void winnow_writebatch_append(winnow_writebatch_t* destination, const winnow_writebatch_t* source);

/* Beyond LevelDB. A family that is not of the database to which the batch is written makes that
   write an error. */
void winnow_writebatch_put_cf(winnow_writebatch_t* batch, const winnow_columnfamily_t* family,
                              const char* key, size_t klen, const char* val, size_t vlen);
void winnow_writebatch_delete_cf(winnow_writebatch_t* batch, const winnow_columnfamily_t* family,
                                 const char* key, size_t klen);
/* The same as winnow_writebatch_iterate, with the number of each update's family. */
void winnow_writebatch_iterate_cf(const winnow_writebatch_t* batch, void* state,
                                  void (*put)(void* state, uint32_t family_id, const char* k,
                                              size_t klen, const char* v, size_t vlen),
                                  void (*deleted)(void* state, uint32_t family_id, const char* k,
                                                  size_t klen));
/* Shows every update with what it does, merges and range deletions included, which the two
   functions above leave out. Deletions have no value; of a range deletion the key is its begin, the
   value its end. */
enum {
  winnow_update_delete = 0,
  winnow_update_put = 1,
  winnow_update_merge = 2,
  winnow_update_delete_range = 3
};
void winnow_writebatch_iterate_updates(const winnow_writebatch_t* batch, void* state,
                                       void (*update)(void* state, int kind, uint32_t family_id,
                                                      const char* k, size_t klen, const char* v,
                                                      size_t vlen));
/* As winnow_delete_range; the write refuses the whole batch where an end comes before its begin. */
void winnow_writebatch_delete_range(winnow_writebatch_t* batch, const char* begin, size_t begin_len,
                                    const char* end, size_t end_len);
void winnow_writebatch_delete_range_cf(winnow_writebatch_t* batch,
                                       const winnow_columnfamily_t* family, const char* begin,
                                       size_t begin_len, const char* end, size_t end_len);
/* The number of updates. */
uint32_t winnow_writebatch_count(const winnow_writebatch_t* batch);

/* ---- Options ---- */

/* Winnow's defaults (winnow/options.h) but for create_if_missing, which is false as in LevelDB. */
winnow_options_t* winnow_options_create(void);
void winnow_options_destroy(winnow_options_t* options);
/* The order of keys. NULL: bytewise, the default. */
void winnow_options_set_comparator(winnow_options_t* options, winnow_comparator_t* comparator);
/* The filter of SSTables. NULL: what options_set("filter") says, or the default. A policy made by
   winnow_filterpolicy_create_bloom says at the same time that keys which compare equal have equal
   bytes, which a comparator of the caller's must then observe. */
void winnow_options_set_filter_policy(winnow_options_t* options, winnow_filterpolicy_t* policy);
void winnow_options_set_create_if_missing(winnow_options_t* options, uint8_t value);
void winnow_options_set_error_if_exists(winnow_options_t* options, uint8_t value);
/* True: refuse to open where the write-ahead log is damaged (recovery_mode strict); false: if the
   database was not closed, open with what was written before the damage (point_in_time). */
void winnow_options_set_paranoid_checks(winnow_options_t* options, uint8_t value);
/* Where files live. NULL: the operating system's file system. */
void winnow_options_set_env(winnow_options_t* options, winnow_env_t* env);
/* Does nothing: messages go to the file LOG in the database's directory (info_log_bytes in
   winnow/options.h). */
void winnow_options_set_info_log(winnow_options_t* options, winnow_logger_t* logger);
/* Sizes in bytes; values outside the range of the option of winnow/options.h are moved to its
   nearest end. write_buffer_bytes, block_bytes, target_file_bytes: */
void winnow_options_set_write_buffer_size(winnow_options_t* options, size_t bytes);
void winnow_options_set_block_size(winnow_options_t* options, size_t bytes);
void winnow_options_set_max_file_size(winnow_options_t* options, size_t bytes);
void winnow_options_set_block_restart_interval(winnow_options_t* options, int num_keys);
/* SSTables whose file is open at one time, at least 16; up to 0: as many as winnow/options.h has
   for max_open_files = 0. */
void winnow_options_set_max_open_files(winnow_options_t* options, int num_files);
/* The block cache, which several databases may share. NULL: one of the database's own. */
void winnow_options_set_cache(winnow_options_t* options, winnow_cache_t* cache);

enum { winnow_no_compression = 0, winnow_snappy_compression = 1 };
/* The compression of SSTable blocks; numbers that are none of the two are taken as none. Others by
   winnow_options_set(options, "compression", "zstd", &err). */
void winnow_options_set_compression(winnow_options_t* options, int compression);

/* Beyond LevelDB */

/* Sets any option by its name, as SetOption of winnow/options.h does: "filter", "filter_key",
   "write_buffer_bytes", ... An unknown name is an error that names the nearest right one; a value
   that does not parse or is outside the range is an error too, and nothing is changed. How options
   fit each other is checked by winnow_open. A filter set so wins over a policy that was set before.
 */
void winnow_options_set(winnow_options_t* options, const char* name, const char* value,
                        char** errptr);
/* The text of one option, malloc'ed; NULL if there is none of this name. */
char* winnow_options_get(const winnow_options_t* options, const char* name, char** errptr);
/* Makes the options those with which the database in `path`, in the options' environment, was last
   open, of all its column families; what has no text stays as it is, and so do create_if_missing,
   error_if_exists, read_only and recovery_mode (DB::LoadOptions of winnow/db.h). */
void winnow_options_load(winnow_options_t* options, const char* path, char** errptr);
/* The name of option `index`, counted from 0; NULL behind the last one, or out of memory. */
const char* winnow_option_name(size_t index);
/* All sizes from two numbers: bytes of memory that the database may use, and threads that it may
   keep busy. What the memory includes stands at Options::ForMemory in winnow/options.h. */
winnow_options_t* winnow_options_create_for_memory(size_t memory_bytes, int threads);
/* Opens the family `name` with the column family settings of `family_options`, which are copied. */
void winnow_options_set_column_family(winnow_options_t* options, const char* name,
                                      const winnow_options_t* family_options);

/* ---- Comparators ---- */

/* An order of keys. `compare` gives a number below, equal to or above 0; `name` is stored in the
   database, which cannot be opened under another one. Both are called by many threads at once and
   must not call into the database. `destructor` is called with `state` once the handle has been
   given back and no open database uses it any more; not at all if the result is NULL. */
winnow_comparator_t* winnow_comparator_create(void* state, void (*destructor)(void* state),
                                              int (*compare)(void* state, const char* a,
                                                             size_t alen, const char* b,
                                                             size_t blen),
                                              const char* (*name)(void* state));
void winnow_comparator_destroy(winnow_comparator_t* comparator);

/* Beyond LevelDB: says that keys which compare equal have equal bytes, so that filters other than
   "none" may be used. To be called before winnow_open. */
void winnow_comparator_set_equal_keys_have_equal_bytes(winnow_comparator_t* comparator,
                                                       uint8_t value);

/* ---- Filter policies ---- */

/* A filter of the caller's own. `create_filter` gets the keys of one SSTable, in order and each
   once, and returns malloc'ed bytes, *filter_length of them (NULL: no filter). `key_may_match` must
   be true for each of these keys. The filter is stored in the SSTable under `name` and used only
   where a policy of that name is given: without it every key may be there. An SSTable of more than
   2^31 - 1 keys gets none. Threads and destructor: as for comparators. */
winnow_filterpolicy_t* winnow_filterpolicy_create(
    void* state, void (*destructor)(void* state),
    char* (*create_filter)(void* state, const char* const* key_array,
                           const size_t* key_length_array, int num_keys, size_t* filter_length),
    uint8_t (*key_may_match)(void* state, const char* key, size_t length, const char* filter,
                             size_t filter_length),
    const char* (*name)(void* state));
void winnow_filterpolicy_destroy(winnow_filterpolicy_t* policy);
/* The filter blocked_bloom:bits_per_key (1 to 64; other numbers are moved to the nearest end). */
winnow_filterpolicy_t* winnow_filterpolicy_create_bloom(int bits_per_key);

/* ---- Merge operators (beyond LevelDB; winnow/merge_operator.h) ---- */

/* An operator of the caller's own. `full_merge` makes a value of `existing`, which is NULL if the
   key is absent, and of the operands, oldest first; `partial_merge` makes one operand of several,
   and may be NULL. Both return malloc'ed bytes, *result_length of them; NULL, or *success set to 0
   (it is 1 before), says that they can make none: then the key cannot be read, and its operands
   stay. `name` is stored in the database, which cannot be opened with another operator. Threads and
   destructor: as for comparators. Built-in operators: winnow_options_set(options, "merge_operator",
   "uint64_add", &err). */
winnow_mergeoperator_t* winnow_mergeoperator_create(
    void* state, void (*destructor)(void* state),
    char* (*full_merge)(void* state, const char* key, size_t keylen, const char* existing,
                        size_t existinglen, const char* const* operands, const size_t* operandlens,
                        int num_operands, uint8_t* success, size_t* result_length),
    char* (*partial_merge)(void* state, const char* key, size_t keylen, const char* const* operands,
                           const size_t* operandlens, int num_operands, uint8_t* success,
                           size_t* result_length),
    const char* (*name)(void* state));
void winnow_mergeoperator_destroy(winnow_mergeoperator_t* merge_operator);
void winnow_options_set_merge_operator(winnow_options_t* options,
                                       winnow_mergeoperator_t* merge_operator);

/* Adds an operand to what the key has. */
void winnow_merge(winnow_t* db, const winnow_writeoptions_t* options, const char* key,
                  size_t keylen, const char* operand, size_t operandlen, char** errptr);
void winnow_merge_cf(winnow_t* db, const winnow_writeoptions_t* options,
                     winnow_columnfamily_t* family, const char* key, size_t keylen,
                     const char* operand, size_t operandlen, char** errptr);
void winnow_writebatch_merge(winnow_writebatch_t* batch, const char* key, size_t klen,
                             const char* operand, size_t operandlen);
void winnow_writebatch_merge_cf(winnow_writebatch_t* batch, const winnow_columnfamily_t* family,
                                const char* key, size_t klen, const char* operand,
                                size_t operandlen);
void winnow_sstwriter_merge(winnow_sstwriter_t* writer, const char* key, size_t keylen,
                            const char* operand, size_t operandlen, char** errptr);

/* ---- Compaction filters and clocks (beyond LevelDB) ---- */

/* What a compaction filter says of a value. */
enum { winnow_compaction_keep = 0, winnow_compaction_remove = 1, winnow_compaction_change = 2 };

/* Asked by compactions what becomes of each value (winnow/compaction_filter.h says which it is
   shown): `family` is the column family's name, `level` where the compaction writes to. For
   winnow_compaction_change *new_val is set to malloc'ed bytes, *new_vallen of them, which are
   freed; NULL: the empty value. Any number but the three keeps the value. `filter` is called by
   several threads at once, and must not use the database. Destructor: as for comparators. */
winnow_compactionfilter_t* winnow_compactionfilter_create(
    void* state, void (*destructor)(void* state),
    int (*filter)(void* state, const char* family, size_t familylen, int level,
                  uint8_t is_last_level, const char* key, size_t keylen, const char* val,
                  size_t vallen, char** new_val, size_t* new_vallen));
void winnow_compactionfilter_destroy(winnow_compactionfilter_t* filter);
/* Of the families that are opened or created with these options; NULL: none. The filter may be
   given back while the database is open. */
void winnow_options_set_compaction_filter(winnow_options_t* options,
                                          winnow_compactionfilter_t* filter);

/* The time by which data expires where the option "ttl_seconds" is set (winnow/clock.h), in
   microseconds since 1970. Called by several threads at once. Destructor: as for comparators. */
winnow_clock_t* winnow_clock_create(void* state, void (*destructor)(void* state),
                                    uint64_t (*now_micros)(void* state));
void winnow_clock_destroy(winnow_clock_t* clock);
/* NULL: the operating system's. The clock may be given back while the database is open. */
void winnow_options_set_clock(winnow_options_t* options, winnow_clock_t* clock);

/* ---- Event listeners (beyond LevelDB) ---- */

/* Told of flushes, compactions, stalls, errors, damage, deadlocks (winnow/event_listener.h has the
   kinds and their names): `kind` as "flush-end"; `family` is the column family's name, or empty;
   `text` one or several lines for people. The strings live until the call returns. Called by a
   thread that each open database has for it, one event at a time, with no lock held: it may use the
   database, and not close it. Destructor: as for comparators. */
winnow_eventlistener_t* winnow_eventlistener_create(void* state, void (*destructor)(void* state),
                                                    void (*on_event)(void* state, const char* kind,
                                                                     const char* family,
                                                                     const char* text));
void winnow_eventlistener_destroy(winnow_eventlistener_t* listener);
/* One more of those that are told. The listener may be given back while the database is open. */
void winnow_options_add_event_listener(winnow_options_t* options, winnow_eventlistener_t* listener);

/* ---- Read options ---- */

winnow_readoptions_t* winnow_readoptions_create(void);
void winnow_readoptions_destroy(winnow_readoptions_t* options);
/* Check each block read from a file. Default true. */
void winnow_readoptions_set_verify_checksums(winnow_readoptions_t* options, uint8_t value);
/* Keep blocks read in the cache. Default true. */
void winnow_readoptions_set_fill_cache(winnow_readoptions_t* options, uint8_t value);
/* Read as of the snapshot, which must not have been released. NULL: the newest state. */
void winnow_readoptions_set_snapshot(winnow_readoptions_t* options,
                                     const winnow_snapshot_t* snapshot);

/* Beyond LevelDB: iterators see only keys in [lower bound, upper bound). A NULL key takes the bound
   away. */
void winnow_readoptions_set_lower_bound(winnow_readoptions_t* options, const char* key,
                                        size_t keylen);
void winnow_readoptions_set_upper_bound(winnow_readoptions_t* options, const char* key,
                                        size_t keylen);

/* ---- Write options ---- */

winnow_writeoptions_t* winnow_writeoptions_create(void);
void winnow_writeoptions_destroy(winnow_writeoptions_t* options);
/* Return only when the write survives a power failure. Default false. */
void winnow_writeoptions_set_sync(winnow_writeoptions_t* options, uint8_t value);

/* Beyond LevelDB: do not write the log. Default false. */
void winnow_writeoptions_set_disable_wal(winnow_writeoptions_t* options, uint8_t value);

/* ---- Cache ---- */

/* A block cache of `capacity` bytes. Databases that use it keep it alive after its destruction. */
winnow_cache_t* winnow_cache_create_lru(size_t capacity);
void winnow_cache_destroy(winnow_cache_t* cache);

/* ---- Env ---- */

/* The operating system's file system. */
winnow_env_t* winnow_create_default_env(void);
void winnow_env_destroy(winnow_env_t* env);
/* A directory for tests, created if it is missing: $TEST_TMPDIR, or /tmp/winnowtest-UID. Malloc'ed;
   NULL if it cannot be created or the env is in memory. */
char* winnow_env_get_test_directory(winnow_env_t* env);

/* Beyond LevelDB: an empty file system in memory, for tests. Databases that use it keep it alive.
 */
winnow_env_t* winnow_create_memory_env(void);

/* ---- The rest ---- */

/* For every result that the caller owns: free(), but for a text that no memory was there for. NULL
   does nothing. */
void winnow_free(void* ptr);
/* The version of the library. */
int winnow_major_version(void);
int winnow_minor_version(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

/* Transactions, and write batches that can be read. */
#include "winnow/c_transactions.h"

#endif /* WINNOW_C_H_ */
