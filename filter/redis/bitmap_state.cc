#include "filter/redis/bitmap_state.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace winnow::filter::redis {
namespace {

// Arguments of a script besides offsets: keys, script, configuration.
constexpr size_t kOtherArguments = 40;

bool ParseNumber(std::string_view text, uint64_t* number) {
  return absl::SimpleAtoi(absl::string_view(text.data(), text.size()), number);
}

absl::StatusOr<RedisBitmapShape> ParseShape(RedisBitmapRule rule, std::string_view bits,
                                            std::string_view probes) {
  RedisBitmapShape shape;
  shape.rule = rule;
  uint64_t num_probes = 0;
  // Whatever another program has written there: a shape that is not possible must not be computed
  // with.
  if (ParseNumber(bits, &shape.num_bits) && ParseNumber(probes, &num_probes) && num_probes <= 255) {
    shape.num_probes = static_cast<int>(num_probes);
    if (CheckRedisBitmapShape(shape).ok()) return shape;
  }
  return absl::FailedPreconditionError(absl::StrCat("its configuration says '", std::string(bits),
                                                    "' bits and '", std::string(probes),
                                                    "' probes"));
}

// Asked of the system each time, which beside a round trip costs nothing: a generator of our own
// would go on alike in both processes after a fork, and two writers with one note lose a key.
std::array<uint64_t, 2> RandomBits() {
  std::array<uint64_t, 2> bits;
  if (::getentropy(bits.data(), sizeof(bits)) == 0) return bits;
  // A system without getentropy, as a seccomp filter may make it: time and process still tell
  // writers apart.
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return {static_cast<uint64_t>(now), static_cast<uint64_t>(::getpid())};
}

}  // namespace

// Which configuration counts:
//
//   ours, of another rule                      refused: one rule's offsets mean nothing in another
//   Redisson's, and Redisson's is asked for    Redisson's, which it may have changed since
//   ours, of the rule that is asked for        ours; of Redisson's until its first rebuild only
//   none, but the caller gave a shape          the caller's: go-zero and Jedis leave nothing
//
// A managed filter has a string of full length from its creation on: one that is shorter was
// evicted and made again by a program that knows nothing of it, and would deny what it lost.
absl::StatusOr<BitmapLayout> ParseLayout(const std::vector<Reply>& fields,
                                         const BitmapFilterOptions& options,
                                         std::string_view name) {
  const std::string rule(RedisBitmapRuleName(options.rule));
  // Describe has checked that all fields are there and are strings.
  const auto text = [&fields](DescribedField field) -> const std::string& {
    return fields[field].text;
  };
  BitmapLayout layout;
  layout.stamp = text(kStampField);
  absl::StatusOr<RedisBitmapShape> shape =
      absl::NotFoundError(absl::StrCat("there is no filter ", std::string(name)));
  const std::string& configured_rule = text(kRuleField);
  const bool is_managed = !configured_rule.empty();
  // Filters of others have no generation and count as whole: nobody can know better.
  const bool is_complete = !is_managed || text(kGenerationField) != "0";
  if (is_managed && configured_rule != rule) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(name), " is a filter of ", configured_rule, ", not ", rule));
  }
  if (!text(kConfigSizeField).empty() && options.rule == RedisBitmapRule::kRedisson) {
    // Redisson's own configuration counts where both are there: it may have changed it.
    shape = ParseShape(options.rule, text(kConfigSizeField), text(kConfigProbesField));
  } else if (is_managed && (options.rule != RedisBitmapRule::kRedisson || !is_complete)) {
    shape = ParseShape(options.rule, text(kBitsField), text(kProbesField));
  } else if (!is_managed && options.shape_without_configuration.has_value()) {
    shape = *options.shape_without_configuration;
    layout.least_bytes_to_add = options.add_makes_the_key ? 0 : 1;
  }
  if (!shape.ok()) {
    return absl::Status(shape.status().code(),
                        absl::StrCat(std::string(name), ": ", shape.status().message()));
  }
  layout.shape = *shape;
  layout.has_configuration = is_managed || !text(kConfigSizeField).empty();
  layout.is_complete = is_complete;
  // To ask and to add alike: adding to a string that was lost in part could make it look whole.
  if (is_managed) {
    layout.least_bytes_to_query = layout.least_bytes_to_add = BytesOf(layout.shape);
  }
  // The shape of the next generation comes with the token: a writer computes two sets of offsets
  // and sends both in one script.
  layout.token = text(kTokenField);
  if (!layout.token.empty()) {
    absl::StatusOr<RedisBitmapShape> next =
        ParseShape(options.rule, text(kNextBitsField), text(kNextProbesField));
    if (!next.ok()) return next.status();
    layout.next_shape = *next;
  }
  return layout;
}

