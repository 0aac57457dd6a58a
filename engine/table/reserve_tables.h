// For programs that open a database without its tables, and are not to harm them.
#ifndef WINNOW_ENGINE_TABLE_RESERVE_TABLES_H_
#define WINNOW_ENGINE_TABLE_RESERVE_TABLES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/db.h"

namespace winnow {

// The column families of the tables that the database has, and of their catalog, are reserved
// (DBImpl::ReserveForOwner). Gives the names of all that tables have, those that are missing
// included.
absl::StatusOr<std::vector<std::string>> ReserveTables(DB& db);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_RESERVE_TABLES_H_
