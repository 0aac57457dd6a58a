// winnow/c_transactions.h: transactions.
#include <chrono>
#include <memory>
#include <utility>

#include "engine/base/error_iterator.h"
#include "engine/base/status.h"
#include "engine/compat/c_handles.h"

using winnow::BytesOf;
using winnow::NullIfOutOfMemory;
using winnow::ReportFrom;
using winnow::ReportToC;

namespace winnow {

namespace {

// NULL is "default", as everywhere in winnow/c_transactions.h.
ColumnFamily* FamilyOf(const winnow_transaction_t& handle, winnow_columnfamily_t* family) {
  return family == nullptr ? handle.transaction->DefaultColumnFamily() : family->family;
}

// Every call's outcome passes here.
// A success clears it too: the question is about the last call.
absl::Status Noted(winnow_transaction_t* handle, absl::Status status) {
  handle->is_conflict = absl::IsAborted(status);
  handle->is_timeout = absl::IsDeadlineExceeded(status);
  return status;
}

}  // namespace

}  // namespace winnow

winnow_transactionoptions_t* winnow_transactionoptions_create(void) {
  return NullIfOutOfMemory([] { return new winnow_transactionoptions_t; });
}

void winnow_transactionoptions_destroy(winnow_transactionoptions_t* options) { delete options; }

void winnow_transactionoptions_set_pessimistic(winnow_transactionoptions_t* options,
                                               uint8_t value) {
  using Mode = winnow::TransactionOptions::Mode;
  options->options.mode = value != 0 ? Mode::kPessimistic : Mode::kOptimistic;
}

void winnow_transactionoptions_set_snapshot_at_begin(winnow_transactionoptions_t* options,
                                                     uint8_t value) {
  options->options.snapshot_at_begin = value != 0;
}

// A value out of range is refused when a transaction begins, which has an errptr.
void winnow_transactionoptions_set_lock_timeout_ms(winnow_transactionoptions_t* options,
                                                   int64_t milliseconds) {
  options->options.lock_timeout = std::chrono::milliseconds(milliseconds);
}

void winnow_transactionoptions_set_detect_deadlocks(winnow_transactionoptions_t* options,
                                                    uint8_t value) {
  options->options.detect_deadlocks = value != 0;
}

// The handle first: once the transaction has begun nothing can fail, and no lock or snapshot is
// left without an owner.
winnow_transaction_t* winnow_begin_transaction(winnow_t* db,
                                               const winnow_transactionoptions_t* options,
                                               char** errptr) {
  std::unique_ptr<winnow_transaction_t> handle;
  const bool begun = ReportFrom(errptr, [&]() -> absl::Status {
    handle = std::make_unique<winnow_transaction_t>();
    // For NULL options.
    const winnow::TransactionOptions defaults;
    WINNOW_ASSIGN_OR_RETURN(
        handle->transaction,
        db->db->BeginTransaction(options == nullptr ? defaults : options->options));
    return absl::OkStatus();
  });
  return begun ? handle.release() : nullptr;
}

// Rolls back what was not committed, and releases its locks.
void winnow_transaction_destroy(winnow_transaction_t* transaction) { delete transaction; }

void winnow_transaction_put(winnow_transaction_t* transaction, winnow_columnfamily_t* family,
                            const char* key, size_t keylen, const char* val, size_t vallen,
                            char** errptr) {
  ReportToC(winnow::Noted(transaction, transaction->transaction->Put(
                                           winnow::FamilyOf(*transaction, family),
                                           BytesOf(key, keylen), BytesOf(val, vallen))),
            errptr);
}

void winnow_transaction_delete(winnow_transaction_t* transaction, winnow_columnfamily_t* family,
                               const char* key, size_t keylen, char** errptr) {
  ReportToC(
      winnow::Noted(transaction, transaction->transaction->Delete(
                                     winnow::FamilyOf(*transaction, family), BytesOf(key, keylen))),
      errptr);
}

void winnow_transaction_merge(winnow_transaction_t* transaction, winnow_columnfamily_t* family,
                              const char* key, size_t keylen, const char* operand,
                              size_t operand_len, char** errptr) {
  ReportToC(winnow::Noted(transaction, transaction->transaction->Merge(
                                           winnow::FamilyOf(*transaction, family),
                                           BytesOf(key, keylen), BytesOf(operand, operand_len))),
            errptr);
}

