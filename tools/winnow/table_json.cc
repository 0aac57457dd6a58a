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
                        {"bloom_filter", family.bloom_filter},
                        {"filter", family.filter}});
  }
  return {{"table", schema.name}, {"families", std::move(families)}};
}

Json CellJson(std::string_view row, const CellView& cell, bool hex) {
  Json json = Json::object();
  AddBytes(&json, "row", row, hex);
  json["family"] = cell.family;
  AddBytes(&json, "qualifier", cell.qualifier, hex);
  json["timestamp"] = cell.timestamp;
  AddBytes(&json, "value", cell.value, hex);
  return json;
}

}  // namespace winnow::cli
