#include "engine/table/cell_key.h"

#include <optional>

#include "engine/base/coding.h"

namespace winnow {

namespace {

constexpr char kZero = '\0';
constexpr char kEscapedZero = '\xff';  // behind a 00: a 00 of the text
constexpr char kEndOfMarkedRow = '\0';
constexpr char kEndOfComponent = '\1';
// Above kEndOfComponent, below kEscapedZero: no key has it behind a 00.
constexpr char kBehindComponent = '\2';

void AppendEnd(char end, std::string* out) {
  out->push_back(kZero);
  out->push_back(end);
}

// Where the component that begins at `begin` ends: the place of its 00. Nothing if it does not.
std::optional<size_t> FindEnd(std::string_view key, size_t begin) {
  while (true) {
    const size_t zero = key.find(kZero, begin);
    if (zero == std::string_view::npos || zero + 1 >= key.size()) return std::nullopt;
    if (key[zero + 1] != kEscapedZero) return zero;
    begin = zero + 2;
  }
}

}  // namespace

void AppendEscaped(std::string_view bytes, std::string* out) {
  while (true) {
    const size_t zero = bytes.find(kZero);
    out->append(bytes.substr(0, zero));
    if (zero == std::string_view::npos) return;
    AppendEnd(kEscapedZero, out);
    bytes.remove_prefix(zero + 1);
  }
}

void AppendUnescaped(std::string_view escaped, std::string* out) {
  while (true) {
    const size_t zero = escaped.find(kZero);
    if (zero == std::string_view::npos) break;
    out->append(escaped.substr(0, zero + 1));
    escaped.remove_prefix(zero + 2);
  }
  out->append(escaped);
}

void AppendCellPrefix(std::string_view row, std::string* out) {
  AppendEscaped(row, out);
  AppendEnd(kEndOfComponent, out);
}

void AppendRowMarkerPrefix(std::string_view row, std::string* out) {
  AppendEscaped(row, out);
  AppendEnd(kEndOfMarkedRow, out);
}

void AppendQualifier(std::string_view qualifier, std::string* out) {
  AppendEscaped(qualifier, out);
  AppendEnd(kEndOfComponent, out);
}

std::string EndOfPrefix(std::string_view prefix) {
  std::string end(prefix);
  end.back() = kBehindComponent;
  return end;
}

// A row of that many bytes FF is no row, and every row is smaller.
std::string EndOfTable() { return std::string(kMaxRowBytes + 1, '\xff'); }

void AppendCellNumber(uint64_t timestamp, CellKind kind, std::string* out) {
  const uint64_t age = kMaxTimestamp + 1 - timestamp;
  const uint64_t number = age << 1 | static_cast<uint64_t>(kind);
  char bytes[kCellNumberBytes];
  for (size_t i = 0; i < kCellNumberBytes; i++) {
    bytes[i] = static_cast<char>(number >> (8 * (kCellNumberBytes - 1 - i)));
  }
  out->append(bytes, kCellNumberBytes);
}

bool ParseCellNumber(std::string_view key, CellKind* kind, uint64_t* timestamp) {
  if (key.size() < kCellNumberBytes) return false;
  const uint64_t number =
      __builtin_bswap64(DecodeFixed64(key.data() + key.size() - kCellNumberBytes));
  const uint64_t age = number >> 1;
  if (age == 0) return false;  // above every timestamp
  *kind = static_cast<CellKind>(number & 1);
  *timestamp = kMaxTimestamp + 1 - age;
  return true;
}

bool ParseCellKey(std::string_view key, std::string_view known_row, ParsedCellKey* parsed) {
  if (!ParseCellNumber(key, &parsed->kind, &parsed->timestamp)) return false;
  const std::string_view prefix = parsed->ColumnPrefix(key);
  // What ends a row is followed by no escape, so that one that begins a key is looked for no more.
  const bool is_known = prefix.size() > known_row.size() + 1 && !known_row.empty() &&
                        prefix[known_row.size()] == kZero &&
                        prefix[known_row.size() + 1] != kEscapedZero &&
                        prefix.starts_with(known_row);
  const std::optional<size_t> row_end = is_known ? known_row.size() : FindEnd(prefix, 0);
  if (!row_end || *row_end == 0) return false;
  parsed->row = key.substr(0, *row_end);
  parsed->row_prefix_bytes = *row_end + 2;
  const char end = key[*row_end + 1];
  parsed->is_row_marker = end == kEndOfMarkedRow;
  if (parsed->is_row_marker) {
    parsed->qualifier = {};
    return prefix.size() == parsed->row_prefix_bytes && parsed->kind == CellKind::kMarker;
  }
  if (end != kEndOfComponent) return false;
  const std::optional<size_t> column_end = FindEnd(prefix, parsed->row_prefix_bytes);
  if (!column_end || prefix[*column_end + 1] != kEndOfComponent) return false;
  parsed->qualifier = key.substr(parsed->row_prefix_bytes, *column_end - parsed->row_prefix_bytes);
  return *column_end + 2 == prefix.size();
}

}  // namespace winnow
