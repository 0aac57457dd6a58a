// Aligned tables and JSON text, as the properties print them.
#ifndef WINNOW_ENGINE_STATISTICS_TEXT_TABLE_H_
#define WINNOW_ENGINE_STATISTICS_TEXT_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// Columns are as wide as their widest cell; the first `num_left` columns are aligned left, the
// others right. Cells are plain text.
class TextTable {
 public:
  TextTable(std::vector<std::string> header, size_t num_left)
      : num_left_(num_left), rows_{std::move(header)} {}
  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string ToString() const;

 private:
  const size_t num_left_;
  std::vector<std::vector<std::string>> rows_;
};

std::string FormatCount(uint64_t count);        // 1,234,567
std::string FormatBytes(uint64_t bytes);        // 1.2 MiB
std::string FormatPercent(double share);        // 0.98 %; "-" for NaN
std::string FormatRatio(double ratio);          // 3.40; "-" for NaN
std::string JsonString(std::string_view text);  // quoted and escaped; bytes over 0x7e as \u00xx
std::string JsonNumber(double number);          // null for NaN and infinities

}  // namespace winnow

#endif  // WINNOW_ENGINE_STATISTICS_TEXT_TABLE_H_
