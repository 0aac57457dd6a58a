// winnow/c.h: opening and closing, reading and writing.
#include <memory>
#include <vector>

#include "engine/base/error_iterator.h"
#include "engine/base/status.h"
#include "engine/compat/c_handles.h"
#include "engine/compat/error_text.h"

using winnow::BytesOf;
using winnow::CopyToC;
using winnow::ReportFrom;
using winnow::ReportToC;

namespace winnow {

namespace {

// An absent key is null without an error, here and in the functions below: only errptr tells it
// from a failure. A value in an SSTable is copied once, from its block.
char* GetCopy(winnow_t* db, const winnow_readoptions_t* options, ColumnFamily* family,
              std::string_view key, size_t* vallen, char** errptr) {
  PinnedValue value;
  const absl::Status status = db->db->Get(options->options, family, key, &value);
  return CopyFound(status, value.view(), vallen, errptr);
}

// The handle keeps the value's block in memory (a value from a memtable is copied into it), and so
// must be given back before the database is closed.
winnow_pinned_t* GetPinned(winnow_t* db, const winnow_readoptions_t* options, ColumnFamily* family,
                           std::string_view key, char** errptr) {
  std::unique_ptr<winnow_pinned_t> pinned;
  const absl::Status status = CatchOutOfMemory([&] {
    pinned = std::make_unique<winnow_pinned_t>();
    return db->db->Get(options->options, family, key, &pinned->value);
  });
  if (status.ok()) return pinned.release();
  if (!absl::IsNotFound(status)) ReportToC(status, errptr);
  return nullptr;
}

void MultiGet(winnow_t* db, const winnow_readoptions_t* options, ColumnFamily* family,
              size_t num_keys, const char* const* keys, const size_t* key_lens, char** values,
              size_t* value_lens, char** errs) {
  MultiGetToC(num_keys, keys, key_lens, values, value_lens, errs,
              [&](auto given, auto found, auto statuses) {
                db->db->MultiGet(options->options, family, given, found, statuses);
              });
}

// 0 for an absent key and for an error: whoever must know passes an errptr.
uint8_t ExistsIn(winnow_t* db, const winnow_readoptions_t* options, ColumnFamily* family,
                 std::string_view key, char** errptr) {
  const absl::StatusOr<bool> exists = db->db->Exists(options->options, family, key);
  return ReportToC(exists.status(), errptr) && *exists ? 1 : 0;
}

// Made when the program starts, since it is wanted when there is no memory, and never freed.
winnow_iterator_t* OutOfMemoryHandle() {
  static auto* const handle = new winnow_iterator_t{NewOutOfMemoryIterator()};
  return handle;
}

[[maybe_unused]] const winnow_iterator_t* const made_at_start = OutOfMemoryHandle();

// Never null, as in LevelDB: an iterator that could not be made has no entries and an error.
winnow_iterator_t* NewIteratorHandle(winnow_t* db, const winnow_readoptions_t* options,
                                     ColumnFamily* family) {
  return HandleOf(LacksBound(*options) ? NewOutOfMemoryIterator()
                                       : db->db->NewIterator(options->options, family));
}

// What LevelDB's function could not report is reported here.
template <typename Update>
void WriteWith(winnow_t* db, char** errptr, Update update) {
  if (!ReportToC(db->compact_range_error.Get(), errptr)) return;
  ReportToC(update(*db->db), errptr);
}

}  // namespace

// Each key has an outcome of its own: a copy that there is no memory for is the error of that key
// and no other. Only where the store's own arrays cannot be made do all keys get that error.
void MultiGetToC(size_t num_keys, const char* const* keys, const size_t* key_lens, char** values,
                 size_t* value_lens, char** errs,
                 absl::FunctionRef<void(std::span<const std::string_view>, std::span<PinnedValue>,
                                        std::span<absl::Status>)>
                     multi_get) {
  std::vector<std::string_view> views;
  std::vector<PinnedValue> found;
  std::vector<absl::Status> statuses;
  const bool had_memory = UnlessOutOfMemory([&] {
    views.reserve(num_keys);
    found.resize(num_keys);
    statuses.resize(num_keys);
  });
  if (had_memory) {
    for (size_t i = 0; i < num_keys; i++) views.push_back(BytesOf(keys[i], key_lens[i]));
    multi_get(views, found, statuses);
  }
  for (size_t i = 0; i < num_keys; i++) {
    // The caller's arrays are not initialised: whatever stands in errs[i] is not freed.
    values[i] = nullptr;
    value_lens[i] = 0;
    errs[i] = nullptr;
    absl::Status status = had_memory ? statuses[i] : OutOfMemory();
    if (status.ok()) {
      values[i] = CopyToC(found[i].view());
      if (values[i] == nullptr) status = OutOfMemory();
    }
    if (status.ok()) {
      value_lens[i] = found[i].view().size();
    } else if (!absl::IsNotFound(status)) {
      ReportToC(status, &errs[i]);
    }
  }
}

// As leveldb_get: a length of 0 wherever null is returned, and no error for an absent key.
char* CopyFound(const absl::Status& status, std::string_view value, size_t* vallen, char** errptr) {
  *vallen = 0;
  if (!status.ok()) {
    if (!absl::IsNotFound(status)) ReportToC(status, errptr);
    return nullptr;
  }
  char* const copy = CopyToC(value);
  if (copy == nullptr) {
    ReportToC(OutOfMemory(), errptr);
    return nullptr;
  }
  *vallen = value.size();
  return copy;
}

winnow_iterator_t* HandleOf(std::unique_ptr<Iterator> iterator) {
  winnow_iterator_t* const handle =
      NullIfOutOfMemory([&] { return new winnow_iterator_t{std::move(iterator)}; });
  return handle != nullptr ? handle : OutOfMemoryHandle();
}

}  // namespace winnow

