// Schemas: what is wrong with one, and the form in which they are stored (FORMAT.md).
#ifndef WINNOW_ENGINE_TABLE_TABLE_SCHEMA_H_
#define WINNOW_ENGINE_TABLE_TABLE_SCHEMA_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/table/family_rules.h"
#include "winnow/table.h"

namespace winnow {

// A family's schema with what else has to be known of it.
struct StoredFamily {
  FamilySchema schema;
  uint64_t tightened_ms = 0;  // FamilyRules
  bool has_row_markers = false;
  bool has_cell_ttls = false;
};

struct StoredTable {
  std::vector<StoredFamily> families;
};

std::string EncodeTable(const StoredTable& table);
// DataLoss: no table; FailedPrecondition: a newer version of Winnow wrote it.
absl::StatusOr<StoredTable> DecodeTable(std::string_view name, std::string_view stored);

// InvalidArgument names the field. Puts the families in order.
absl::Status CheckSchema(TableSchema* schema);

// Of a family whose schema is right.
FamilyRules RulesOf(const StoredFamily& family);
// Whether what `before` keeps may be gone by `after`.
bool AreStricter(const FamilySchema& after, const FamilySchema& before);

// FamilySchema::bloom_filter and `filter` as the store's filter and filter key, where they are
// right.
struct FilterTexts {
  std::string filter;
  std::string filter_key;
};
FilterTexts FilterTextsOf(const FamilySchema& schema);

// The column family that holds a table's family.
std::string ColumnFamilyName(std::string_view table, std::string_view family);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_TABLE_SCHEMA_H_
