#include "engine/table/row_result.h"

#include "engine/table/cell_key.h"

namespace winnow {

const CellView* RowResult::Find(std::string_view family, std::string_view qualifier) const {
  for (const CellView& cell : cells_) {
    if (cell.qualifier == qualifier && cell.family == family) return &cell;
  }
  return nullptr;
}

void RowResult::Clear() {
  row_.clear();
  bytes_.clear();
  cells_.clear();
  places_.clear();
}

void RowResultBuilder::SetRow(std::string_view row) { result_.row_.assign(row); }

void RowResultBuilder::SetEscapedRow(std::string_view escaped_row) {
  AppendUnescaped(escaped_row, &result_.row_);
}

namespace {

// As HBase's KeyOnlyFilter writes it.
void AppendLength(size_t length, std::string* out) {
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<char>(length >> shift));
}

}  // namespace

void RowResultBuilder::Add(std::string_view family, const FamilyCursor& cursor, Shown shown) {
  RowResult::Place place;
  place.family = result_.bytes_.size();
  result_.bytes_.append(family);
  place.qualifier = result_.bytes_.size();
  AppendUnescaped(cursor.qualifier(), &result_.bytes_);
  place.value = result_.bytes_.size();
  if (shown == Shown::kWhole) result_.bytes_.append(cursor.value());
  if (shown == Shown::kKeyAndLength) AppendLength(cursor.value().size(), &result_.bytes_);
  place.end = result_.bytes_.size();
  result_.places_.push_back(place);
  result_.cells_.push_back({{}, {}, cursor.timestamp(), {}, cursor.type()});
}

void RowResultBuilder::Finish() {
  const std::string_view bytes = result_.bytes_;
  for (size_t i = 0; i < result_.cells_.size(); i++) {
    const RowResult::Place& place = result_.places_[i];
    CellView& cell = result_.cells_[i];
    cell.family = bytes.substr(place.family, place.qualifier - place.family);
    cell.qualifier = bytes.substr(place.qualifier, place.value - place.qualifier);
    cell.value = bytes.substr(place.value, place.end - place.value);
  }
}

}  // namespace winnow
