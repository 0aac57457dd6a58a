// What BitmapFilter runs inside the server, where each script is one atomic step, and the names of
// the keys that it works on. README.md of this folder describes the layout.

#ifndef WINNOW_FILTER_REDIS_BITMAP_SCRIPTS_H_
#define WINNOW_FILTER_REDIS_BITMAP_SCRIPTS_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "winnow/filter/redis/request.h"
#include "winnow/filter/redis_bitmap.h"

namespace winnow::filter::redis {

// In this order the keys of every script: bits, state, Redisson's configuration (of other rules the
// state again), the next generation's bits, the rebuild, the notes of writers, bits that are being
// uploaded, and what Redisson's configuration would be, of whatever rule the filter is.
std::vector<std::string> BitmapKeys(std::string_view name, RedisBitmapRule rule);
inline constexpr size_t kBitsKey = 0;
// A query names the first three alone, all of which exist: while a slot moves, a cluster's node
// refuses scripts with keys that it has not.
inline constexpr size_t kNumQueryKeys = 3;
inline constexpr size_t kNotesKey = 5;

// So long notes of writers outlive their filter.
inline constexpr std::chrono::milliseconds kNotesOutlive = std::chrono::hours(24);

// Each answers an array whose first element is a word: "ok", or why it did nothing: "changed" (the
// configuration or the rebuild is not the one that the caller named), "missing", and others.

// ARGV: rule, bits, probes, generation, bytes, time to live, insertions, rate. "exists".
const Script& CreateScript();
// No ARGV. Behind "ok" the fields of DescribedField, each a string, empty where there is none.
const Script& DescribeScript();
// Offsets are one argument, as PackOffsets makes it.
// ARGV: stamp, least bytes, probes, offsets. Behind "ok" a '0' or '1' for each key.
const Script& QueryScript();
// ARGV: stamp, least bytes, token of the rebuild, mode, id of the note, its text, most notes,
// probes, offsets, and those in the next generation if there is one. "full". Behind "ok" how many
// keys were new. The mode is "add", "begin" (leaves the note) or "end" (removes it).
const Script& WriteScript();
// ARGV: rule, most bytes of a string without configuration that is such a filter, nonce, lease,
// bits, probes, bytes. "foreign" with what lies under the name instead; "busy" with what is left of
// the other's lease. Behind "ok" the token and its number.
const Script& StartScript();
// ARGV: rule, most bytes as above. "foreign".
const Script& RemoveScript();
// ARGV: token, lease, bytes, and offsets or nothing. "lost".
const Script& FillScript();
// ARGV: token, lease, where the piece begins, the piece. "lost".
const Script& UploadScript();
// ARGV: token, lease, bytes of the upload. "lost".
const Script& UniteScript();
// ARGV: token, bytes, rule, bits, probes, time to live, insertions, rate, and most bytes as
// StartScript. "lost", "foreign".
const Script& CommitScript();
// ARGV: token. Ok in any case.
const Script& AbandonScript();

// What DescribeScript gives, in order behind "ok".
enum DescribedField : size_t {
  kStampField = 1,
  kRuleField,
  kBitsField,
  kProbesField,
  kGenerationField,
  kConfigSizeField,
  kConfigProbesField,
  kInsertionsField,
  kRateField,
  kTokenField,
  kNextBitsField,
  kNextProbesField,
  kLengthField,
  kNumNotesField,
  kTtlField,
  kNumDescribedFields
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_BITMAP_SCRIPTS_H_
