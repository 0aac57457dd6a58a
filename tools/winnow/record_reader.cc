#include "tools/winnow/record_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "winnow/options.h"

namespace winnow::cli {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;

absl::StatusOr<Record> ParseTabSeparated(std::string_view line, TextForm form) {
  const size_t tab = line.find('\t');
  if (tab == std::string_view::npos) {
    return absl::InvalidArgumentError("no tab between key and value");
  }
  absl::StatusOr<std::string> key = FromText(line.substr(0, tab), form);
  absl::StatusOr<std::string> value = FromText(line.substr(tab + 1), form);
  if (key.ok() && value.ok()) return Record{*std::move(key), *std::move(value)};
  const absl::Status& wrong = key.ok() ? value.status() : key.status();
  if (form != TextForm::kEscaped) return wrong;
  return absl::InvalidArgumentError(
      absl::StrCat(wrong.message(), "; with --raw a backslash is a backslash"));
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

absl::StatusOr<Record> ParseJson(std::string_view line) {
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return absl::InvalidArgumentError("not a JSON object");
  Record record;
  WINNOW_ASSIGN_OR_RETURN(record.key, BytesMember(object, "key"));
  WINNOW_ASSIGN_OR_RETURN(record.value, BytesMember(object, "value"));
  return record;
}

}  // namespace

absl::StatusOr<bool> LineReader::Next(std::string_view* line) {
  while (true) {
    const size_t newline = buffer_.find('\n', scanned_);
    if (newline != std::string::npos) {
      *line = std::string_view(buffer_).substr(begin_, newline - begin_);
      begin_ = scanned_ = newline + 1;
      line_number_++;
      return true;
    }
    scanned_ = buffer_.size();
    if (at_end_) break;
    WINNOW_RETURN_IF_ERROR(Refill());
  }
  if (begin_ == buffer_.size()) return false;
  *line = std::string_view(buffer_).substr(begin_);
  begin_ = buffer_.size();
  line_number_++;
  return true;
}

absl::Status LineReader::InContext(const absl::Status& status) const {
  return WithContext(status, absl::StrCat(name_, ":", line_number_));
}

absl::Status LineReader::Refill() {
  buffer_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  const size_t kept = buffer_.size();
  if (kept >= kMaxLineBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name_, ":", line_number_ + 1, ": line of over ", kMaxLineBytes >> 30, " GiB"));
  }
  // Growing with the line keeps the cost of long ones linear.
  buffer_.resize(kept + std::max(kReadBytes, kept));
  ssize_t count = 0;
  do {
    count = read(file_descriptor_, buffer_.data() + kept, buffer_.size() - kept);
  } while (count < 0 && errno == EINTR);
  const int error = errno;
  buffer_.resize(kept + static_cast<size_t>(std::max<ssize_t>(count, 0)));
  if (count < 0) {
    return absl::UnavailableError(absl::StrCat(name_, ": cannot read: ", std::strerror(error)));
  }
  at_end_ = count == 0;
  bytes_read_ += static_cast<uint64_t>(count);
  return absl::OkStatus();
}

absl::StatusOr<Record> ParseRecord(std::string_view line, RecordFormat format, TextForm form) {
  absl::StatusOr<Record> record =
      format == RecordFormat::kJsonLines ? ParseJson(line) : ParseTabSeparated(line, form);
  if (!record.ok()) return record;
  if (record->key.size() > kMaxKeyBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("key of ", record->key.size(), " bytes; the limit is ", kMaxKeyBytes));
  }
  if (record->value.size() > kMaxValueBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("value of ", record->value.size(), " bytes; the limit is ", kMaxValueBytes));
  }
  return record;
}

}  // namespace winnow::cli
