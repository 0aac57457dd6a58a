// Any bytes as keys and values of a table's column family, and as a schema.
#include "engine/table/cell_key.h"
#include "engine/table/cell_value.h"
#include "engine/table/table_schema.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

void CheckKey(std::string_view key) {
  winnow::ParsedCellKey parsed;
  if (!winnow::ParseCellKey(key, &parsed)) return;
  std::string row;
  std::string qualifier;
  winnow::AppendUnescaped(parsed.row, &row);
  winnow::AppendUnescaped(parsed.qualifier, &qualifier);
  std::string again;
  if (parsed.is_row_marker) {
    winnow::AppendRowMarkerPrefix(row, &again);
  } else {
    winnow::AppendCellPrefix(row, &again);
    winnow::AppendQualifier(qualifier, &again);
  }
  winnow::AppendCellNumber(parsed.timestamp, parsed.kind, &again);
  winnow::fuzz::Require(again == key, "each key is written in one way");
  winnow::fuzz::Require(winnow::EndOfPrefix(parsed.ColumnPrefix(key)) > key,
                        "the end of a prefix is behind what begins with it");
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  std::vector<std::string> seeds;
  for (const std::string& row : {std::string("row"), std::string("a\0b\xff", 4)}) {
    std::string key;
    AppendCellPrefix(row, &key);
    AppendQualifier(row, &key);
    AppendCellNumber(1'700'000'000'000, CellKind::kVersion, &key);
    seeds.push_back(key);
    key.clear();
    AppendRowMarkerPrefix(row, &key);
    AppendCellNumber(5, CellKind::kMarker, &key);
    seeds.push_back(key);
  }
  std::string value;
  AppendCellValue({.write_number = 1'000'000, .ttl_ms = 5000, .value = "value"}, &value);
  seeds.push_back(value);
  StoredTable table;
  table.families.push_back({{.name = "f", .max_versions = 3, .ttl_seconds = 9}, 7, true, false});
  seeds.push_back(EncodeTable(table));
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckKey(bytes);
  winnow::CellValue cell;
  if (winnow::ParseCellValue(bytes, &cell)) {
    winnow::fuzz::Require(cell.value.size() < size, "the value is the rest");
  }
  if (const auto table = winnow::DecodeTable("t", bytes); table.ok()) {
    const auto again = winnow::DecodeTable("t", winnow::EncodeTable(*table));
    winnow::fuzz::Require(again.ok() && again->families.size() == table->families.size(),
                          "a schema that is read can be written");
  }
  return 0;
}
