// winnow/c_transactions.h: write batches that can be read.
#include <memory>

#include "engine/base/error_iterator.h"
#include "engine/compat/c_handles.h"

using winnow::BytesOf;
using winnow::ReportToC;

namespace winnow {

namespace {

// NULL is "default", also in a program that has never asked for a handle of it.
ColumnFamily* FamilyIn(const winnow_indexed_write_batch_t& handle, winnow_columnfamily_t* family) {
  return family == nullptr ? handle.db->default_family : family->family;
}

}  // namespace

}  // namespace winnow

// Refers to the database, whose families order the index: it must be given back before
// winnow_close.
winnow_indexed_write_batch_t* winnow_indexed_write_batch_create(winnow_t* db) {
  return winnow::NullIfOutOfMemory([db] {
    return new winnow_indexed_write_batch_t{db, winnow::IndexedWriteBatch(*db->db)};
  });
}

void winnow_indexed_write_batch_destroy(winnow_indexed_write_batch_t* batch) { delete batch; }

// With an errptr, unlike the updates of a plain batch: they enter the index at once, and one that
// fails leaves the batch as it was, so that nothing has to be remembered for the write.
void winnow_indexed_write_batch_put(winnow_indexed_write_batch_t* batch,
                                    winnow_columnfamily_t* family, const char* key, size_t keylen,
                                    const char* val, size_t vallen, char** errptr) {
  ReportToC(batch->batch.Put(winnow::FamilyIn(*batch, family), BytesOf(key, keylen),
                             BytesOf(val, vallen)),
            errptr);
}

void winnow_indexed_write_batch_delete(winnow_indexed_write_batch_t* batch,
                                       winnow_columnfamily_t* family, const char* key,
                                       size_t keylen, char** errptr) {
  ReportToC(batch->batch.Delete(winnow::FamilyIn(*batch, family), BytesOf(key, keylen)), errptr);
}

void winnow_indexed_write_batch_merge(winnow_indexed_write_batch_t* batch,
                                      winnow_columnfamily_t* family, const char* key, size_t keylen,
                                      const char* operand, size_t operand_len, char** errptr) {
  ReportToC(batch->batch.Merge(winnow::FamilyIn(*batch, family), BytesOf(key, keylen),
                               BytesOf(operand, operand_len)),
            errptr);
}

void winnow_indexed_write_batch_delete_range(winnow_indexed_write_batch_t* batch,
                                             winnow_columnfamily_t* family, const char* begin,
                                             size_t begin_len, const char* end, size_t end_len,
                                             char** errptr) {
  ReportToC(batch->batch.DeleteRange(winnow::FamilyIn(*batch, family), BytesOf(begin, begin_len),
                                     BytesOf(end, end_len)),
            errptr);
}

char* winnow_indexed_write_batch_get(winnow_indexed_write_batch_t* batch,
                                     const winnow_readoptions_t* options,
                                     winnow_columnfamily_t* family, const char* key, size_t keylen,
                                     size_t* vallen, char** errptr) {
  winnow::PinnedValue value;
  const absl::Status status = batch->batch.Get(options->options, winnow::FamilyIn(*batch, family),
                                               BytesOf(key, keylen), &value);
  return winnow::CopyFound(status, value.view(), vallen, errptr);
}

void winnow_indexed_write_batch_multi_get(winnow_indexed_write_batch_t* batch,
                                          const winnow_readoptions_t* options,
                                          winnow_columnfamily_t* family, size_t num_keys,
                                          const char* const* keys, const size_t* key_lens,
                                          char** values, size_t* value_lens, char** errs) {
  winnow::MultiGetToC(num_keys, keys, key_lens, values, value_lens, errs,
                      [&](auto given, auto found, auto statuses) {
                        batch->batch.MultiGet(options->options, winnow::FamilyIn(*batch, family),
                                              given, found, statuses);
                      });
}

winnow_iterator_t* winnow_indexed_write_batch_create_iterator(winnow_indexed_write_batch_t* batch,
                                                              const winnow_readoptions_t* options,
                                                              winnow_columnfamily_t* family) {
  // Without its bound an iterator would show too much: an error instead of wrong entries.
  if (winnow::LacksBound(*options)) return winnow::HandleOf(winnow::NewOutOfMemoryIterator());
  return winnow::HandleOf(
      batch->batch.NewIterator(options->options, winnow::FamilyIn(*batch, family)));
}

void winnow_indexed_write_batch_set_savepoint(winnow_indexed_write_batch_t* batch, char** errptr) {
  ReportToC(batch->batch.SetSavepoint(), errptr);
}

void winnow_indexed_write_batch_rollback_to_savepoint(winnow_indexed_write_batch_t* batch,
                                                      char** errptr) {
  ReportToC(batch->batch.RollbackToSavepoint(), errptr);
}

void winnow_indexed_write_batch_pop_savepoint(winnow_indexed_write_batch_t* batch, char** errptr) {
  ReportToC(batch->batch.PopSavepoint(), errptr);
}

// Iterators of the batch have an error from then on.
void winnow_indexed_write_batch_clear(winnow_indexed_write_batch_t* batch) { batch->batch.Clear(); }

uint32_t winnow_indexed_write_batch_count(const winnow_indexed_write_batch_t* batch) {
  return batch->batch.batch().num_updates();
}

// As winnow_write it writes nothing after a compaction that could not report its error.
void winnow_indexed_write_batch_write(winnow_indexed_write_batch_t* batch,
                                      const winnow_writeoptions_t* options, char** errptr) {
  if (!ReportToC(batch->db->compact_range_error.Get(), errptr)) return;
  ReportToC(batch->db->db->Write(options->options, batch->batch.batch()), errptr);
}
