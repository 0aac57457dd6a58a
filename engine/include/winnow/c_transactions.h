/* Transactions, and write batches that can be read, for C (winnow/transaction.h,
   winnow/indexed_write_batch.h): a part of winnow/c.h, whose conventions hold here. Nothing of it
   has a counterpart in LevelDB. */
#ifndef WINNOW_C_TRANSACTIONS_H_
#define WINNOW_C_TRANSACTIONS_H_

#include "winnow/c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Transactions ----

   A handle is for one thread at a time, and goes back to winnow_transaction_destroy whether the
   transaction was committed or not; one that was not is rolled back. It may be given back after its
   database was closed. Conflicts and deadlocks are errors that begin with "IO error: " and name the
   key; winnow_transaction_is_conflict tells them from all others. `family` may be NULL: "default".
 */

winnow_transactionoptions_t* winnow_transactionoptions_create(void);
void winnow_transactionoptions_destroy(winnow_transactionoptions_t* options);
/* Keys are locked as they are written or read for update. Default false: conflicts show at commit.
 */
void winnow_transactionoptions_set_pessimistic(winnow_transactionoptions_t* options, uint8_t value);
/* Default true. False: each read sees what is committed at its own moment. */
void winnow_transactionoptions_set_snapshot_at_begin(winnow_transactionoptions_t* options,
                                                     uint8_t value);
/* How long a call waits for a lock: 0 to 3600000, default 1000. */
void winnow_transactionoptions_set_lock_timeout_ms(winnow_transactionoptions_t* options,
                                                   int64_t milliseconds);
/* Default true. */
void winnow_transactionoptions_set_detect_deadlocks(winnow_transactionoptions_t* options,
                                                    uint8_t value);

/* NULL on failure. `options` may be NULL, and may be given back at once. */
winnow_transaction_t* winnow_begin_transaction(winnow_t* db,
                                               const winnow_transactionoptions_t* options,
                                               char** errptr);
void winnow_transaction_destroy(winnow_transaction_t* transaction);

void winnow_transaction_put(winnow_transaction_t* transaction, winnow_columnfamily_t* family,
                            const char* key, size_t keylen, const char* val, size_t vallen,
                            char** errptr);
void winnow_transaction_delete(winnow_transaction_t* transaction, winnow_columnfamily_t* family,
                               const char* key, size_t keylen, char** errptr);
void winnow_transaction_merge(winnow_transaction_t* transaction, winnow_columnfamily_t* family,
                              const char* key, size_t keylen, const char* operand,
                              size_t operand_len, char** errptr);
/* As winnow_delete_range. No range is locked: what others write into it is a conflict at commit. */
void winnow_transaction_delete_range(winnow_transaction_t* transaction,
                                     winnow_columnfamily_t* family, const char* begin,
                                     size_t begin_len, const char* end, size_t end_len,
                                     char** errptr);
/* As winnow_get: NULL without an error for an absent key. */
char* winnow_transaction_get(winnow_transaction_t* transaction, const winnow_readoptions_t* options,
                             winnow_columnfamily_t* family, const char* key, size_t keylen,
                             size_t* vallen, char** errptr);
/* The same, and the commit fails if another writes the key before. */
char* winnow_transaction_get_for_update(winnow_transaction_t* transaction,
                                        const winnow_readoptions_t* options,
                                        winnow_columnfamily_t* family, const char* key,
                                        size_t keylen, size_t* vallen, char** errptr);
/* As winnow_multi_get. */
void winnow_transaction_multi_get(winnow_transaction_t* transaction,
                                  const winnow_readoptions_t* options,
                                  winnow_columnfamily_t* family, size_t num_keys,
                                  const char* const* keys, const size_t* key_lens, char** values,
                                  size_t* value_lens, char** errs);
/* Never NULL. To be given back before the transaction. */
winnow_iterator_t* winnow_transaction_create_iterator(winnow_transaction_t* transaction,
                                                      const winnow_readoptions_t* options,
                                                      winnow_columnfamily_t* family);
void winnow_transaction_set_savepoint(winnow_transaction_t* transaction, char** errptr);
void winnow_transaction_rollback_to_savepoint(winnow_transaction_t* transaction, char** errptr);
/* The newest savepoint goes, the writes stay. */
void winnow_transaction_pop_savepoint(winnow_transaction_t* transaction, char** errptr);
/* After either the transaction is over, and can only be destroyed. */
void winnow_transaction_commit(winnow_transaction_t* transaction,
                               const winnow_writeoptions_t* options, char** errptr);
