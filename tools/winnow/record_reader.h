// Keys and values out of text files, line by line.
#ifndef WINNOW_TOOLS_WINNOW_RECORD_READER_H_
#define WINNOW_TOOLS_WINNOW_RECORD_READER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/flags/arguments.h"
#include "tools/winnow/text_encoding.h"

namespace winnow::cli {

// Cuts what a file descriptor gives into lines. Used by one thread.
class LineReader {
 public:
  // Lines over this are refused: no key with its value is that long, unless escaped throughout.
  static constexpr size_t kMaxLineBytes = size_t{4} << 30;

  // Borrows the descriptor; `name` is for errors.
  LineReader(int file_descriptor, std::string name)
      : file_descriptor_(file_descriptor), name_(std::move(name)) {}

  // The next line without its newline, valid until the next call; false at the end. A last line
  // needs no newline. Unavailable if reading fails, ResourceExhausted for a line that is too long.
  absl::StatusOr<bool> Next(std::string_view* line);

  // Calls `visit` for every line that is left, until it returns an error.
  template <typename Visit>
  absl::Status ForEach(Visit visit) {
    std::string_view line;
    for (;;) {
      absl::StatusOr<bool> has_line = Next(&line);
      if (!has_line.ok()) return has_line.status();
      if (!*has_line) return absl::OkStatus();
      if (absl::Status visited = visit(line); !visited.ok()) return visited;
    }
  }

  // An error with "NAME:LINE: " before it, the line being that last given; Ok stays Ok.
  absl::Status InContext(const absl::Status& status) const;

  uint64_t line_number() const { return line_number_; }  // of the line last given, from 1
  uint64_t bytes_read() const { return bytes_read_; }
  const std::string& name() const { return name_; }

 private:
  absl::Status Refill();

  int file_descriptor_;
  std::string name_;
  std::string buffer_;
  size_t begin_ = 0;    // of what was not given yet
  size_t scanned_ = 0;  // no newline before this
  size_t end_ = 0;      // of what was read
  bool at_end_ = false;
  uint64_t line_number_ = 0;
  uint64_t bytes_read_ = 0;
};

enum class RecordFormat { kTabSeparated, kJsonLines };

struct Record {
  std::string_view key;
  std::string_view value;
};

// What --format says. InvalidArgument: another one, or --raw or --hex with JSON.
absl::StatusOr<RecordFormat> RecordFormatOf(const Arguments& arguments);

// Takes lines apart. Used by one thread.
class RecordParser {
 public:
  RecordParser(RecordFormat format, TextForm form) : format_(format), form_(form) {}

  // The record's bytes are those of the line where they stand there as they are, else the parser's,
  // until the next call. InvalidArgument says what is wrong with the line: no tab, an unknown
  // escape, no JSON object, a missing member, a key or value over the store's limit.
  absl::StatusOr<Record> Parse(std::string_view line);

 private:
  absl::StatusOr<Record> ParseTabSeparated(std::string_view line);
  absl::StatusOr<Record> ParseJson(std::string_view line);

  const RecordFormat format_;
  const TextForm form_;
  std::string key_;
  std::string value_;
};

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_RECORD_READER_H_
