// What the verbs of winnow redis share: the server, the filter that its flags name, and keys from
// text.
#ifndef WINNOW_TOOLS_WINNOW_REDIS_FILTER_H_
#define WINNOW_TOOLS_WINNOW_REDIS_FILTER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/winnow/command.h"
#include "winnow/filter/redis/bitmap_filter.h"
#include "winnow/filter/redis/module_filter.h"

namespace winnow::cli {

// A filter under a name on a server; one of the two is there.
struct RedisFilter {
  std::unique_ptr<filter::redis::Client> client;
  std::unique_ptr<filter::redis::BitmapFilter> bitmap;
  std::unique_ptr<filter::redis::ModuleFilter> module;
  bool is_cuckoo = false;
};

// --url, --layout and what every verb takes; `more` of its own before them.
std::vector<FlagSpec> RedisFlags(std::vector<FlagSpec> more);

// Does not connect. InvalidArgument: no --url, or a flag that makes no sense. With --bits a string
// without configuration is taken for a filter of so many.
absl::StatusOr<RedisFilter> OpenRedisFilter(const Arguments& arguments);

// The same to replace the filter: a string without configuration is taken for one only with
// --adopt, and only if it is no longer than the new one, whose shape `of_rule` gives.
inline constexpr FlagSpec kRedisAdoptFlag = {
    "adopt", "", "a string that says nothing of itself is go-zero's or Jedis's filter: replace it"};
using RedisShapeOfRule =
    std::function<absl::StatusOr<filter::RedisBitmapShape>(filter::RedisBitmapRule rule)>;
absl::StatusOr<RedisFilter> OpenRedisFilterToReplace(const Arguments& arguments,
                                                     const RedisShapeOfRule& of_rule);

// The shape that --keys and --fpr, or --bits for go-zero's, ask for. InvalidArgument.
absl::StatusOr<filter::RedisBitmapShape> RedisShapeOf(const Arguments& arguments,
                                                      filter::RedisBitmapRule rule);
// --max-bytes, or 512 MiB, which is what Redis takes for a string unless it is told otherwise.
inline constexpr FlagSpec kRedisMaxBytesFlag = {
    "max-bytes", "SIZE", "make nothing larger: 64M, 1.5GiB (default: 512MiB)"};
absl::StatusOr<uint64_t> RedisMaxBytesOf(const Arguments& arguments);
// --keys, and --fpr (1 % if it was not given). InvalidArgument.
struct RedisSize {
  uint64_t keys = 0;
  double fpr = 0.01;
};
absl::StatusOr<RedisSize> RedisSizeOf(const Arguments& arguments);
// A time of 0, which is that of a flag that was not given, or of a millisecond at least.
absl::StatusOr<std::chrono::milliseconds> SecondsOf(const Arguments& arguments,
                                                    std::string_view flag);

// Reads the inputs behind the filter's name: of each line the part before the first tab is a key.
// `visit` gets up to 1000 lines' keys at a time, fewer if they are long. Progress is shown, but
// beside lines that `visit` prints to a terminal. Gives their number.
using KeyBatch = std::vector<std::string_view>;
absl::StatusOr<uint64_t> ForEachKeyBatch(const Arguments& arguments,
                                         const std::function<absl::Status(const KeyBatch&)>& visit,
                                         bool prints_lines = false);

// "1 key", "2 keys".
std::string KeysText(uint64_t num_keys);

// An error with the filter's name before it, and never one of the command line.
absl::Status ServerError(const Arguments& arguments, const absl::Status& status);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_REDIS_FILTER_H_
