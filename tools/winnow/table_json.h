// Schemas and cells of tables as JSON.
#ifndef WINNOW_TOOLS_WINNOW_TABLE_JSON_H_
#define WINNOW_TOOLS_WINNOW_TABLE_JSON_H_

#include <string_view>

#include "tools/winnow/text_encoding.h"
#include "winnow/table.h"

namespace winnow::cli {

// {"table":NAME,"families":[{"name","versions",...},...]}
Json SchemaJson(const TableSchema& schema);

// HBase's name for what is stored: "Put", "DeleteColumn", "DeleteFamily".
std::string_view NameOf(CellType type);

// {"row":K,"family":NAME,"qualifier":K,"timestamp":MS,"value":V}; AddBytes says what `hex` is. The
// marker of a delete has a "type" and no value.
Json CellJson(std::string_view row, const CellView& cell, bool hex);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_TABLE_JSON_H_
