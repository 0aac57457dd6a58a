// What stands behind the handles of winnow/c.h.
#ifndef WINNOW_ENGINE_COMPAT_C_HANDLES_H_
#define WINNOW_ENGINE_COMPAT_C_HANDLES_H_

#include <cstddef>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "engine/compat/c_callbacks.h"
#include "engine/compat/c_results.h"
#include "engine/compat/compact_range_error.h"
#include "filter/base/mutex.h"
#include "winnow/c.h"
#include "winnow/db.h"
#include "winnow/file_system.h"
#include "winnow/indexed_write_batch.h"

// What a database needs for as long as it is open, whatever the caller has given back.
using KeptAlive = std::vector<std::shared_ptr<const void>>;

struct winnow_t {
  KeptAlive options_kept;  // destroyed last
  std::unique_ptr<winnow::DB> db;
  winnow::ColumnFamily* default_family = nullptr;
  winnow::CompactRangeError compact_range_error;
  winnow::Mutex mutex;
  std::list<KeptAlive> families_kept ABSL_GUARDED_BY(mutex);  // of families created while open
};
struct winnow_cache_t {
  std::shared_ptr<winnow::BlockCache> cache;
};
struct winnow_clock_t {
  std::shared_ptr<const winnow::CallbackClock> clock;
};
struct winnow_columnfamily_t {
  winnow::ColumnFamily* family;
};
struct winnow_compactionfilter_t {
  std::shared_ptr<const winnow::CallbackCompactionFilter> filter;
};
struct winnow_comparator_t {
  std::shared_ptr<winnow::CallbackComparator> comparator;
};
struct winnow_env_t {
  std::shared_ptr<winnow::FileSystem> file_system;  // null: the operating system's
};
struct winnow_eventlistener_t {
  std::shared_ptr<winnow::CallbackEventListener> listener;
};
struct winnow_filterpolicy_t {
  std::shared_ptr<const winnow::CallbackFilterPolicy> callbacks;  // null: `spec` says it
  std::string spec;
};
struct winnow_indexed_write_batch_t {
  winnow_t* db;
  winnow::IndexedWriteBatch batch;
};
struct winnow_iterator_t {
  std::unique_ptr<winnow::Iterator> iterator;
};
struct winnow_options_t {
  winnow::Options options;
  std::shared_ptr<const winnow::CallbackComparator> comparator;  // null: bytewise
  std::shared_ptr<const winnow::CallbackFilterPolicy> filter_policy;
  std::shared_ptr<const winnow::CallbackCompactionFilter> compaction_filter;
  std::shared_ptr<const winnow::CallbackClock> clock;
  std::shared_ptr<winnow::FileSystem> file_system;
  bool keys_promised_equal = false;  // by a Bloom policy, as LevelDB demands of its users
  KeptAlive families_kept;           // of options.column_families
  bool is_incomplete = false;        // a setter had no memory for what it was given
};
struct winnow_pinned_t {
  winnow::PinnedValue value;
};
struct winnow_readoptions_t {
  winnow::ReadOptions options;
  // There was no memory for the bound: without it an iterator would show too much.
  bool lower_bound_is_missing = false;
  bool upper_bound_is_missing = false;
};
struct winnow_sstwriter_t {
  KeptAlive options_kept;  // destroyed last
  std::unique_ptr<winnow::SstWriter> writer;
};
struct winnow_ingestoptions_t {
  winnow::IngestOptions options;
};
struct winnow_transaction_t {
  std::unique_ptr<winnow::Transaction> transaction;
  bool is_conflict = false;  // the last call's error
  bool is_timeout = false;   // likewise
};
struct winnow_transactionoptions_t {
  winnow::TransactionOptions options;
};
struct winnow_writebatch_t {
  winnow::WriteBatch batch;
  bool is_incomplete = false;  // there was no memory for an update
};
struct winnow_writeoptions_t {
  winnow::WriteOptions options;
};

namespace winnow {

inline std::string_view BytesOf(const char* data, size_t size) {
  return size == 0 ? std::string_view() : std::string_view(data, size);
}

// A copy for the caller; null without an error if the status is NotFound.
char* CopyFound(const absl::Status& status, std::string_view value, size_t* vallen, char** errptr);
// What the C functions for many keys do with the keys and with what `multi_get` finds.
void MultiGetToC(size_t num_keys, const char* const* keys, const size_t* key_lens, char** values,
                 size_t* value_lens, char** errs,
                 absl::FunctionRef<void(std::span<const std::string_view>, std::span<PinnedValue>,
                                        std::span<absl::Status>)>
                     multi_get);
// Never null: where there is no memory for it, one that says so.
winnow_iterator_t* HandleOf(std::unique_ptr<Iterator> iterator);
// True: there was no memory for a bound that iterators are to have.
inline bool LacksBound(const winnow_readoptions_t& options) {
  return options.lower_bound_is_missing || options.upper_bound_is_missing;
}

// The options with what the handle's callbacks add; `*kept` must live as long as they are used.
absl::StatusOr<Options> PrepareOptions(const winnow_options_t& handle, KeptAlive* kept);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPAT_C_HANDLES_H_