// --- Databases ---

// The handle takes shares of what the options refer to (callbacks, file system), so that the caller
// may give all of it back at once. They are the first member and go last, after the database.
winnow_t* winnow_open(const winnow_options_t* options, const char* name, char** errptr) {
  std::unique_ptr<winnow_t> handle;
  const bool is_open = ReportFrom(errptr, [&]() -> absl::Status {
    handle = std::make_unique<winnow_t>();
    WINNOW_ASSIGN_OR_RETURN(const winnow::Options prepared,
                            winnow::PrepareOptions(*options, &handle->options_kept));
    // LevelDB creates the last directory of the path and no more: where its parent is missing,
    // programs get LevelDB's error.
    if (options->file_system == nullptr && prepared.create_if_missing) {
      WINNOW_RETURN_IF_ERROR(winnow::LevelDbCheckParent(name));
    }
    auto opened = winnow::DB::Open(prepared, name);
    if (!opened.ok()) {
      return winnow::LevelDbOpenError(opened.status(), name, prepared.create_if_missing);
    }
    handle->db = *std::move(opened);
    // For the functions without a family, so that they need not ask for it.
    handle->default_family = handle->db->DefaultColumnFamily();
    return absl::OkStatus();
  });
  return is_open ? handle.release() : nullptr;
}

// LevelDB's close returns nothing, and a late error of the disk is lost with it.
void winnow_close(winnow_t* db) { winnow_close_checked(db, nullptr); }

void winnow_close_checked(winnow_t* db, char** errptr) {
  if (db == nullptr) return;
  // Freed even if it fails: a handle that was given back must not be used again in any case.
  ReportToC(db->db->Close(), errptr);
  delete db;
}

// Here and in the writes below the function without a family calls the one with it, with a handle
// of the default family that lives for the call.
void winnow_put(winnow_t* db, const winnow_writeoptions_t* options, const char* key, size_t keylen,
                const char* val, size_t vallen, char** errptr) {
  winnow_columnfamily_t family = {db->default_family};
  winnow_put_cf(db, options, &family, key, keylen, val, vallen, errptr);
}

void winnow_put_cf(winnow_t* db, const winnow_writeoptions_t* options,
                   winnow_columnfamily_t* family, const char* key, size_t keylen, const char* val,
                   size_t vallen, char** errptr) {
  winnow::WriteWith(db, errptr, [&](winnow::DB& open) {
    return open.Put(options->options, family->family, BytesOf(key, keylen), BytesOf(val, vallen));
  });
}

void winnow_delete(winnow_t* db, const winnow_writeoptions_t* options, const char* key,
                   size_t keylen, char** errptr) {
  winnow_columnfamily_t family = {db->default_family};
  winnow_delete_cf(db, options, &family, key, keylen, errptr);
}

void winnow_delete_cf(winnow_t* db, const winnow_writeoptions_t* options,
                      winnow_columnfamily_t* family, const char* key, size_t keylen,
                      char** errptr) {
  winnow::WriteWith(db, errptr, [&](winnow::DB& open) {
    return open.Delete(options->options, family->family, BytesOf(key, keylen));
  });
}

void winnow_delete_range(winnow_t* db, const winnow_writeoptions_t* options, const char* begin,
                         size_t begin_len, const char* end, size_t end_len, char** errptr) {
  winnow_columnfamily_t family = {db->default_family};
  winnow_delete_range_cf(db, options, &family, begin, begin_len, end, end_len, errptr);
}

void winnow_delete_range_cf(winnow_t* db, const winnow_writeoptions_t* options,
                            winnow_columnfamily_t* family, const char* begin, size_t begin_len,
                            const char* end, size_t end_len, char** errptr) {
  winnow::WriteWith(db, errptr, [&](winnow::DB& open) {
    return open.DeleteRange(options->options, family->family, BytesOf(begin, begin_len),
                            BytesOf(end, end_len));
  });
}

