// The keys of a table's cells and markers (FORMAT.md): strings whose bytewise order is the order of
// rows, then of columns, then of timestamps, newest first.
#ifndef WINNOW_ENGINE_TABLE_CELL_KEY_H_
#define WINNOW_ENGINE_TABLE_CELL_KEY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/coding.h"
#include "engine/base/key_times.h"
#include "winnow/table.h"

namespace winnow {

// A row or a qualifier as it stands in keys: a 00 inside is 00 FF. Nothing ends it.
void AppendEscaped(std::string_view bytes, std::string* out);
// Appends what AppendEscaped made `escaped` of. Takes only what ParseCellKey gives.
void AppendUnescaped(std::string_view escaped, std::string* out);
// Writes the same to `out`, where there is room for as many bytes as `escaped` has; gives how many
// they are.
size_t Unescape(std::string_view escaped, char* out);

// What all keys of the cells of a row begin with, and what those of its markers begin with, which
// come before them.
void AppendCellPrefix(std::string_view row, std::string* out);
void AppendRowMarkerPrefix(std::string_view row, std::string* out);
// What all keys of a column begin with, given what those of its row's cells begin with.
void AppendQualifier(std::string_view qualifier, std::string* out);
// Both, in place of what was in `out`. Gives how many bytes the former has.
size_t MakeColumnPrefix(std::string_view row, std::string_view qualifier, std::string* out);

// A string above all keys with this prefix of a row's cells or of a column, and below all others
// that are above them: the prefix with a higher last byte.
std::string EndOfPrefix(std::string_view prefix);
// Above all keys of all rows.
std::string EndOfTable();

enum class CellKind : uint8_t { kMarker, kVersion };

inline constexpr size_t kCellNumberBytes = 8;
// The end of every key: newer ones sort first, and a marker before the version of its timestamp.
void AppendCellNumber(uint64_t timestamp, CellKind kind, std::string* out);
// A key whole, in place of what was in `out`.
void MakeCellKey(std::string_view row, std::string_view qualifier, uint64_t timestamp,
                 CellKind kind, std::string* out);

// A key in its parts, which point into it.
struct ParsedCellKey {
  std::string_view row;         // escaped
  std::string_view qualifier;   // escaped; empty in the markers of a row
  size_t row_prefix_bytes = 0;  // the row and what ends it
  // Nothing in it is escaped. Of the row: where the row was looked for.
  bool row_is_plain = false;
  bool qualifier_is_plain = true;
  bool is_row_marker = false;
  CellKind kind = CellKind::kVersion;
  uint64_t timestamp = 0;

  std::string_view ColumnPrefix(std::string_view key) const {
    return key.substr(0, key.size() - kCellNumberBytes);
  }
};

// False: no key of a cell or marker. `known_row_bytes` are those of its escaped row, where the key
// before has shown that it is the same; 0: it is looked for.
[[nodiscard]] bool ParseCellKey(std::string_view key, size_t known_row_bytes,
                                ParsedCellKey* parsed);
[[nodiscard]] inline bool ParseCellKey(std::string_view key, ParsedCellKey* parsed) {
  return ParseCellKey(key, 0, parsed);
}
// The same for a key that has the column prefix of one that has been parsed: the number alone.
[[nodiscard]] inline bool ParseCellNumber(std::string_view key, CellKind* kind,
                                          uint64_t* timestamp) {
  if (key.size() < kCellNumberBytes) return false;
  const uint64_t number =
      __builtin_bswap64(DecodeFixed64(key.data() + key.size() - kCellNumberBytes));
  const uint64_t age = number >> 1;
  if (age == 0) return false;  // above every timestamp
  *kind = static_cast<CellKind>(number & 1);
  *timestamp = kMaxTimestamp + 1 - age;
  return true;
}
// A KeyTimeParser: of versions, which are entries; of the markers of columns; and of those of rows,
// which are far from what they hide.
[[nodiscard]] bool ParseCellTime(std::string_view key, TimedKey* parsed);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_CELL_KEY_H_
