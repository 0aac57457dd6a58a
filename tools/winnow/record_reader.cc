#include "tools/winnow/record_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "filter/base/out_of_memory.h"
#include "winnow/options.h"

namespace winnow::cli {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;

absl::Status CheckLimit(std::string_view what, uint64_t bytes, uint64_t limit) {
  if (bytes <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(ToAbsl(what), " of ", bytes, " bytes; the limit is ", limit));
}

// How many bytes `text` stands for, or a few more or less if it is malformed.
uint64_t DecodedBytes(std::string_view text, TextForm form) {
  if (form == TextForm::kRaw) return text.size();
  if (form == TextForm::kHex) return text.size() / 2;
  uint64_t bytes = 0;
  while (!text.empty()) {
    const size_t plain = std::min(text.find('\\'), text.size());
    bytes += plain;
    text.remove_prefix(plain);
    if (text.empty()) break;
    bytes++;
    const size_t escape = text.substr(1, 1) == "x" ? 4 : 2;
    text.remove_prefix(std::min(escape, text.size()));
  }
  return bytes;
}

// What cannot fit is refused before it is copied; what stands in the line as it is is not copied.
absl::StatusOr<std::string_view> Decode(std::string_view what, std::string_view text,
                                        uint64_t limit, TextForm form, std::string* buffer) {
  const bool is_plain = form == TextForm::kRaw ||
                        (form == TextForm::kEscaped && text.find('\\') == std::string_view::npos);
  if (text.size() > limit) {
    WINNOW_RETURN_IF_ERROR(CheckLimit(what, DecodedBytes(text, form), limit));
  }
  if (is_plain) return text;
  absl::StatusOr<std::string> bytes = FromText(text, form);
  if (bytes.ok()) {
    *buffer = *std::move(bytes);
    return *buffer;
  }
  if (form != TextForm::kEscaped) return bytes.status();
  return absl::InvalidArgumentError(
      absl::StrCat(bytes.status().message(), "; with --raw a backslash is a backslash"));
}

// Reads member NAME, or NAME_hex.
absl::StatusOr<std::string> BytesMember(const Json& object, const std::string& name) {
  if (const auto text = object.find(name); text != object.end()) {
    if (!text->is_string()) {
      return absl::InvalidArgumentError(absl::StrCat("member \"", name, "\" is not a string"));
    }
    return text->get<std::string>();
  }
  const auto hex = object.find(name + "_hex");
  if (hex == object.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no member \"", name, "\" or \"", name, "_hex\""));
  }
  if (!hex->is_string()) {
    return absl::InvalidArgumentError(absl::StrCat("member \"", name, "_hex\" is not a string"));
  }
  return FromText(hex->get<std::string>(), TextForm::kHex);
}

}  // namespace

absl::StatusOr<bool> LineReader::Next(std::string_view* line) {
  while (true) {
    const std::string_view read = std::string_view(buffer_).substr(0, end_);
    const size_t newline = read.find('\n', scanned_);
    if (newline != std::string_view::npos) {
      *line = read.substr(begin_, newline - begin_);
      begin_ = scanned_ = newline + 1;
      line_number_++;
      return true;
    }
    scanned_ = end_;
    if (at_end_) break;
    WINNOW_RETURN_IF_ERROR(Refill());
  }
  if (begin_ == end_) return false;
  *line = std::string_view(buffer_).substr(begin_, end_ - begin_);
  begin_ = end_;
  line_number_++;
  return true;
}

absl::Status LineReader::InContext(const absl::Status& status) const {
  if (status.ok()) return status;
  return WithContext(status, absl::StrCat(name_, ":", line_number_));
}

absl::Status LineReader::Refill() {
  // What was not given yet moves to the front. The bytes behind end_ keep their place and their
  // contents: clearing them for every read would take as long as a tenth of the reading.
  const size_t kept = end_ - begin_;
  std::memmove(buffer_.data(), buffer_.data() + begin_, kept);
  scanned_ -= begin_;
  begin_ = 0;
  end_ = kept;
  if (kept >= kMaxLineBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name_, ":", line_number_ + 1, ": line of over ", kMaxLineBytes >> 30, " GiB"));
  }
  // Growing with the line keeps the cost of long ones linear. Only what is read is touched.
  const size_t wanted = kept + kReadBytes;
  if (wanted > buffer_.size()) {
    const absl::Status grown = CatchOutOfMemory([&] {
      if (wanted > buffer_.capacity()) buffer_.reserve(std::max(wanted, 2 * kept));
      buffer_.resize(wanted);
      return absl::OkStatus();
    });
    if (!grown.ok()) {
      return WithContext(
          grown, absl::StrCat(name_, ":", line_number_ + 1, ": a line of over ", kept, " bytes"));
    }
  }
  ssize_t count = 0;
  do {
    count = read(file_descriptor_, buffer_.data() + kept, kReadBytes);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    return absl::UnavailableError(absl::StrCat(name_, ": cannot read: ", std::strerror(errno)));
  }
  end_ += static_cast<size_t>(count);
  at_end_ = count == 0;
  bytes_read_ += static_cast<uint64_t>(count);
  return absl::OkStatus();
}

absl::StatusOr<RecordFormat> RecordFormatOf(const Arguments& arguments) {
  const std::string format = arguments.Text("format").value_or("tsv");
  if (format == "tsv") return RecordFormat::kTabSeparated;
  if (format != "jsonl") {
    return absl::InvalidArgumentError(
        absl::StrCat("--format=", format, ": the formats are tsv and jsonl"));
  }
  if (arguments.Has("raw") || arguments.Has("hex")) {
    return absl::InvalidArgumentError(
        "--raw and --hex are for --format=tsv; in JSON use members key_hex and value_hex");
  }
  return RecordFormat::kJsonLines;
}

absl::StatusOr<Record> RecordParser::ParseTabSeparated(std::string_view line) {
  const size_t tab = line.find('\t');
  if (tab == std::string_view::npos) {
    return absl::InvalidArgumentError("no tab between key and value");
  }
  Record record;
  WINNOW_ASSIGN_OR_RETURN(record.key,
                          Decode("key", line.substr(0, tab), kMaxKeyBytes, form_, &key_));
  WINNOW_ASSIGN_OR_RETURN(record.value,
                          Decode("value", line.substr(tab + 1), kMaxValueBytes, form_, &value_));
  return record;
}

absl::StatusOr<Record> RecordParser::ParseJson(std::string_view line) {
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return absl::InvalidArgumentError("not a JSON object");
  WINNOW_ASSIGN_OR_RETURN(key_, BytesMember(object, "key"));
  WINNOW_ASSIGN_OR_RETURN(value_, BytesMember(object, "value"));
  return Record{key_, value_};
}

absl::StatusOr<Record> RecordParser::Parse(std::string_view line) {
  absl::StatusOr<Record> record =
      format_ == RecordFormat::kJsonLines ? ParseJson(line) : ParseTabSeparated(line);
  if (!record.ok()) return record;
  WINNOW_RETURN_IF_ERROR(CheckLimit("key", record->key.size(), kMaxKeyBytes));
  WINNOW_RETURN_IF_ERROR(CheckLimit("value", record->value.size(), kMaxValueBytes));
  return record;
}

}  // namespace winnow::cli
