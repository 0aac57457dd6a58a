#include "engine/table/row_result.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/coding.h"
#include "engine/table/cell_key.h"

namespace winnow {

namespace {

constexpr size_t kLeastBuffer = 256;
constexpr size_t kLengthBytes = 4;  // as HBase's KeyOnlyFilter writes a value's length

}  // namespace

RowResult& RowResult::operator=(const RowResult& other) {
  if (this == &other) return *this;
  // No cell may point to bytes that are gone if there is no memory for the others.
  Clear();
  row_ = other.row_;
  // Only the bytes in use, not the room behind them.
  bytes_.assign(other.bytes_.begin(),
                other.bytes_.begin() + static_cast<std::ptrdiff_t>(other.num_bytes_));
  num_bytes_ = other.num_bytes_;
  cells_ = other.cells_;
  MoveViews(other.bytes_.data());
  return *this;
}

// The views stay good: a vector that is moved keeps its bytes where they are.
RowResult& RowResult::operator=(RowResult&& other) noexcept {
  if (this == &other) return *this;
  row_ = std::move(other.row_);
  bytes_ = std::move(other.bytes_);
  num_bytes_ = other.num_bytes_;
  cells_ = std::move(other.cells_);
  other.Clear();
  return *this;
}

// Each view keeps its distance from the beginning of the buffer. `from` is only compared with them
// and not read.
void RowResult::MoveViews(const char* from) {
  const auto moved = [&](std::string_view view) {
    return std::string_view(bytes_.data() + (view.data() - from), view.size());
  };
  for (CellView& cell : cells_) {
    cell.family = moved(cell.family);
    cell.qualifier = moved(cell.qualifier);
    cell.value = moved(cell.value);
  }
}

// O(cells). The first one that is met is the newest of its column.
const CellView* RowResult::Find(std::string_view family, std::string_view qualifier) const {
  for (const CellView& cell : cells_) {
    if (cell.qualifier == qualifier && cell.family == family) return &cell;
  }
  return nullptr;
}

void RowResult::Clear() {
  row_.clear();
  num_bytes_ = 0;
  cells_.clear();
}

void RowResultBuilder::SetRow(std::string_view row) { result_.row_.assign(row); }

void RowResultBuilder::SetEscapedRow(std::string_view escaped_row) {
  AppendUnescaped(escaped_row, &result_.row_);
}

void RowResultBuilder::Grow(size_t num_bytes) {
  const size_t needed = result_.num_bytes_ + num_bytes;
  // Doubled each time, so that a row of n bytes costs O(n) in copies.
  std::vector<char> larger(std::max({kLeastBuffer, 2 * result_.bytes_.size(), needed}));
  std::copy_n(result_.bytes_.begin(), result_.num_bytes_, larger.begin());
  // The old buffer lives until the views have moved.
  std::swap(result_.bytes_, larger);
  result_.MoveViews(larger.data());
}

std::string_view RowResultBuilder::Copy(std::string_view bytes) {
  char* const at = Extend(bytes.size());
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return {at, bytes.size()};
}

// The most significant byte first.
std::string_view RowResultBuilder::CopyLength(size_t value_bytes) {
  const uint32_t length = __builtin_bswap32(static_cast<uint32_t>(value_bytes));
  char text[kLengthBytes];
  std::memcpy(text, &length, kLengthBytes);
  return Copy({text, kLengthBytes});
}

void RowResultBuilder::TakeValue(Shown shown, size_t index) {
  const size_t value_bytes = result_.cells_[index].value.size();
  // Copied first: the buffer may move for it, and with it the views.
  const std::string_view length =
      shown == Shown::kKeyAndLength ? CopyLength(value_bytes) : std::string_view();
  std::string_view& value = result_.cells_[index].value;
  value = shown == Shown::kKeyAndLength ? length : value.substr(0, 0);
}

// Addresses are compared and not bytes: names are those of FamilyStates, which do not move.
std::string_view RowResultBuilder::CopyFamily(std::string_view family) {
  const bool is_last = !result_.cells_.empty() && family.data() == last_family_.data() &&
                       family.size() == last_family_.size();
  if (is_last) return result_.cells_.back().family;
  last_family_ = family;
  return Copy(family);
}

// The cell's bytes are one piece, so that the buffer moves before the first of its views is made.
void RowResultBuilder::Add(std::string_view family, const FamilyCursor& cursor, Shown shown) {
  const std::string_view qualifier = cursor.qualifier();
  const std::string_view value = shown == Shown::kWhole ? cursor.value() : std::string_view("", 0);
  // Room for the escaped qualifier, which is the longer; what unescaping saves stays unused.
  const size_t most_bytes = family.size() + qualifier.size() + value.size() + kLengthBytes;
  Extend(most_bytes);
  // Reserved only: the parts below take it piece by piece.
  result_.num_bytes_ -= most_bytes;
  const std::string_view family_copy = CopyFamily(family);
  // Written where it stays: a view that is put together elsewhere and copied whole waits for each
  // of its halves to be stored.
  CellView& cell = result_.cells_.emplace_back();
  cell.family = family_copy;
  if (cursor.qualifier_is_plain()) [[likely]] {
    cell.qualifier = Copy(qualifier);
  } else {
    char* const at = Extend(qualifier.size());
    cell.qualifier = {at, Unescape(qualifier, at)};
  }
  cell.value = shown == Shown::kKeyAndLength ? CopyLength(cursor.value().size()) : Copy(value);
  cell.timestamp = cursor.timestamp();
  cell.type = cursor.type();
  cell.ttl_ms = cursor.ttl_ms();
}

void RowResultBuilder::AddCell(std::string_view family, std::string_view qualifier,
                               uint64_t timestamp, std::string_view value) {
  const size_t num_bytes = family.size() + qualifier.size() + value.size();
  Extend(num_bytes);
  result_.num_bytes_ -= num_bytes;
  const std::string_view family_copy = CopyFamily(family);
  CellView& cell = result_.cells_.emplace_back();
  cell.family = family_copy;
  cell.qualifier = Copy(qualifier);
  cell.value = Copy(value);
  cell.timestamp = timestamp;
}

}  // namespace winnow
