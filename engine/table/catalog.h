// What a database knows of its tables: schemas, intents, and the bounds of its clock, in a column
// family of their own (FORMAT.md).
#ifndef WINNOW_ENGINE_TABLE_CATALOG_H_
#define WINNOW_ENGINE_TABLE_CATALOG_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/db/db_impl.h"
#include "engine/table/table_schema.h"
#include "engine/table/write_clock.h"

namespace winnow {

inline constexpr std::string_view kCatalogFamily = "winnow.tables";

class Catalog {
 public:
  // Creates the column family if it is missing; from then on only the catalog writes to it. The
  // database must outlive the catalog.
  static absl::StatusOr<Catalog> Open(DBImpl* db);

  struct Contents {
    std::map<std::string, StoredTable, std::less<>> tables;
    std::vector<std::string> intents;  // names of column families
    WriteClock::Bounds bounds;
  };
  absl::StatusOr<Contents> Load() const;

  // All of these are durable when they return, but for SaveBounds and SaveFlags, which are so
  // before any write that is made later.
  absl::Status AddIntents(const std::vector<std::string>& column_families);
  absl::Status RemoveIntents(const std::vector<std::string>& column_families);
  // Takes the intents of `added` away, and adds those of `removed`.
  absl::Status SaveTable(std::string_view name, const StoredTable& table,
                         const std::vector<std::string>& added,
                         const std::vector<std::string>& removed);
  absl::Status RemoveTable(std::string_view name, const std::vector<std::string>& removed);
  absl::Status SaveFlags(std::string_view name, const StoredTable& table);
  absl::Status SaveBounds(const WriteClock::Bounds& bounds);

 private:
  Catalog(DBImpl* db, ColumnFamily* family) : db_(db), family_(family) {}
  absl::Status WriteDurably(const WriteBatch& batch);

  DBImpl* db_;
  ColumnFamily* family_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_CATALOG_H_
