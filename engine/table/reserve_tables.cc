#include "engine/table/reserve_tables.h"

#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/table/catalog.h"
#include "engine/table/cell_key.h"
#include "engine/table/signed_columns.h"
#include "engine/table/table_schema.h"

namespace winnow {

absl::StatusOr<std::vector<std::string>> ReserveTables(DB& db) {
  std::vector<std::string> names;
  // Without a catalog there are no tables, and none is made for that.
  const absl::StatusOr<ColumnFamily*> found = db.FindColumnFamily(kCatalogFamily);
  if (absl::IsNotFound(found.status())) return names;
  if (!found.ok()) return found.status();
  auto& store = static_cast<DBImpl&>(db);
  WINNOW_ASSIGN_OR_RETURN(const Catalog catalog, Catalog::Open(&store));
  WINNOW_ASSIGN_OR_RETURN(const Catalog::Contents contents, catalog.Load());
  for (const auto& [table, stored] : contents.tables) {
    for (const StoredFamily& family : stored.families) {
      // Named even if it is missing: it is the table's to make anew.
      names.push_back(ColumnFamilyName(table, family.schema.name));
      const absl::StatusOr<ColumnFamily*> there = db.FindColumnFamily(names.back());
      if (!there.ok()) continue;
      store.ReserveForOwner(
          *there, {.key_time_parser = ParseCellTime, .signed_entry_parser = ParseSignedCell});
      store.SetSignedFields(*there, SignedFieldsOf(family.schema));
    }
  }
  return names;
}

}  // namespace winnow
