// Reads the golden data of other systems, in tests/filter/golden.

#ifndef WINNOW_TESTS_FILTER_DYNAMIC_GOLDEN_DATA_H_
#define WINNOW_TESTS_FILTER_DYNAMIC_GOLDEN_DATA_H_

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#ifndef WINNOW_GOLDEN_DATA  // the build says where it is; otherwise from the top of the sources
#define WINNOW_GOLDEN_DATA "tests/filter/golden"
#endif

namespace winnow::filter {

inline std::string GoldenFile(const std::string& name) {
  std::ifstream file(std::string(WINNOW_GOLDEN_DATA) + "/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

inline std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

inline std::vector<std::string> GoldenLines(const std::string& name) {
  return Split(GoldenFile(name), '\n');
}

inline std::string FromHex(std::string_view digits) {
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

inline std::string ToHex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (const char byte : bytes) {
    digits += kDigits[static_cast<unsigned char>(byte) >> 4];
    digits += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return digits;
}

// What Python prints of bytes: b'\x01\r\n', or with double quotes.
inline std::string FromPythonBytes(std::string_view literal) {
  std::string bytes;
  for (size_t i = 2; i + 1 < literal.size(); ++i) {
    if (literal[i] != '\\') {
      bytes += literal[i];
      continue;
    }
    switch (literal[++i]) {
      case 'x':
        bytes += FromHex(literal.substr(i + 1, 2));
        i += 2;
        break;
      case 'r':
        bytes += '\r';
        break;
      case 'n':
        bytes += '\n';
        break;
      case 't':
        bytes += '\t';
        break;
      default:
        bytes += literal[i];
    }
  }
  return bytes;
}

}  // namespace winnow::filter

#endif  // WINNOW_TESTS_FILTER_DYNAMIC_GOLDEN_DATA_H_