absl::StatusOr<std::string> WordOf(const Reply& reply) {
  const absl::Status status = reply.ToStatus();
  if (!status.ok()) return status;
  if (reply.type != Reply::Type::kArray || reply.elements.empty() ||
      reply.elements[0].type != Reply::Type::kString) {
    return absl::DataLossError("Redis: an answer that the script does not give");
  }
  return reply.elements[0].text;
}

std::string UniqueDigits() {
  const std::array<uint64_t, 2> bits = RandomBits();
  return absl::StrCat(absl::Hex(bits[0], absl::kZeroPad16), absl::Hex(bits[1], absl::kZeroPad16));
}

uint64_t WithJitter(std::chrono::milliseconds ttl, std::chrono::milliseconds jitter) {
  if (ttl.count() <= 0) return 0;
  const int64_t most = std::clamp<int64_t>(jitter.count(), 0, kLongestTtl.count());
  const uint64_t share = RandomBits()[0] % (static_cast<uint64_t>(most) + 1);
  return static_cast<uint64_t>(std::min(ttl, kLongestTtl).count()) + share;
}

// Double.toString: plain between 10^-3 and 10^7, otherwise with an exponent; always with a point.
std::string JavaDouble(double value) {
  if (!(value > 0) || !std::isfinite(value)) return "0.0";
  char buffer[64];
  const bool is_plain = value >= 1e-3 && value < 1e7;
  // The shortest digits that give the same double back, which is what Java prints from version 19
  // on; before, it sometimes printed one digit more. Redisson parses either.
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value,
                    is_plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer, end.ptr);
  const size_t exponent = text.find('e');
  std::string digits = text.substr(0, exponent);
  if (digits.find('.') == std::string::npos) digits += ".0";
  if (exponent == std::string::npos) return digits;
  return absl::StrCat(digits, "E", std::stoi(text.substr(exponent + 1)));
}

// A script holds up all clients while it runs.
size_t KeysOfScript(size_t offsets_each) {
  // Offsets are packed into one argument, but each costs the server about as much as an argument
  // would: so the limit on arguments serves as one on work, some milliseconds a script.
  return std::max<size_t>(1, (kMaxArguments - kOtherArguments) / offsets_each);
}

std::string PackOffsets(const RedisBitmapShape& shape, std::span<const std::string_view> keys) {
  constexpr size_t kMostDigits = 10;  // of 2^32 - 1
  std::vector<uint64_t> offsets;
  offsets.reserve(keys.size() * static_cast<size_t>(shape.num_probes));
  for (const std::string_view key : keys) AppendRedisOffsets(shape, key, &offsets);
  // MessagePack: 0xdc and two bytes for the length of an array, 0xa0 + n for a string of n bytes.
  // The scripts' limit keeps the length far below 2^16.
  const auto count = static_cast<uint16_t>(offsets.size());
  std::string packed = {'\xdc', static_cast<char>(count >> 8), static_cast<char>(count & 0xff)};
  packed.reserve(packed.size() + offsets.size() * (1 + kMostDigits));
  for (const uint64_t offset : offsets) {
    char digits[kMostDigits];
    const auto length =
        static_cast<size_t>(std::to_chars(digits, digits + kMostDigits, offset).ptr - digits);
    packed.push_back(static_cast<char>(0xa0 + length));
    packed.append(digits, length);
  }
  return packed;
}

// By length, not by a separator: keys are any bytes.
std::string NoteOf(std::span<const std::string_view> keys) {
  std::string note;
  for (const std::string_view key : keys) {
    absl::StrAppend(&note, key.size(), ":");
    note.append(key);
  }
  return note;
}

absl::StatusOr<OpenWrite> ParseNote(std::string_view text) {
  const absl::Status bad = absl::DataLossError("Redis: a note of a writer that is damaged");
  const auto next_number = [&text](uint64_t* number) {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos || !ParseNumber(text.substr(0, colon), number)) {
      return false;
    }
    text.remove_prefix(colon + 1);
    return true;
  };
  OpenWrite write;
  if (!next_number(&write.begun_millis)) return bad;
  // The length is compared with what is left before anything is copied: a note is what some writer,
  // perhaps of another version, has left in Redis.
  while (!text.empty()) {
    uint64_t length = 0;
    if (!next_number(&length) || length > text.size()) return bad;
    write.keys.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return write;
}

}  // namespace winnow::filter::redis
