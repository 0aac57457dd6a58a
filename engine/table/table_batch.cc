#include "engine/table/table_batch.h"

#include "engine/base/status.h"
#include "engine/table/table_state.h"

namespace winnow {

void TableBatch::Put(Table* table, std::string_view row, std::string_view family,
                     std::string_view qualifier, std::string_view value) {
  Put(table, row, family, qualifier, value, PutOptions());
}

void TableBatch::Put(Table* table, std::string_view row, std::string_view family,
                     std::string_view qualifier, std::string_view value,
                     const PutOptions& options) {
  changes_.push_back({ChangeType::kPut, table, std::string(row), std::string(family),
                      std::string(qualifier), std::string(value), options.timestamp,
                      options.ttl_ms});
}

void TableBatch::DeleteVersion(Table* table, std::string_view row, std::string_view family,
                               std::string_view qualifier, std::optional<uint64_t> timestamp) {
  changes_.push_back({ChangeType::kDeleteVersion,
                      table,
                      std::string(row),
                      std::string(family),
                      std::string(qualifier),
                      {},
                      timestamp});
}

void TableBatch::DeleteColumn(Table* table, std::string_view row, std::string_view family,
                              std::string_view qualifier, std::optional<uint64_t> timestamp) {
  changes_.push_back({ChangeType::kDeleteColumn,
                      table,
                      std::string(row),
                      std::string(family),
                      std::string(qualifier),
                      {},
                      timestamp});
}

void TableBatch::DeleteFamilyVersion(Table* table, std::string_view row, std::string_view family,
                                     uint64_t timestamp) {
  changes_.push_back({ChangeType::kDeleteFamilyVersion,
                      table,
                      std::string(row),
                      std::string(family),
                      {},
                      {},
                      timestamp});
}

void TableBatch::DeleteFamily(Table* table, std::string_view row, std::string_view family,
                              std::optional<uint64_t> timestamp) {
  changes_.push_back(
      {ChangeType::kDeleteFamily, table, std::string(row), std::string(family), {}, {}, timestamp});
}

// Of all families: which those are is known when the batch is written.
void TableBatch::DeleteRow(Table* table, std::string_view row, std::optional<uint64_t> timestamp) {
  changes_.push_back({ChangeType::kDeleteRow, table, std::string(row), {}, {}, {}, timestamp});
}

// Whether there are such a table and family is for the database to say (CheckChanges).
absl::Status CheckChange(const TableChange& change) {
  WINNOW_RETURN_IF_ERROR(CheckRow(change.row));
  WINNOW_RETURN_IF_ERROR(CheckQualifier(change.qualifier));
  return change.timestamp ? CheckTimestamp(*change.timestamp) : absl::OkStatus();
}

}  // namespace winnow
