// winnow/c.h: column families and their handles.
#include <cstdlib>

#include "engine/compat/c_handles.h"

using winnow::CopyToC;
using winnow::ReportToC;

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
