// Real input as key-value records.
#ifndef WINNOW_TOOLS_ROUND_TRIP_RECORDS_H_
#define WINNOW_TOOLS_ROUND_TRIP_RECORDS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow::round_trip {

struct Record {
  std::string key;
  std::string_view value;  // points into the text that it was parsed from
};

// The distinct records of an input in key order.
struct RecordSet {
  std::vector<Record> records;
  size_t num_repeated = 0;  // records left out because their key came before
};

// Debian's package index format: stanzas separated by blank lines, of "Field: value" lines and
// continuation lines that begin with a space. The key is "package=version", as apt writes it; the
// value is the stanza. Stanzas without both fields are skipped.
RecordSet ParsePackageStanzas(std::string_view text);

// One file for each line, as `find -printf '%p\t%s %T@\n'` writes them: key, tab, value. Lines
// without a tab are skipped.
RecordSet ParseTabbedLines(std::string_view text);

// The whole file. NotFound or Unavailable with the path.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

}  // namespace winnow::round_trip

#endif  // WINNOW_TOOLS_ROUND_TRIP_RECORDS_H_
