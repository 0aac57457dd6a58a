#include "engine/table/table_state.h"

#include "engine/table/table_schema.h"

namespace winnow {

absl::Status TableState::Unusable() const {
  if (is_dropped()) {
    // A handle outlives its table: it is valid until the database is closed.
    return absl::FailedPreconditionError(absl::StrCat("table '", name_, "' has been dropped"));
  }
  // Dropped is for good; this the user can mend, and is told how.
  return absl::DataLossError(absl::StrCat(
      "table '", name_, "': the column family '", ColumnFamilyName(name_, missing_),
      "' is missing, and all that it held: `winnow table alter ", name_, " ", missing_,
      "` (AlterTable with the present schema) makes it anew, empty, and the other families have "
      "what they had; `winnow table drop ",
      name_, "` removes the table"));
}

absl::Status TableState::NoFamily(std::string_view family) const {
  return absl::NotFoundError(
      absl::StrCat("table '", name_, "' has no family '", ToAbsl(family), "'"));
}

absl::Status TableError(const TableState* table, const TableDatabase* owner) {
  if (table == nullptr) return absl::InvalidArgumentError("the table is null");
  if (table->owner() != owner) {
    return absl::InvalidArgumentError(
        absl::StrCat("table '", table->name(), "' belongs to another database"));
  }
  return table->Unusable();
}

absl::Status RowError(std::string_view row) {
  return absl::InvalidArgumentError(
      absl::StrCat("row of ", row.size(), " bytes; a row has 1 to ", kMaxRowBytes));
}

absl::Status QualifierError(std::string_view qualifier) {
  return absl::InvalidArgumentError(absl::StrCat("qualifier of ", qualifier.size(),
                                                 " bytes is over the limit of ", kMaxQualifierBytes,
                                                 " bytes"));
}

absl::Status CheckCellBytes(std::string_view value, size_t limit) {
  if (value.size() <= limit) [[likely]]
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cell of ", value.size(), " bytes is over the limit of ", limit, " bytes"));
}

absl::Status CheckTimestamp(uint64_t timestamp) {
  if (timestamp <= kMaxTimestamp) [[likely]]
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("timestamp ", timestamp, " is over the limit of ", kMaxTimestamp));
}

}  // namespace winnow
