#include "engine/compat/leveldb_properties.h"

#include "absl/strings/str_cat.h"

namespace winnow {

namespace {

constexpr std::string_view kLevelDbPrefix = "leveldb.";
constexpr std::string_view kFilesAtLevel = "num-files-at-level";

// Heading and widths are LevelDB's to the character: programs parse this table. Compactions are
// timed and counted for the database and not by level: the last columns are "-".
std::string StatsTable(DB& db, const ColumnFamily& family) {
  std::string table =
      "                               Compactions\n"
      "Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n"
      "--------------------------------------------------\n";
  for (const LevelStatistics& level : db.GetStatistics().levels) {
    if (level.column_family != family.name()) continue;
    std::array<char, 400> row;
    const int length =
        std::snprintf(row.data(), row.size(), "%3d %8llu %8.0f %9s %8s %9s\n", level.level,
                      static_cast<unsigned long long>(level.num_files),
                      static_cast<double>(level.file_bytes) / 1048576.0, "-", "-", "-");
    table.append(row.data(), static_cast<size_t>(length));
  }
  return table;
}

// LevelDB refuses "num-files-at-level" without digits or with other characters behind it.
bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// LevelDB's callers know "no such property" and nothing else: an error is that, too.
std::optional<std::string> OwnProperty(DB& db, ColumnFamily* family, std::string_view name) {
  absl::StatusOr<std::string> value = db.GetProperty(family, name);
  if (!value.ok()) return std::nullopt;
  return *std::move(value);
}

}  // namespace

// Used by the C and the C++ interface, so that both know the same names.
std::optional<std::string> LevelDbProperty(DB& db, ColumnFamily* family, std::string_view name,
                                           const absl::Status& compact_range_error) {
  if (name == "winnow.background-error" && !compact_range_error.ok()) {
    return std::string(compact_range_error.message());
  }
  // LevelDB's names are a closed set: "leveldb." before one of Winnow's properties is no property.
  if (!name.starts_with(kLevelDbPrefix)) return OwnProperty(db, family, name);
  name.remove_prefix(kLevelDbPrefix.size());
  if (name == "stats") {
    // The table is made by names, and another database may have a family of this one.
    if (!OwnProperty(db, family, "winnow.filter").has_value()) return std::nullopt;
    return StatsTable(db, *family);
  }
  if (name == "sstables") return OwnProperty(db, family, "winnow.sstables-by-level");
  if (name == "approximate-memory-usage") {
    return OwnProperty(db, family, "winnow.approximate-memory-usage");
  }
  if (name.starts_with(kFilesAtLevel) && IsNumber(name.substr(kFilesAtLevel.size()))) {
    return OwnProperty(db, family, std::string("winnow.").append(name));
  }
  return std::nullopt;
}

}  // namespace winnow
