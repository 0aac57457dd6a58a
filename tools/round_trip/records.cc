#include "tools/round_trip/records.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace winnow::round_trip {
namespace {

// Sorts by key and keeps the first record of each, in the input's order.
RecordSet DistinctRecords(std::vector<Record> records) {
  std::stable_sort(records.begin(), records.end(),
                   [](const Record& left, const Record& right) { return left.key < right.key; });
  const size_t num_given = records.size();
  const auto end =
      std::unique(records.begin(), records.end(),
                  [](const Record& left, const Record& right) { return left.key == right.key; });
  records.erase(end, records.end());
  RecordSet set;
  set.num_repeated = num_given - records.size();
  set.records = std::move(records);
  return set;
}

// The first line of `text`, which moves past it.
std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

// The value of "Field: value", empty if the line is another field's.
std::string_view FieldValue(std::string_view line, std::string_view field) {
  if (!line.starts_with(field)) return {};
  line.remove_prefix(field.size());
  while (line.starts_with(' ')) line.remove_prefix(1);
  return line;
}

}  // namespace

RecordSet ParsePackageStanzas(std::string_view text) {
  std::vector<Record> records;
  while (!text.empty()) {
    const std::string_view stanza_start = text;
    std::string_view package;
    std::string_view version;
    std::string_view line = TakeLine(&text);
    for (; !line.empty(); line = TakeLine(&text)) {
      if (package.empty()) package = FieldValue(line, "Package:");
      if (version.empty()) version = FieldValue(line, "Version:");
    }
    if (package.empty() || version.empty()) continue;
    const std::string_view stanza = stanza_start.substr(0, stanza_start.size() - text.size());
    records.push_back({absl::StrCat(absl::string_view(package.data(), package.size()), "=",
                                    absl::string_view(version.data(), version.size())),
                       stanza});
  }
  return DistinctRecords(std::move(records));
}

RecordSet ParseTabbedLines(std::string_view text) {
  std::vector<Record> records;
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos || tab == 0) continue;
    records.push_back({std::string(line.substr(0, tab)), line.substr(tab + 1)});
  }
  return DistinctRecords(std::move(records));
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be opened"));
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (file.bad() || bytes.bad()) {
    return absl::UnavailableError(absl::StrCat(path, ": cannot be read"));
  }
  return std::move(bytes).str();
}

}  // namespace winnow::round_trip
