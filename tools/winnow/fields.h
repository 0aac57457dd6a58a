// What describes one thing, a line for each of its properties, as people read it.
#ifndef WINNOW_TOOLS_WINNOW_FIELDS_H_
#define WINNOW_TOOLS_WINNOW_FIELDS_H_

#include <string_view>

#include "tools/winnow/output.h"
#include "tools/winnow/text_encoding.h"

namespace winnow::cli {

// "  keys_estimated     19,992": the names and values of a JSON object, which --json prints as they
// are. Counts have commas; a name that ends in "fpr" is that of a rate, shown in percent, one in
// "bytes" that of a size, shown in its unit too.
void PrintFields(const Json& object, std::string_view indent, Output& output);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_FIELDS_H_
