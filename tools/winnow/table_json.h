// Schemas and cells of tables as JSON.
#ifndef WINNOW_TOOLS_WINNOW_TABLE_JSON_H_
#define WINNOW_TOOLS_WINNOW_TABLE_JSON_H_

#include <string_view>

#include "tools/winnow/text_encoding.h"
#include "winnow/table.h"

namespace winnow::cli {

// {"table":NAME,"families":[{"name","versions",...},...]}
Json SchemaJson(const TableSchema& schema);

// {"row":K,"family":NAME,"qualifier":K,"timestamp":MS,"value":V}; AddBytes says what `hex` is.
Json CellJson(std::string_view row, const CellView& cell, bool hex);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_TABLE_JSON_H_
