// winnow/c.h: databases and column families.
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/compat/c_handles.h"
#include "engine/compat/error_text.h"
#include "engine/compat/leveldb_properties.h"
#include "winnow/repair.h"

using winnow::BytesOf;
using winnow::CopyToC;
using winnow::ReportToC;

namespace winnow {

// malloc, because the caller may be written in any language and gives the result back with
// winnow_free. The zero byte behind it makes text of it, and keeps an empty value from being a
// request for no memory, whose result may be null, which means "absent".
char* CopyToC(std::string_view bytes) {
  char* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (copy == nullptr) return nullptr;
  if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
  copy[bytes.size()] = '\0';
  return copy;
}

// LevelDB's contract: success leaves *errptr alone, so that one variable can serve many calls
// before it is looked at; failure frees what is there, and so it must be null or malloc'ed from the
// start.
bool ReportToC(const absl::Status& status, char** errptr) {
  if (status.ok()) return true;
  if (errptr == nullptr) return false;
  std::free(*errptr);
  *errptr = CopyToC(LevelDbErrorText(status));
  return false;
}

namespace {

// Null is no bound, whatever the length; an empty key is one.
std::optional<std::string_view> Bound(const char* key, size_t length) {
  if (key == nullptr) return std::nullopt;
  return BytesOf(key, length);
}

// Null for "as it was", as the empty text is in C++.
std::string_view TextOrEmpty(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

// An absent key is null without an error, here and in the functions below: only errptr tells it
// from a failure. A value in an SSTable is copied once, from its block.
char* GetCopy(winnow_t* db, const winnow_readoptions_t* options, ColumnFamily* family,
              std::string_view key, size_t* vallen, char** errptr) {
  *vallen = 0;
  PinnedValue value;
  const absl::Status status = db->db->Get(options->options, family, key, &value);
  if (!status.ok()) {
    if (!absl::IsNotFound(status)) ReportToC(status, errptr);
    return nullptr;
  }
  char* copy = CopyToC(value.view());
  if (copy == nullptr) {
    ReportToC(absl::ResourceExhaustedError("no memory for the value"), errptr);
    return nullptr;
  }
  *vallen = value.view().size();
  return copy;
}

// The handle keeps the value's block in memory (a value from a memtable is copied into it), and so
// must be given back before the database is closed.
winnow_pinned_t* GetPinned(winnow_t* db, const winnow_readoptions_t* options, ColumnFamily* family,
                           std::string_view key, char** errptr) {
  auto pinned = std::make_unique<winnow_pinned_t>();
  const absl::Status status = db->db->Get(options->options, family, key, &pinned->value);
  if (status.ok()) return pinned.release();
  if (!absl::IsNotFound(status)) ReportToC(status, errptr);
  return nullptr;
}

void MultiGet(winnow_t* db, const winnow_readoptions_t* options, ColumnFamily* family,
              size_t num_keys, const char* const* keys, const size_t* key_lens, char** values,
              size_t* value_lens, char** errs) {
  std::vector<std::string_view> views;
  views.reserve(num_keys);
  for (size_t i = 0; i < num_keys; i++) views.push_back(BytesOf(keys[i], key_lens[i]));
  std::vector<PinnedValue> found(num_keys);
  std::vector<absl::Status> statuses(num_keys);
  db->db->MultiGet(options->options, family, views, found, statuses);
  for (size_t i = 0; i < num_keys; i++) {
    // The caller's arrays are not initialised: whatever stands in errs[i] is not freed.
    values[i] = nullptr;
    value_lens[i] = 0;
    errs[i] = nullptr;
    if (statuses[i].ok()) {
      values[i] = CopyToC(found[i].view());
      value_lens[i] = found[i].view().size();
    } else if (!absl::IsNotFound(statuses[i])) {
      ReportToC(statuses[i], &errs[i]);
    }
  }
}

// Both sets of names: programs of LevelDB's C API ask for its own.
char* PropertyValue(winnow_t* db, ColumnFamily* family, const char* name) {
  const std::optional<std::string> value = LevelDbProperty(*db->db, family, name);
  return value.has_value() ? CopyToC(*value) : nullptr;
}

char* ExplainText(winnow_t* db, ColumnFamily* family, std::string_view key, bool json,
                  char** errptr) {
  const absl::StatusOr<KeyExplanation> explanation = db->db->Explain(family, key);
  if (!ReportToC(explanation.status(), errptr)) return nullptr;
  return CopyToC(json ? explanation->ToJson() : explanation->ToString());
}

// 0 for an absent key and for an error: whoever must know passes an errptr.
uint8_t ExistsIn(winnow_t* db, const winnow_readoptions_t* options, ColumnFamily* family,
                 std::string_view key, char** errptr) {
  const absl::StatusOr<bool> exists = db->db->Exists(options->options, family, key);
  return ReportToC(exists.status(), errptr) && *exists ? 1 : 0;
}

void ApproximateSizes(winnow_t* db, ColumnFamily* family, int num_ranges, const char* const* starts,
                      const size_t* start_lengths, const char* const* limits,
                      const size_t* limit_lengths, uint64_t* sizes) {
  // One by one: there is no errptr, so that a range that cannot be answered is 0 and costs the
  // others nothing.
  for (int i = 0; i < num_ranges; i++) {
    const KeyRange range = {BytesOf(starts[i], start_lengths[i]),
                            BytesOf(limits[i], limit_lengths[i])};
    const auto bytes = db->db->GetApproximateSizes(family, {&range, 1});
    sizes[i] = bytes.ok() ? bytes->front() : 0;
  }
}

// Stays in the database's error state, where the property "winnow.background-error" shows it.
// LevelDB's function reports nothing either.
void CompactRangeIn(winnow_t* db, ColumnFamily* family, const char* start, size_t start_length,
                    const char* limit, size_t limit_length) {
  db->db->CompactRange(family, Bound(start, start_length), Bound(limit, limit_length))
      .IgnoreError();
}

}  // namespace

}  // namespace winnow

// --- Databases ---

// The handle takes shares of what the options refer to (callbacks, file system), so that the caller
// may give all of it back at once. They are the first member and go last, after the database.
winnow_t* winnow_open(const winnow_options_t* options, const char* name, char** errptr) {
  auto handle = std::make_unique<winnow_t>();
  const winnow::Options prepared = winnow::PrepareOptions(*options, &handle->options_kept);
  auto opened = winnow::DB::Open(prepared, name);
  if (!ReportToC(opened.status(), errptr)) return nullptr;
  handle->db = *std::move(opened);
  // For the functions without a family, so that they need not ask for it.
  handle->default_family = handle->db->DefaultColumnFamily();
  return handle.release();
}

// LevelDB's close returns nothing, and a late error of the disk is lost with it.
void winnow_close(winnow_t* db) { winnow_close_checked(db, nullptr); }

void winnow_close_checked(winnow_t* db, char** errptr) {
  if (db == nullptr) return;
  // Freed even if it fails: a handle that was given back must not be used again in any case.
  ReportToC(db->db->Close(), errptr);
  delete db;
}

void winnow_put(winnow_t* db, const winnow_writeoptions_t* options, const char* key, size_t keylen,
                const char* val, size_t vallen, char** errptr) {
  ReportToC(
      db->db->Put(options->options, db->default_family, BytesOf(key, keylen), BytesOf(val, vallen)),
      errptr);
}

void winnow_put_cf(winnow_t* db, const winnow_writeoptions_t* options,
                   winnow_columnfamily_t* family, const char* key, size_t keylen, const char* val,
                   size_t vallen, char** errptr) {
  ReportToC(
      db->db->Put(options->options, family->family, BytesOf(key, keylen), BytesOf(val, vallen)),
      errptr);
}

void winnow_delete(winnow_t* db, const winnow_writeoptions_t* options, const char* key,
                   size_t keylen, char** errptr) {
  ReportToC(db->db->Delete(options->options, db->default_family, BytesOf(key, keylen)), errptr);
}

void winnow_delete_cf(winnow_t* db, const winnow_writeoptions_t* options,
                      winnow_columnfamily_t* family, const char* key, size_t keylen,
                      char** errptr) {
  ReportToC(db->db->Delete(options->options, family->family, BytesOf(key, keylen)), errptr);
}

// The batch stays the caller's, and may be written again.
void winnow_write(winnow_t* db, const winnow_writeoptions_t* options, winnow_writebatch_t* batch,
                  char** errptr) {
  ReportToC(db->db->Write(options->options, batch->batch), errptr);
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

// Never null, as in LevelDB: an iterator that could not be made has no entries and an error.
winnow_iterator_t* winnow_create_iterator(winnow_t* db, const winnow_readoptions_t* options) {
  return new winnow_iterator_t{db->db->NewIterator(options->options, db->default_family)};
}

winnow_iterator_t* winnow_create_iterator_cf(winnow_t* db, const winnow_readoptions_t* options,
                                             winnow_columnfamily_t* family) {
  return new winnow_iterator_t{db->db->NewIterator(options->options, family->family)};
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

char* winnow_property_value(winnow_t* db, const char* propname) {
  return winnow::PropertyValue(db, db->default_family, propname);
}

char* winnow_property_value_cf(winnow_t* db, winnow_columnfamily_t* family, const char* propname) {
  return winnow::PropertyValue(db, family->family, propname);
}

void winnow_approximate_sizes(winnow_t* db, int num_ranges, const char* const* range_start_key,
                              const size_t* range_start_key_len, const char* const* range_limit_key,
                              const size_t* range_limit_key_len, uint64_t* sizes) {
  winnow::ApproximateSizes(db, db->default_family, num_ranges, range_start_key, range_start_key_len,
                           range_limit_key, range_limit_key_len, sizes);
}

void winnow_approximate_sizes_cf(winnow_t* db, winnow_columnfamily_t* family, int num_ranges,
                                 const char* const* range_start_key,
                                 const size_t* range_start_key_len,
                                 const char* const* range_limit_key,
                                 const size_t* range_limit_key_len, uint64_t* sizes) {
  winnow::ApproximateSizes(db, family->family, num_ranges, range_start_key, range_start_key_len,
                           range_limit_key, range_limit_key_len, sizes);
}

void winnow_compact_range(winnow_t* db, const char* start_key, size_t start_key_len,
                          const char* limit_key, size_t limit_key_len) {
  winnow::CompactRangeIn(db, db->default_family, start_key, start_key_len, limit_key,
                         limit_key_len);
}

void winnow_compact_range_cf(winnow_t* db, winnow_columnfamily_t* family, const char* start_key,
                             size_t start_key_len, const char* limit_key, size_t limit_key_len) {
  winnow::CompactRangeIn(db, family->family, start_key, start_key_len, limit_key, limit_key_len);
}

void winnow_flush(winnow_t* db, char** errptr) {
  ReportToC(db->db->Flush(db->default_family), errptr);
}

void winnow_flush_cf(winnow_t* db, winnow_columnfamily_t* family, char** errptr) {
  ReportToC(db->db->Flush(family->family), errptr);
}

void winnow_wait_for_background_work(winnow_t* db, char** errptr) {
  ReportToC(db->db->WaitForBackgroundWork(), errptr);
}

void winnow_set_filter(winnow_t* db, const char* filter, const char* filter_key, char** errptr) {
  ReportToC(db->db->SetFilter(db->default_family, winnow::TextOrEmpty(filter),
                              winnow::TextOrEmpty(filter_key)),
            errptr);
}

void winnow_set_filter_cf(winnow_t* db, winnow_columnfamily_t* family, const char* filter,
                          const char* filter_key, char** errptr) {
  ReportToC(db->db->SetFilter(family->family, winnow::TextOrEmpty(filter),
                              winnow::TextOrEmpty(filter_key)),
            errptr);
}

char* winnow_explain(winnow_t* db, const char* key, size_t keylen, char** errptr) {
  return winnow::ExplainText(db, db->default_family, BytesOf(key, keylen), /*json=*/false, errptr);
}

char* winnow_explain_cf(winnow_t* db, winnow_columnfamily_t* family, const char* key, size_t keylen,
                        char** errptr) {
  return winnow::ExplainText(db, family->family, BytesOf(key, keylen), /*json=*/false, errptr);
}

char* winnow_explain_json(winnow_t* db, const char* key, size_t keylen, char** errptr) {
  return winnow::ExplainText(db, db->default_family, BytesOf(key, keylen), /*json=*/true, errptr);
}

char* winnow_explain_json_cf(winnow_t* db, winnow_columnfamily_t* family, const char* key,
                             size_t keylen, char** errptr) {
  return winnow::ExplainText(db, family->family, BytesOf(key, keylen), /*json=*/true, errptr);
}

char* winnow_verify(winnow_t* db) {
  // Null is "all is well", so that what kept the check from being made must be text too.
  const auto problems = db->db->Verify();
  if (!problems.ok()) return CopyToC(absl::StrCat(problems.status().message(), "\n"));
  std::string text;
  for (const winnow::VerifyProblem& problem : *problems) {
    absl::StrAppend(&text, problem.status.message(), "\n");
  }
  return text.empty() ? nullptr : CopyToC(text);
}

// Here and in the next function nothing outlives the call, and `kept` is local.
void winnow_destroy_db(const winnow_options_t* options, const char* name, char** errptr) {
  KeptAlive kept;
  ReportToC(winnow::DB::Destroy(winnow::PrepareOptions(*options, &kept), name), errptr);
}

void winnow_repair_db(const winnow_options_t* options, const char* name, char** errptr) {
  KeptAlive kept;
  ReportToC(winnow::RepairDatabase(winnow::PrepareOptions(*options, &kept), name).status(), errptr);
}

// --- Column families ---

// A family that is created while the database is open brings callbacks of its own. The database may
// use them for background work until it is closed, even if the family is dropped before: they are
// kept for as long. The lock is there since several threads may create families.
winnow_columnfamily_t* winnow_create_column_family(winnow_t* db, const winnow_options_t* options,
                                                   const char* name, char** errptr) {
  KeptAlive kept;
  const winnow::Options prepared = winnow::PrepareOptions(*options, &kept);
  const auto family = db->db->CreateColumnFamily(prepared, name);
  if (!ReportToC(family.status(), errptr)) return nullptr;
  winnow::MutexLock lock(&db->mutex);
  db->families_kept.insert(db->families_kept.end(), kept.begin(), kept.end());
  return new winnow_columnfamily_t{*family};
}

// A handle for each call: two handles of one family may be given back independently.
winnow_columnfamily_t* winnow_find_column_family(winnow_t* db, const char* name, char** errptr) {
  const auto family = db->db->FindColumnFamily(name);
  return ReportToC(family.status(), errptr) ? new winnow_columnfamily_t{*family} : nullptr;
}

// The family's data is unreachable from now on; the handle is still the caller's to give back.
void winnow_drop_column_family(winnow_t* db, winnow_columnfamily_t* family, char** errptr) {
  ReportToC(db->db->DropColumnFamily(family->family), errptr);
}

// The handle only: the family itself belongs to the database.
void winnow_columnfamily_destroy(winnow_columnfamily_t* family) { delete family; }

const char* winnow_columnfamily_name(const winnow_columnfamily_t* family, size_t* length) {
  *length = family->family->name().size();
  return family->family->name().data();
}

// What the callbacks of winnow_writebatch_iterate_cf are given.
uint32_t winnow_columnfamily_id(const winnow_columnfamily_t* family) {
  return family->family->id();
}

char** winnow_list_column_families(const winnow_options_t* options, const char* name, size_t* num,
                                   char** errptr) {
  *num = 0;
  KeptAlive kept;
  const auto names = winnow::DB::ListColumnFamilies(winnow::PrepareOptions(*options, &kept), name);
  if (!ReportToC(names.status(), errptr)) return nullptr;
  // Never an empty list: each database has "default".
  auto** list = static_cast<char**>(std::malloc(names->size() * sizeof(char*)));
  if (list == nullptr) return nullptr;
  for (const std::string& family : *names) list[(*num)++] = CopyToC(family);
  return list;
}

// For all that winnow_list_column_families has made: the names and the array.
void winnow_list_column_families_destroy(char** names, size_t num) {
  for (size_t i = 0; i < num; i++) std::free(names[i]);
  std::free(names);
}

// --- The rest ---

// The library's free for the library's malloc: a caller may be linked with another allocator.
void winnow_free(void* ptr) { std::free(ptr); }

int winnow_major_version(void) { return WINNOW_MAJOR_VERSION; }

int winnow_minor_version(void) { return WINNOW_MINOR_VERSION; }
