// winnow/c.h: column families and their handles.
#include <cstdlib>

#include "engine/base/status.h"
#include "engine/compat/c_handles.h"

using winnow::CopyToC;
using winnow::ReportFrom;
using winnow::ReportToC;

// A family that is created while the database is open brings callbacks of its own. The database may
// use them for background work until it is closed, even if the family is dropped before: they are
// kept for as long. The lock is there since several threads may create families. All memory first:
// once the family is there, so are its callbacks and its handle.
winnow_columnfamily_t* winnow_create_column_family(winnow_t* db, const winnow_options_t* options,
                                                   const char* name, char** errptr) {
  std::unique_ptr<winnow_columnfamily_t> handle;
  const bool created = ReportFrom(errptr, [&]() -> absl::Status {
    std::list<KeptAlive> kept(1);
    WINNOW_ASSIGN_OR_RETURN(const winnow::Options prepared,
                            winnow::PrepareOptions(*options, &kept.front()));
    handle = std::make_unique<winnow_columnfamily_t>();
    WINNOW_ASSIGN_OR_RETURN(handle->family, db->db->CreateColumnFamily(prepared, name));
    winnow::MutexLock lock(&db->mutex);
    db->families_kept.splice(db->families_kept.end(), kept);
    return absl::OkStatus();
  });
  return created ? handle.release() : nullptr;
}

// A handle for each call: two handles of one family may be given back independently.
winnow_columnfamily_t* winnow_find_column_family(winnow_t* db, const char* name, char** errptr) {
  std::unique_ptr<winnow_columnfamily_t> handle;
  const bool found = ReportFrom(errptr, [&]() -> absl::Status {
    handle = std::make_unique<winnow_columnfamily_t>();
    WINNOW_ASSIGN_OR_RETURN(handle->family, db->db->FindColumnFamily(name));
    return absl::OkStatus();
  });
  return found ? handle.release() : nullptr;
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
  char** list = nullptr;
  ReportFrom(errptr, [&]() -> absl::Status {
    KeptAlive kept;
    WINNOW_ASSIGN_OR_RETURN(const winnow::Options prepared,
                            winnow::PrepareOptions(*options, &kept));
    WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                            winnow::DB::ListColumnFamilies(prepared, name));
    // Never an empty list: each database has "default".
    list = static_cast<char**>(std::malloc(names.size() * sizeof(char*)));
    if (list == nullptr) return winnow::OutOfMemory();
    for (const std::string& family : names) {
      char* const copy = CopyToC(family);
      if (copy == nullptr) {
        winnow_list_column_families_destroy(std::exchange(list, nullptr), std::exchange(*num, 0));
        return winnow::OutOfMemory();
      }
      list[(*num)++] = copy;
    }
    return absl::OkStatus();
  });
  return list;
}

// For all that winnow_list_column_families has made: the names and the array.
void winnow_list_column_families_destroy(char** names, size_t num) {
  for (size_t i = 0; i < num; i++) std::free(names[i]);
  std::free(names);
}
