#include "tools/report/text_table.h"

#include <algorithm>
#include <utility>

namespace winnow::report {

void TextTable::AddColumn(std::string title, Align align) {
  columns_.push_back({std::move(title), align});
}

void TextTable::AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string TextTable::ToString() const {
  std::vector<size_t> widths(columns_.size(), 0);  // 0: left out
  for (size_t i = 0; i < columns_.size(); i++) {
    for (const auto& row : rows_) widths[i] = std::max(widths[i], row[i].size());
    if (widths[i] > 0) widths[i] = std::max(widths[i], columns_[i].title.size());
  }
  std::string text;
  const auto append_line = [&](const auto& cell_of) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); i++) {
      if (widths[i] == 0) continue;
      if (!line.empty()) line.append("  ");
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - cell.size(), ' ');
      line += columns_[i].align == Align::kRight ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  append_line([&](size_t i) -> const std::string& { return columns_[i].title; });
  size_t total = 0;
  for (size_t width : widths) total += width == 0 ? 0 : width + 2;
  text += std::string(total < 2 ? 0 : total - 2, '-') + "\n";
  for (const auto& row : rows_) {
    append_line([&](size_t i) -> const std::string& { return row[i]; });
  }
  return text;
}

}  // namespace winnow::report
