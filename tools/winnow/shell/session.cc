#include "tools/winnow/shell/session.h"

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow::shell {
namespace {

// A database has the table, or says so in HBase's words.
absl::Status InHBasesWords(const absl::Status& status, const std::string& table) {
  if (!absl::IsNotFound(status)) return status;
  return absl::NotFoundError(absl::StrCat("Unknown table ", table, "!"));
}

}  // namespace

absl::StatusOr<TableDatabase*> Session::Tables(bool creates) {
  if (tables_ == nullptr) {
    WINNOW_ASSIGN_OR_RETURN(tables_, opener_(creates));
  }
  return tables_.get();
}

absl::StatusOr<Table*> Session::FindTable(const std::string& name) {
  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, Tables());
  absl::StatusOr<Table*> table = tables->FindTable(name);
  if (!table.ok()) return InHBasesWords(table.status(), name);
  return table;
}

absl::StatusOr<TableSchema> Session::Describe(const std::string& name) {
  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, Tables());
  absl::StatusOr<TableSchema> schema = tables->DescribeTable(name);
  if (!schema.ok()) return InHBasesWords(schema.status(), name);
  return schema;
}

absl::Status Session::Close() {
  if (tables_ == nullptr) return absl::OkStatus();
  const absl::Status closed = tables_->Close();
  tables_.reset();
  return closed;
}

}  // namespace winnow::shell
