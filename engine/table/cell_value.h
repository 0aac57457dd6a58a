// What stands in front of a cell's value, and is all of a marker's (FORMAT.md): when it was
// written.
#ifndef WINNOW_ENGINE_TABLE_CELL_VALUE_H_
#define WINNOW_ENGINE_TABLE_CELL_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/coding.h"

namespace winnow {

struct CellValue {
  // Which write of the database this was. Those of one row grow in the order in which they took
  // effect; a marker hides what has a smaller one.
  uint64_t write_number = 0;
  uint64_t ttl_ms = 0;  // the cell's own time to live; 0: none
  std::string_view value;
};

inline constexpr size_t kMaxCellHeaderBytes = 2 * kMaxVarint64Bytes;

// Writes what stands in front of the value at `out`; returns the end.
inline char* EncodeCellHeader(const CellValue& cell, char* out) {
  out = EncodeVarint64(out, cell.write_number << 1 | (cell.ttl_ms != 0 ? 1 : 0));
  return cell.ttl_ms == 0 ? out : EncodeVarint64(out, cell.ttl_ms);
}
inline void AppendCellValue(const CellValue& cell, std::string* out) {
  char header[kMaxCellHeaderBytes];
  out->append(header, EncodeCellHeader(cell, header));
  out->append(cell.value);
}

// False: malformed. `value` points into `stored`.
[[nodiscard]] inline bool ParseCellValue(std::string_view stored, CellValue* cell) {
  const char* const limit = stored.data() + stored.size();
  uint64_t header = 0;
  const char* rest = DecodeVarint64(stored.data(), limit, &header);
  if (rest == nullptr) return false;
  cell->write_number = header >> 1;
  cell->ttl_ms = 0;
  if ((header & 1) != 0) {
    rest = DecodeVarint64(rest, limit, &cell->ttl_ms);
    if (rest == nullptr || cell->ttl_ms == 0) return false;
  }
  cell->value = std::string_view(rest, static_cast<size_t>(limit - rest));
  return true;
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_CELL_VALUE_H_
