#include "tools/winnow/table_json.h"

#include <utility>

namespace winnow::cli {

Json SchemaJson(const TableSchema& schema) {
  Json families = Json::array();
  for (const FamilySchema& family : schema.families) {
    families.push_back({{"name", family.name},
                        {"versions", family.max_versions},
                        {"ttl_seconds", family.ttl_seconds},
                        {"min_versions", family.min_versions},
                        {"garbage_rule", family.garbage_rule},
                        {"bloom_filter", family.bloom_filter},
                        {"filter", family.filter},
                        {"signature", family.signature}});
  }
  return {{"table", schema.name}, {"families", std::move(families)}};
}

std::string_view NameOf(CellType type) {
  switch (type) {
    case CellType::kPut:
      return "Put";
    case CellType::kDeleteColumn:
      return "DeleteColumn";
    case CellType::kDeleteFamily:
      return "DeleteFamily";
  }
  return "";
}

Json CellJson(std::string_view row, const CellView& cell, bool hex) {
  Json json = Json::object();
  AddBytes(&json, "row", row, hex);
  json["family"] = cell.family;
  AddBytes(&json, "qualifier", cell.qualifier, hex);
  json["timestamp"] = cell.timestamp;
  if (cell.type == CellType::kPut) {
    if (cell.ttl_ms != 0) json["ttl_ms"] = cell.ttl_ms;
    AddBytes(&json, "value", cell.value, hex);
  } else {
    json["type"] = NameOf(cell.type);
  }
  return json;
}

}  // namespace winnow::cli
