// Bytes of a file in the form of the examples in FORMAT.md.
#ifndef WINNOW_TESTS_SUPPORT_ANNOTATED_DUMP_H_
#define WINNOW_TESTS_SUPPORT_ANNOTATED_DUMP_H_

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

namespace winnow {

// Prints fields one a line, longer ones eight bytes a line: offset, bytes in hex, meaning.
class AnnotatedDump {
 public:
  explicit AnnotatedDump(std::string_view bytes) : bytes_(bytes) {}

  void Field(size_t length, std::string_view meaning) {
    for (size_t done = 0; done == 0 || done < length; done += 8) {
      Line(std::min<size_t>(length - done, 8), done == 0 ? meaning : std::string_view("..."));
    }
  }
  size_t offset() const { return offset_; }
  const std::string& text() const { return text_; }

 private:
  void Line(size_t length, std::string_view meaning) {
    char number[16];
    std::snprintf(number, sizeof(number), "%4zu ", offset_);
    text_ += number;
    for (size_t i = 0; i < 8; i++) {
      char hex[8];
      const bool present = i < length && offset_ + i < bytes_.size();
      std::snprintf(hex, sizeof(hex), present ? " %02x" : "   ",
                    present ? static_cast<unsigned char>(bytes_[offset_ + i]) : 0u);
      text_ += hex;
    }
    text_ += "  ";
    text_ += meaning;
    text_ += '\n';
    offset_ += length;
  }

  std::string_view bytes_;
  size_t offset_ = 0;
  std::string text_;
};

// What stands between the last two lines of ``` in a document.
inline std::string LastExampleOf(std::string_view document) {
  const size_t end = document.rfind("```");
  const size_t begin = document.rfind("```\n", end - 1);
  if (end == std::string_view::npos || begin == std::string_view::npos) return "";
  return std::string(document.substr(begin + 4, end - begin - 4));
}

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_ANNOTATED_DUMP_H_
