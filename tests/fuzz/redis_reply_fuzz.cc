// Any bytes as what a Redis server sends, in one piece and in several: no more memory than the
// limits, the same replies however the bytes are cut, and an end.

#include <algorithm>
#include <string_view>

#include "filter/redis/reply_reader.h"
#include "filter/redis/url.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

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

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  return {"+OK\r\n",
          "-MOVED 3999 127.0.0.1:6381\r\n",
          ":1000\r\n",
          "$5\r\nhello\r\n$-1\r\n$0\r\n\r\n",
          "*2\r\n$2\r\nok\r\n$3\r\n101\r\n",
          "*3\r\n:1\r\n*2\r\n+a\r\n-ERR b\r\n*-1\r\n",
          "*0\r\n*2000000000\r\n",
          "redis://me:p%40ss@[::1]:7000/3"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = ReadInPieces(bytes, size + 1);
  const std::string cut = ReadInPieces(bytes, 3);
  // Fed whole, what comes behind damage is not read at all; in pieces neither.
  Require(whole == cut, "the same replies however the bytes are cut");
  const auto url = winnow::filter::redis::ParseServerUrl(bytes);
  Require(url.ok() || !url.status().message().empty(), "a refusal has a reason");
  return 0;
}