void winnow_transaction_delete_range(winnow_transaction_t* transaction,
                                     winnow_columnfamily_t* family, const char* begin,
                                     size_t begin_len, const char* end, size_t end_len,
                                     char** errptr) {
  ReportToC(winnow::Noted(transaction, transaction->transaction->DeleteRange(
                                           winnow::FamilyOf(*transaction, family),
                                           BytesOf(begin, begin_len), BytesOf(end, end_len))),
            errptr);
}

char* winnow_transaction_get(winnow_transaction_t* transaction, const winnow_readoptions_t* options,
                             winnow_columnfamily_t* family, const char* key, size_t keylen,
                             size_t* vallen, char** errptr) {
  winnow::PinnedValue value;
  const absl::Status status = winnow::Noted(
      transaction,
      transaction->transaction->Get(options->options, winnow::FamilyOf(*transaction, family),
                                    BytesOf(key, keylen), &value));
  return winnow::CopyFound(status, value.view(), vallen, errptr);
}

// An error here may be a conflict, where a plain get has none.
char* winnow_transaction_get_for_update(winnow_transaction_t* transaction,
                                        const winnow_readoptions_t* options,
                                        winnow_columnfamily_t* family, const char* key,
                                        size_t keylen, size_t* vallen, char** errptr) {
  winnow::PinnedValue value;
  const absl::Status status = winnow::Noted(
      transaction,
      transaction->transaction->GetForUpdate(
          options->options, winnow::FamilyOf(*transaction, family), BytesOf(key, keylen), &value));
  return winnow::CopyFound(status, value.view(), vallen, errptr);
}

// Not noted: it locks nothing, and so meets no conflict, and each key has an errptr of its own.
void winnow_transaction_multi_get(winnow_transaction_t* transaction,
                                  const winnow_readoptions_t* options,
                                  winnow_columnfamily_t* family, size_t num_keys,
                                  const char* const* keys, const size_t* key_lens, char** values,
                                  size_t* value_lens, char** errs) {
  winnow::MultiGetToC(num_keys, keys, key_lens, values, value_lens, errs,
                      [&](auto given, auto found, auto statuses) {
                        transaction->transaction->MultiGet(options->options,
                                                           winnow::FamilyOf(*transaction, family),
                                                           given, found, statuses);
                      });
}

winnow_iterator_t* winnow_transaction_create_iterator(winnow_transaction_t* transaction,
                                                      const winnow_readoptions_t* options,
                                                      winnow_columnfamily_t* family) {
  // Without its bound it would show too much.
  if (winnow::LacksBound(*options)) return winnow::HandleOf(winnow::NewOutOfMemoryIterator());
  return winnow::HandleOf(transaction->transaction->NewIterator(
      options->options, winnow::FamilyOf(*transaction, family)));
}

void winnow_transaction_set_savepoint(winnow_transaction_t* transaction, char** errptr) {
  ReportToC(winnow::Noted(transaction, transaction->transaction->SetSavepoint()), errptr);
}

void winnow_transaction_rollback_to_savepoint(winnow_transaction_t* transaction, char** errptr) {
  ReportToC(winnow::Noted(transaction, transaction->transaction->RollbackToSavepoint()), errptr);
}

void winnow_transaction_pop_savepoint(winnow_transaction_t* transaction, char** errptr) {
  ReportToC(winnow::Noted(transaction, transaction->transaction->PopSavepoint()), errptr);
}

// Does not look at compact_range_error: that is for programs of LevelDB's, which have no
// transactions (winnow/c.h).
void winnow_transaction_commit(winnow_transaction_t* transaction,
                               const winnow_writeoptions_t* options, char** errptr) {
  ReportToC(winnow::Noted(transaction, transaction->transaction->Commit(options->options)), errptr);
}

void winnow_transaction_rollback(winnow_transaction_t* transaction, char** errptr) {
  ReportToC(winnow::Noted(transaction, transaction->transaction->Rollback()), errptr);
}

uint8_t winnow_transaction_is_conflict(const winnow_transaction_t* transaction) {
  return transaction->is_conflict ? 1 : 0;
}

uint8_t winnow_transaction_is_timeout(const winnow_transaction_t* transaction) {
  return transaction->is_timeout ? 1 : 0;
}

uint64_t winnow_transaction_id(const winnow_transaction_t* transaction) {
  return transaction->transaction->id();
}
