#include "engine/table/signed_columns.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/status.h"
#include "engine/table/cell_key.h"
#include "engine/table/cell_value.h"

namespace winnow {

namespace {

// Of an empty text none, not an empty one.
std::vector<std::string> QualifiersOf(std::string_view signature) {
  if (signature.empty()) return {};
  return absl::StrSplit(ToAbsl(signature), ',');
}

}  // namespace

absl::Status CheckSignature(std::string_view signature) {
  std::vector<std::string> qualifiers = QualifiersOf(signature);
  if (qualifiers.size() > kMaxSignedColumns) {
    return absl::InvalidArgumentError(
        absl::StrCat(qualifiers.size(), " columns, of at most ", kMaxSignedColumns));
  }
  for (const std::string& qualifier : qualifiers) {
    if (!qualifier.empty() && qualifier.size() <= kMaxSignedColumnBytes) continue;
    return absl::InvalidArgumentError(absl::StrCat("a column's name of ", qualifier.size(),
                                                   " bytes, which may have 1 to ",
                                                   kMaxSignedColumnBytes));
  }
  std::sort(qualifiers.begin(), qualifiers.end());
  const auto twice = std::adjacent_find(qualifiers.begin(), qualifiers.end());
  if (twice == qualifiers.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("column '", *twice, "' comes twice"));
}

// Escaping keeps the order, and with it what comes once.
SignedFields SignedFieldsOf(const FamilySchema& schema) {
  SignedFields fields;
  for (const std::string& qualifier : QualifiersOf(schema.signature)) {
    AppendEscaped(qualifier, &fields.emplace_back());
  }
  std::sort(fields.begin(), fields.end());
  return fields;
}

bool ParseSignedCell(std::string_view key, std::string_view stored, SignedEntry* parsed) {
  ParsedCellKey cell_key;
  CellValue cell;
  if (!ParseCellKey(key, &cell_key) || !ParseCellValue(stored, &cell)) return false;
  parsed->group = cell_key.row;
  parsed->has_value = cell_key.kind == CellKind::kVersion;
  parsed->field = cell_key.qualifier;
  parsed->value = cell.value;
  return true;
}

}  // namespace winnow