// The batch stays the caller's, and may be written again.
void winnow_write(winnow_t* db, const winnow_writeoptions_t* options, winnow_writebatch_t* batch,
                  char** errptr) {
  winnow::WriteWith(db, errptr, [&](winnow::DB& open) {
    // A part of the batch would be neither the whole nor nothing.
    if (batch->is_incomplete) return winnow::OutOfMemory();
    return open.Write(options->options, batch->batch);
  });
}

char* winnow_get(winnow_t* db, const winnow_readoptions_t* options, const char* key, size_t keylen,
                 size_t* vallen, char** errptr) {
  return winnow::GetCopy(db, options, db->default_family, BytesOf(key, keylen), vallen, errptr);
}

char* winnow_get_cf(winnow_t* db, const winnow_readoptions_t* options,
                    winnow_columnfamily_t* family, const char* key, size_t keylen, size_t* vallen,
                    char** errptr) {
  return winnow::GetCopy(db, options, family->family, BytesOf(key, keylen), vallen, errptr);
}

winnow_pinned_t* winnow_get_pinned(winnow_t* db, const winnow_readoptions_t* options,
                                   const char* key, size_t keylen, char** errptr) {
  return winnow::GetPinned(db, options, db->default_family, BytesOf(key, keylen), errptr);
}

winnow_pinned_t* winnow_get_pinned_cf(winnow_t* db, const winnow_readoptions_t* options,
                                      winnow_columnfamily_t* family, const char* key, size_t keylen,
                                      char** errptr) {
  return winnow::GetPinned(db, options, family->family, BytesOf(key, keylen), errptr);
}

// Without a zero byte behind it: the bytes may be those of the block.
const char* winnow_pinned_value(const winnow_pinned_t* pinned, size_t* vallen) {
  *vallen = pinned->value.view().size();
  return pinned->value.view().data();
}

void winnow_pinned_destroy(winnow_pinned_t* pinned) { delete pinned; }

void winnow_multi_get(winnow_t* db, const winnow_readoptions_t* options, size_t num_keys,
                      const char* const* keys, const size_t* key_lens, char** values,
                      size_t* value_lens, char** errs) {
  winnow::MultiGet(db, options, db->default_family, num_keys, keys, key_lens, values, value_lens,
                   errs);
}

void winnow_multi_get_cf(winnow_t* db, const winnow_readoptions_t* options,
                         winnow_columnfamily_t* family, size_t num_keys, const char* const* keys,
                         const size_t* key_lens, char** values, size_t* value_lens, char** errs) {
  winnow::MultiGet(db, options, family->family, num_keys, keys, key_lens, values, value_lens, errs);
}

// Without an errptr, as it cannot fail: what cannot be asked may exist.
uint8_t winnow_may_exist(winnow_t* db, const winnow_readoptions_t* options, const char* key,
                         size_t keylen) {
  return db->db->MayExist(options->options, db->default_family, BytesOf(key, keylen)) ? 1 : 0;
}

uint8_t winnow_may_exist_cf(winnow_t* db, const winnow_readoptions_t* options,
                            winnow_columnfamily_t* family, const char* key, size_t keylen) {
  return db->db->MayExist(options->options, family->family, BytesOf(key, keylen)) ? 1 : 0;
}

uint8_t winnow_exists(winnow_t* db, const winnow_readoptions_t* options, const char* key,
                      size_t keylen, char** errptr) {
  return winnow::ExistsIn(db, options, db->default_family, BytesOf(key, keylen), errptr);
}

uint8_t winnow_exists_cf(winnow_t* db, const winnow_readoptions_t* options,
                         winnow_columnfamily_t* family, const char* key, size_t keylen,
                         char** errptr) {
  return winnow::ExistsIn(db, options, family->family, BytesOf(key, keylen), errptr);
}

winnow_iterator_t* winnow_create_iterator(winnow_t* db, const winnow_readoptions_t* options) {
  return winnow::NewIteratorHandle(db, options, db->default_family);
}

winnow_iterator_t* winnow_create_iterator_cf(winnow_t* db, const winnow_readoptions_t* options,
                                             winnow_columnfamily_t* family) {
  return winnow::NewIteratorHandle(db, options, family->family);
}

void winnow_iter_destroy(winnow_iterator_t* iterator) {
  if (iterator != winnow::OutOfMemoryHandle()) delete iterator;
}

// A snapshot's handle is the store's own object: it needs nothing besides.
const winnow_snapshot_t* winnow_create_snapshot(winnow_t* db) {
  return reinterpret_cast<const winnow_snapshot_t*>(db->db->GetSnapshot());
}

// Needs its database, unlike the _destroy functions: a snapshot is an entry in a list there.
void winnow_release_snapshot(winnow_t* db, const winnow_snapshot_t* snapshot) {
  if (snapshot == nullptr) return;
  db->db->ReleaseSnapshot(reinterpret_cast<const winnow::Snapshot*>(snapshot));
}

// --- The rest ---

int winnow_major_version(void) { return WINNOW_MAJOR_VERSION; }

int winnow_minor_version(void) { return WINNOW_MINOR_VERSION; }
