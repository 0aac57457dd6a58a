// Any bytes as what a Redis server sends, in one piece and in several: no more memory than the
// limits, the same replies however the bytes are cut, and an end. The same bytes as an address, as
// a writer's note, and, a line a field, as a filter's configuration.

#include <algorithm>
#include <string_view>

#include "filter/redis/bitmap_state.h"
#include "filter/redis/reply_reader.h"
#include "filter/redis/url.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using winnow::filter::RedisBitmapRule;
using winnow::filter::redis::Reply;
using winnow::filter::redis::ReplyReader;
using winnow::fuzz::Require;

constexpr uint64_t kMaxBytes = 1 << 20;
constexpr uint64_t kMaxElements = 1000;

uint64_t Elements(const Reply& reply) {
  uint64_t count = 1;
  for (const Reply& element : reply.elements) count += Elements(element);
  return count;
}

void AppendText(const Reply& reply, std::string* text) {
  *text += std::to_string(static_cast<int>(reply.type)) + ":" + std::to_string(reply.integer) +
           ":" + reply.text + "(";
  for (const Reply& element : reply.elements) AppendText(element, text);
  *text += ")";
}

// Everything that could be read, as text, with '!' where the reader gave up.
std::string ReadInPieces(std::string_view bytes, size_t piece) {
  ReplyReader reader(kMaxBytes, kMaxElements);
  std::string text;
  while (!bytes.empty()) {
    if (!reader.Feed(bytes.substr(0, piece)).ok()) return text + "!";
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      const auto reply = reader.Next();
      if (!reply.ok()) {
        Require(!reply.status().message().empty(), "a refusal has a reason");
        return text + "!";
      }
      if (!reply->has_value()) break;
      Require(Elements(**reply) <= kMaxElements + 1, "no more elements than the limit");
      (*reply)->ToStatus().IgnoreError();
      AppendText(**reply, &text);
    }
  }
  return text;
}

void ReadAsNote(std::string_view bytes) {
  const auto note = winnow::filter::redis::ParseNote(bytes);
  if (!note.ok()) return Require(!note.status().message().empty(), "a refusal has a reason");
  const std::vector<std::string_view> keys(note->keys.begin(), note->keys.end());
  const auto again = winnow::filter::redis::ParseNote(std::to_string(note->begun_millis) + ":" +
                                                      winnow::filter::redis::NoteOf(keys));
  Require(again.ok() && again->begun_millis == note->begun_millis && again->keys == note->keys,
          "a note says the same when it is written again");
}

void ReadAsConfiguration(std::string_view bytes) {
  std::vector<Reply> fields(winnow::filter::redis::kNumDescribedFields);
  for (Reply& field : fields) {
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    field.type = Reply::Type::kString;
    field.text = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  for (const auto rule :
       {RedisBitmapRule::kGoZero, RedisBitmapRule::kJedis, RedisBitmapRule::kRedisson}) {
    const auto layout = winnow::filter::redis::ParseLayout(fields, {.rule = rule}, "name");
    if (!layout.ok()) {
      Require(!layout.status().message().empty(), "a refusal has a reason");
      continue;
    }
    Require(layout->shape.rule == rule && CheckRedisBitmapShape(layout->shape).ok(),
            "a shape that offsets can be computed for");
    Require(layout->token.empty() || CheckRedisBitmapShape(layout->next_shape).ok(),
            "and so has the next generation");
  }
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  return {"+OK\r\n",
          "-MOVED 3999 127.0.0.1:6381\r\n",
          ":1000\r\n",
          "$5\r\nhello\r\n$-1\r\n$0\r\n\r\n",
          "*2\r\n$2\r\nok\r\n$3\r\n101\r\n",
          "*3\r\n:1\r\n*2\r\n+a\r\n-ERR b\r\n*-1\r\n",
          "*0\r\n*2000000000\r\n",
          "redis://me:p%40ss@[::1]:7000/3",
          "1790000000000:3:Tom0:5:Jerry",
          "ok\nstamp\nredisson\n9585\n7\n1-ab\n9585\n7\n1000\n0.01\n2-cd\n19170\n7\n1199\n0\n-1\n",
          "ok\nstamp\ngozero\n20000\n14\n0\n\n\n\n\n\n\n\n2500\n1\n-1\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = ReadInPieces(bytes, size + 1);
  const std::string cut = ReadInPieces(bytes, 3);
  // Fed whole, what comes behind damage is not read at all; in pieces neither.
  Require(whole == cut, "the same replies however the bytes are cut");
  ReadAsNote(bytes);
  ReadAsConfiguration(bytes);
  const auto url = winnow::filter::redis::ParseServerUrl(bytes);
  Require(url.ok() || !url.status().message().empty(), "a refusal has a reason");
  return 0;
}