void winnow_transaction_rollback(winnow_transaction_t* transaction, char** errptr);
/* True if the last call with an errptr failed for a conflict or a deadlock: to begin anew may
   succeed. */
uint8_t winnow_transaction_is_conflict(const winnow_transaction_t* transaction);
/* True if it failed since a lock was not to be had in time: the transaction is as it was, and the
   call may be made again. */
uint8_t winnow_transaction_is_timeout(const winnow_transaction_t* transaction);
/* By which errors and events name it ("transaction 12 waits for ..."). No other transaction of the
   same opening of the database has it. */
uint64_t winnow_transaction_id(const winnow_transaction_t* transaction);

/* ---- Write batches that can be read ----

   Updates over the database that they will be written to: reads show what they would if the batch
   were written. Nothing is checked for conflicts. A handle is for one thread at a time, and is to
   be given back before its database is closed. `family` may be NULL: "default". A call that fails
   leaves the batch as it was. */

/* NULL: out of memory. */
winnow_indexed_write_batch_t* winnow_indexed_write_batch_create(winnow_t* db);
void winnow_indexed_write_batch_destroy(winnow_indexed_write_batch_t* batch);

void winnow_indexed_write_batch_put(winnow_indexed_write_batch_t* batch,
                                    winnow_columnfamily_t* family, const char* key, size_t keylen,
                                    const char* val, size_t vallen, char** errptr);
void winnow_indexed_write_batch_delete(winnow_indexed_write_batch_t* batch,
                                       winnow_columnfamily_t* family, const char* key,
                                       size_t keylen, char** errptr);
void winnow_indexed_write_batch_merge(winnow_indexed_write_batch_t* batch,
                                      winnow_columnfamily_t* family, const char* key, size_t keylen,
                                      const char* operand, size_t operand_len, char** errptr);
/* As winnow_delete_range; later updates show above it. */
void winnow_indexed_write_batch_delete_range(winnow_indexed_write_batch_t* batch,
                                             winnow_columnfamily_t* family, const char* begin,
                                             size_t begin_len, const char* end, size_t end_len,
                                             char** errptr);

/* As winnow_get: NULL without an error for an absent key. */
char* winnow_indexed_write_batch_get(winnow_indexed_write_batch_t* batch,
                                     const winnow_readoptions_t* options,
                                     winnow_columnfamily_t* family, const char* key, size_t keylen,
                                     size_t* vallen, char** errptr);
/* As winnow_multi_get. */
void winnow_indexed_write_batch_multi_get(winnow_indexed_write_batch_t* batch,
                                          const winnow_readoptions_t* options,
                                          winnow_columnfamily_t* family, size_t num_keys,
                                          const char* const* keys, const size_t* key_lens,
                                          char** values, size_t* value_lens, char** errs);
/* Never NULL. Shows the updates made so far; after a rollback, or a clear, it has an error. To be
   given back before the batch. */
winnow_iterator_t* winnow_indexed_write_batch_create_iterator(winnow_indexed_write_batch_t* batch,
                                                              const winnow_readoptions_t* options,
                                                              winnow_columnfamily_t* family);

void winnow_indexed_write_batch_set_savepoint(winnow_indexed_write_batch_t* batch, char** errptr);
/* Removes the updates since the newest savepoint, which is gone then. */
void winnow_indexed_write_batch_rollback_to_savepoint(winnow_indexed_write_batch_t* batch,
                                                      char** errptr);
/* The newest savepoint goes, the updates stay. */
void winnow_indexed_write_batch_pop_savepoint(winnow_indexed_write_batch_t* batch, char** errptr);
/* Updates and savepoints are gone. */
void winnow_indexed_write_batch_clear(winnow_indexed_write_batch_t* batch);
/* The number of updates. */
uint32_t winnow_indexed_write_batch_count(const winnow_indexed_write_batch_t* batch);

/* Applies the whole batch to its database, or nothing. The batch stays as it is. */
void winnow_indexed_write_batch_write(winnow_indexed_write_batch_t* batch,
                                      const winnow_writeoptions_t* options, char** errptr);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WINNOW_C_TRANSACTIONS_H_ */
