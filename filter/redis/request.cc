#include "winnow/filter/redis/request.h"

#include "absl/strings/str_cat.h"
#include "filter/redis/sha1.h"

namespace winnow::filter::redis {
namespace {

// RESP's "$length\r\nbytes\r\n": length first, so that an argument may hold any bytes.
void AppendBulk(std::string_view argument, std::string* bytes) {
  absl::StrAppend(bytes, "$", argument.size(), "\r\n");
  bytes->append(argument);
  bytes->append("\r\n");
}

}  // namespace

Script::Script(std::string body) : body_(std::move(body)), sha1_(Sha1Digits(body_)) {}

// Commands are kept as the bytes that are sent, one behind the other; of each it is known where it
// begins, and of a script's call where what follows the SHA-1 begins, so that it can be sent again
// with the script's text in its place.
// The count goes out first, so that the caller must know it: Append does not check that as many
// come.
void Request::Begin(size_t num_arguments) {
  commands_.push_back({bytes_.size(), nullptr, num_arguments, 0});
  absl::StrAppend(&bytes_, "*", num_arguments, "\r\n");
}

void Request::Command(std::initializer_list<std::string_view> arguments) {
  Begin(arguments.size());
  for (const std::string_view argument : arguments) Append(argument);
}

void Request::BeginScript(const Script& script, std::span<const std::string> keys,
                          size_t num_arguments) {
  Begin(3 + keys.size() + num_arguments);
  commands_.back().script = &script;
  Append("EVALSHA");
  Append(script.sha1());
  commands_.back().after_sha1 = bytes_.size();
  Append(keys.size());
  for (const std::string& key : keys) Append(key);
}

void Request::Append(std::string_view argument) { AppendBulk(argument, &bytes_); }

void Request::Append(uint64_t number) {
  const absl::AlphaNum text(number);
  Append(std::string_view(text.data(), text.size()));
}

// EVAL has as many arguments as EVALSHA: the count stays.
void Request::AppendCommand(size_t i, bool whole_script, std::string* bytes) const {
  const Place& place = commands_[i];
  const size_t end = i + 1 < commands_.size() ? commands_[i + 1].begin : bytes_.size();
  if (!whole_script || place.script == nullptr) {
    bytes->append(bytes_, place.begin, end - place.begin);
    return;
  }
  absl::StrAppend(bytes, "*", place.num_arguments, "\r\n");
  AppendBulk("EVAL", bytes);
  AppendBulk(place.script->body(), bytes);
  bytes->append(bytes_, place.after_sha1, end - place.after_sha1);
}

}  // namespace winnow::filter::redis
