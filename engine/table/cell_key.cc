// Composite keys whose bytewise order is that of their parts, as in FoundationDB's tuple layer: a
// 00 inside a part is written 00 FF, and a part ends with a 00 and a byte below FF. So a part sorts
// before all longer ones that begin with it, and no part with its end is the beginning of another.
#include "engine/table/cell_key.h"

#include <algorithm>
#include <cstring>

namespace winnow {

namespace {

constexpr char kZero = '\0';
constexpr char kEscapedZero = '\xff';  // behind a 00: a 00 of the text
constexpr char kEndOfMarkedRow = '\0';
constexpr char kEndOfComponent = '\1';
// Above kEndOfComponent, below kEscapedZero: no key has it behind a 00.
constexpr char kBehindComponent = '\2';

void AppendEnd(char end, std::string* out) {
  const char both[] = {kZero, end};
  out->append(both, sizeof(both));
}

// Where the component that begins at `begin` ends: the place of its 00; npos if it does not.
// A 00 with an FF behind it belongs to the text. Any other byte makes it an end, and whether it is
// one that may stand there the caller decides.
inline size_t FindEnd(std::string_view key, size_t begin, bool* is_plain) {
  *is_plain = true;
  while (true) {
    const size_t zero = key.find(kZero, begin);
    if (zero == std::string_view::npos || zero + 1 >= key.size()) return std::string_view::npos;
    if (key[zero + 1] != kEscapedZero) [[likely]]
      return zero;
    *is_plain = false;
    begin = zero + 2;
  }
}

// The prefix of a column, and room for `rest` bytes behind it. In one piece where nothing has to be
// escaped: every look-up and every put begins with it. A buffer that has held another key of about
// that length is not cleared for it.
size_t MakeColumnPrefixWith(std::string_view row, std::string_view qualifier, size_t rest,
                            std::string* out) {
  if (row.find(kZero) != std::string_view::npos || qualifier.find(kZero) != std::string_view::npos)
      [[unlikely]] {
    out->clear();
    AppendCellPrefix(row, out);
    const size_t row_bytes = out->size();
    AppendQualifier(qualifier, out);
    out->resize(out->size() + rest);
    return row_bytes;
  }
  out->resize(row.size() + qualifier.size() + 4 + rest);
  char* at = std::copy(row.begin(), row.end(), out->data());
  *at++ = kZero;
  *at++ = kEndOfComponent;
  at = std::copy(qualifier.begin(), qualifier.end(), at);
  *at++ = kZero;
  *at = kEndOfComponent;
  return row.size() + 2;
}

// Counted back from the end of time, so that newer versions have smaller numbers. An age is at
// least 1 and has 63 bits: the shift loses nothing, and a number with age 0 is written by nobody.
// The most significant byte comes first: the order of bytes is the order of numbers.
uint64_t CellNumberBytes(uint64_t timestamp, CellKind kind) {
  const uint64_t age = kMaxTimestamp + 1 - timestamp;
  return __builtin_bswap64(age << 1 | static_cast<uint64_t>(kind));
}

}  // namespace

// The search is a memchr, so that text without a 00, which is most, is copied in one piece.
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
    // Behind each 00 stands its FF, or the part would have ended there.
    escaped.remove_prefix(zero + 2);
  }
  out->append(escaped);
}

size_t Unescape(std::string_view escaped, char* out) {
  char* end = out;
  while (!escaped.empty()) {
    const size_t zero = escaped.find(kZero);
    const size_t num_bytes = zero == std::string_view::npos ? escaped.size() : zero + 1;
    std::memcpy(end, escaped.data(), num_bytes);
    end += num_bytes;
    // Behind the 00 is what escapes it.
    escaped.remove_prefix(
        std::min(num_bytes + (zero == std::string_view::npos ? 0 : 1), escaped.size()));
  }
  return static_cast<size_t>(end - out);
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

size_t MakeColumnPrefix(std::string_view row, std::string_view qualifier, std::string* out) {
  return MakeColumnPrefixWith(row, qualifier, 0, out);
}

void MakeCellKey(std::string_view row, std::string_view qualifier, uint64_t timestamp,
                 CellKind kind, std::string* out) {
  MakeColumnPrefixWith(row, qualifier, kCellNumberBytes, out);
  EncodeFixed64(out->data() + out->size() - kCellNumberBytes, CellNumberBytes(timestamp, kind));
}

// Keys with this prefix go on behind its 00 01; a row or qualifier that only begins with the same
// text goes on with 00 FF or with a byte above 00. Between these lies 00 02. Given the prefix of a
// row's markers, 00 00, it is the end of the whole row, markers and cells.
std::string EndOfPrefix(std::string_view prefix) {
  std::string end(prefix);
  end.back() = kBehindComponent;
  return end;
}

// A row of that many bytes FF is no row, and every row is smaller.
std::string EndOfTable() { return std::string(kMaxRowBytes + 1, '\xff'); }

void AppendCellNumber(uint64_t timestamp, CellKind kind, std::string* out) {
  PutFixed64(out, CellNumberBytes(timestamp, kind));
}

// Of a version its number is enough, and most keys are one. Of what is no cell a bound may be
// taken: it makes no cell of the table invisible.
bool ParseCellTime(std::string_view key, TimedKey* parsed) {
  CellKind kind = CellKind::kVersion;
  if (!ParseCellNumber(key, &kind, &parsed->time)) return false;
  parsed->kind = TimedKeyKind::kEntry;
  if (kind == CellKind::kVersion) return true;
  ParsedCellKey marker;
  if (!ParseCellKey(key, &marker)) return false;
  parsed->kind = marker.is_row_marker ? TimedKeyKind::kFarMarker : TimedKeyKind::kMarker;
  return true;
}

// Every byte has to be accounted for, so that a key of something else, or a damaged one, is not
// taken for a cell. Ends are looked for in front of the number alone, whose bytes may be anything.
bool ParseCellKey(std::string_view key, size_t known_row_bytes, ParsedCellKey* parsed) {
  if (!ParseCellNumber(key, &parsed->kind, &parsed->timestamp)) return false;
  const std::string_view prefix = parsed->ColumnPrefix(key);
  // Most keys are of the row of the key before; then the search for its end is saved. The two bytes
  // of the end must still lie within the prefix.
  const bool is_known = known_row_bytes != 0 && known_row_bytes + 2 <= prefix.size();
  const size_t row_end = is_known ? known_row_bytes : FindEnd(prefix, 0, &parsed->row_is_plain);
  if (row_end == std::string_view::npos || row_end == 0) return false;
  parsed->row = key.substr(0, row_end);
  parsed->row_prefix_bytes = row_end + 2;
  const char end = key[row_end + 1];
  parsed->is_row_marker = end == kEndOfMarkedRow;
  if (parsed->is_row_marker) {
    parsed->qualifier = {};
    // A marker of a row has no qualifier, and nothing but a marker ends its row like that.
    return prefix.size() == parsed->row_prefix_bytes && parsed->kind == CellKind::kMarker;
  }
  if (end != kEndOfComponent) return false;
  const size_t column_end = FindEnd(prefix, parsed->row_prefix_bytes, &parsed->qualifier_is_plain);
  if (column_end == std::string_view::npos || prefix[column_end + 1] != kEndOfComponent) {
    return false;
  }
  parsed->qualifier = key.substr(parsed->row_prefix_bytes, column_end - parsed->row_prefix_bytes);
  return column_end + 2 == prefix.size();
}

}  // namespace winnow
