// An aligned table of text.
#ifndef WINNOW_TOOLS_REPORT_TEXT_TABLE_H_
#define WINNOW_TOOLS_REPORT_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace winnow::report {

class TextTable {
 public:
  enum class Align { kLeft, kRight };

  void AddColumn(std::string title, Align align);
  // One cell for each column.
  void AddRow(std::vector<std::string> cells);
  // With a line under the titles; columns whose cells are all empty are left out.
  std::string ToString() const;

 private:
  struct Column {
    std::string title;
    Align align;
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace winnow::report

#endif  // WINNOW_TOOLS_REPORT_TEXT_TABLE_H_
