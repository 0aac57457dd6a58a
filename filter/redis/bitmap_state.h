// What BitmapFilter and BitmapRebuild share: the filter's keys, what is known of its configuration,
// and scripts over many keys in few round trips.

#ifndef WINNOW_FILTER_REDIS_BITMAP_STATE_H_
#define WINNOW_FILTER_REDIS_BITMAP_STATE_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "filter/base/mutex.h"
#include "filter/redis/bitmap_scripts.h"
#include "winnow/filter/redis/bitmap_filter.h"

namespace winnow::filter::redis {

// A filter's configuration at one moment, as a script compares it.
struct BitmapLayout {
  std::string stamp;
  RedisBitmapShape shape;
  bool has_configuration = false;
  bool is_complete = true;
  uint64_t least_bytes_to_query = 1;  // a shorter string is not this filter
  uint64_t least_bytes_to_add = 0;
  std::string token;  // of the rebuild under way, or empty
  RedisBitmapShape next_shape;
};

// The configuration that DescribeScript gave. NotFound, or FailedPrecondition: of another rule.
absl::StatusOr<BitmapLayout> ParseLayout(const std::vector<Reply>& fields,
                                         const BitmapFilterOptions& options, std::string_view name);

// The word that a script's answer begins with, or the error that it is.
absl::StatusOr<std::string> WordOf(const Reply& reply);

inline uint64_t BytesOf(const RedisBitmapShape& shape) { return (shape.num_bits + 7) / 8; }

// With this bound the command time-out applies to a bounded piece of work, however many keys a call
// has.
inline constexpr size_t kMaxScripts = 64;  // in one round trip

// "For ever", of which two can be added up.
inline constexpr std::chrono::milliseconds kLongestTtl = std::chrono::hours(24 * 365 * 100);

// Random digits, for tokens and notes: no two are equal.
std::string UniqueDigits();
// A time to live with its share of the jitter, in milliseconds.
uint64_t WithJitter(std::chrono::milliseconds ttl, std::chrono::milliseconds jitter);
// As Java prints a double: 0.01, 1.0E-5.
std::string JavaDouble(double value);

// How many keys of so many offsets one script takes: it does no more at a time than a command of
// so many arguments would.
size_t KeysOfScript(size_t offsets_each);
// The offsets of keys as one argument: MessagePack's array of strings, their decimal digits.
std::string PackOffsets(const RedisBitmapShape& shape, std::span<const std::string_view> keys);

// The text of a note, and back: each key as its length, ':' and its bytes.
std::string NoteOf(std::span<const std::string_view> keys);
// Of a note with its time before it. DataLoss.
struct OpenWrite {
  uint64_t begun_millis;
  std::vector<std::string> keys;
};
absl::StatusOr<OpenWrite> ParseNote(std::string_view text);

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_BITMAP_STATE_H_
