#include "tools/winnow/shell/printer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace winnow::shell {
namespace {

// The piece of `text` in a column's line `index`; padded to the width if it has one.
std::string PieceOf(std::string_view text, size_t width, size_t index) {
  if (width == 0) return std::string(index == 0 ? text : std::string_view());
  const size_t begin = std::min(text.size(), index * width);
  std::string piece(text.substr(begin, width));
  piece.resize(width, ' ');
  return piece;
}

size_t NumPieces(std::string_view text, size_t width) {
  return width == 0 ? 1 : (text.size() + width - 1) / width;
}

}  // namespace

void Printer::Columns(std::string_view left, std::string_view right, std::string_view indent,
                      std::string_view gap) {
  const size_t left_width = width_ / 4;
  const size_t right_width = width_ == 0 ? 0 : width_ - left_width - 2;
  const size_t lines =
      std::max<size_t>({1, NumPieces(left, left_width), NumPieces(right, right_width)});
  for (size_t i = 0; i < lines; i++) {
    std::string line(indent);
    line.append(PieceOf(left, left_width, i)).append(gap).append(PieceOf(right, right_width, i));
    if (width_ != 0) line.erase(line.find_last_not_of(' ') + 1);
    output_.Line(line);
  }
}

void Printer::Header(std::string_view left, std::string_view right) {
  if (!is_json()) Columns(left, right, "", "  ");
}

void Printer::Row(std::string_view left, std::string_view right) {
  if (!is_json()) Columns(left, right, " ", " ");
}

void Printer::Line(std::string_view line) {
  if (!is_json()) output_.Line(line);
}

void Printer::RowCount(uint64_t count) { Line(absl::StrCat(count, " row(s)")); }

void Printer::Object(const cli::Json& json) {
  if (is_json()) output_.Write(cli::ToLine(json));
}

}  // namespace winnow::shell
