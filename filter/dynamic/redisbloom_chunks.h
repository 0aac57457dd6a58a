// What the dumps of RedisBloom's two kinds have in common: packed little-endian heads, and one
// array of bytes for each layer or table behind them.

#ifndef WINNOW_FILTER_DYNAMIC_REDISBLOOM_CHUNKS_H_
#define WINNOW_FILTER_DYNAMIC_REDISBLOOM_CHUNKS_H_

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "winnow/filter/redisbloom_filter.h"

namespace winnow::filter::internal {

template <typename Number>
void AppendPacked(Number number, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Takes fields off the front of a head whose length was checked before.
class PackedReader {
 public:
  explicit PackedReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename Number>
  Number Next() {
    Number number;
    std::memcpy(&number, bytes_.data(), sizeof(number));
    bytes_.remove_prefix(sizeof(number));
    return number;
  }

 private:
  std::string_view bytes_;
};

inline absl::Status BadDump(std::string_view what) {
  return absl::DataLossError(absl::StrCat("RedisBloom dump: ", std::string(what)));
}

// The chunks of a head and of arrays, none of which crosses the end of an array.
template <typename Arrays>
std::vector<RedisBloomChunk> ChunksOf(std::string head, const Arrays& arrays) {
  std::vector<RedisBloomChunk> chunks = {{1, std::move(head)}};
  uint64_t end = 0;
  for (const std::string_view array : arrays) {
    for (size_t at = 0; at < array.size(); at += kMaxRedisBloomChunkBytes) {
      const std::string_view part = array.substr(at, kMaxRedisBloomChunkBytes);
      end += part.size();
      chunks.push_back({end + 1, std::string(part)});
    }
  }
  return chunks;
}

// All bytes behind the head, in order; DataLoss where an iterator does not fit them.
inline absl::Status JoinChunks(std::span<const RedisBloomChunk> chunks, std::string* bytes) {
  for (const RedisBloomChunk& chunk : chunks) {
    bytes->append(chunk.data);
    if (chunk.iterator != bytes->size() + 1) {
      return BadDump(absl::StrCat("iterator ", chunk.iterator, " after ", bytes->size(),
                                  " bytes; a chunk is missing, or the filter has changed"));
    }
  }
  return absl::OkStatus();
}

// Cuts `bytes` into arrays of these lengths. DataLoss if they are not as many in all.
inline absl::Status CutArrays(std::string_view bytes, const std::vector<uint64_t>& lengths,
                              std::vector<std::string_view>* arrays) {
  for (const uint64_t length : lengths) {
    if (length > bytes.size()) {
      return BadDump(absl::StrCat("the head announces ", length, " bytes where ", bytes.size(),
                                  " are left: it is cut off"));
    }
    arrays->push_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  if (!bytes.empty()) return BadDump(absl::StrCat(bytes.size(), " bytes too many"));
  return absl::OkStatus();
}

// What `parse_head` makes of a dump's head, and the arrays behind it, cut as it says; they lie in
// `*bytes`.
template <typename ParseHead>
std::invoke_result_t<ParseHead, std::string_view, std::vector<uint64_t>*> LoadChunks(
    std::span<const RedisBloomChunk> chunks, ParseHead parse_head, std::string* bytes,
    std::vector<std::string_view>* arrays) {
  if (chunks.empty() || chunks[0].iterator != 1) return BadDump("its head is missing");
  std::vector<uint64_t> lengths;
  auto filter = parse_head(chunks[0].data, &lengths);
  if (!filter.ok()) return filter;
  absl::Status status = JoinChunks(chunks.subspan(1), bytes);
  if (status.ok()) status = CutArrays(*bytes, lengths, arrays);
  if (!status.ok()) return status;
  return filter;
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_DYNAMIC_REDISBLOOM_CHUNKS_H_
