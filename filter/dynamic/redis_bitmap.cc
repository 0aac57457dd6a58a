#include "winnow/filter/redis_bitmap.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "filter/dynamic/allocate_bytes.h"
#include "filter/dynamic/parameters.h"
#include "filter/dynamic/redisson_fpr.h"
#include "filter/dynamic/saved_format.h"
#include "winnow/filter/guava_bloom_filter.h"

namespace winnow::filter {
namespace {

constexpr int kMaxProbes = 255;
// Redisson's own limit, Integer.MAX_VALUE * 2L, is two below what SETBIT takes.
constexpr uint64_t kMaxRedissonBits = 4294967294;

uint64_t NumBytes(uint64_t num_bits) { return (num_bits + 7) / 8; }

// The textbook's number of bits and probes as Java rounds them, which all three programs do.
// Our own ChooseBloomShape would take some bits more for small filters: then the other program,
// which computes its shape by itself, would look elsewhere.
absl::StatusOr<RedisBitmapShape> ShapeFor(RedisBitmapRule rule, uint64_t expected_insertions,
                                          double fpr) {
  if (!(fpr > 0 && fpr < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("RedisBitmap: false-positive rate must be above 0 and below 1, got ", fpr));
  }
  if (expected_insertions == 0) {
    return absl::InvalidArgumentError("RedisBitmap: expected insertions must be at least 1, got 0");
  }
  RedisBitmapShape shape;
  shape.rule = rule;
  shape.num_bits = GuavaOptimalBits(expected_insertions, fpr);
  shape.num_probes = GuavaOptimalProbes(expected_insertions, shape.num_bits);
  const absl::Status status = CheckRedisBitmapShape(shape);
  if (!status.ok()) return status;
  return shape;
}

// The three rules. Each computes a key's positions in the order of the program that it comes from,
// without holding them all: a query usually ends at the first or second one.
// All visits stop where `visit` gives false.
template <typename Visitor>
void VisitGoZero(const RedisBitmapShape& shape, std::string_view key, Visitor visit) {
  std::string numbered(key);  // a copy: Go's append may write behind the caller's bytes
  numbered.push_back(0);
  // One whole hash of the key for each probe, O(probes * length): the dearest of the three rules,
  // and the one without any relation between the positions.
  for (int i = 0; i < shape.num_probes; ++i) {
    numbered.back() = static_cast<char>(i);
    if (!visit(HashGuavaKey(numbered).low % shape.num_bits)) return;
  }
}

template <typename Visitor>
void VisitJedis(const RedisBitmapShape& shape, std::string_view key, Visitor visit) {
  const uint64_t hash = HashGuavaKey(key).low;
  // The step has 48 bits of the hash itself, so that positions are correlated with it. At a wanted
  // rate of 1 %, 1.00 to 1.17 % were measured.
  const uint64_t step = hash >> 16;
  uint64_t combined = hash;
  for (int i = 0; i < shape.num_probes; ++i, combined += step) {
    const bool is_negative = combined >> 63 != 0;
    if (!visit((is_negative ? ~combined : combined) % shape.num_bits)) return;
  }
}

template <typename Visitor>
void VisitRedisson(const RedisBitmapShape& shape, std::string_view key, Visitor visit) {
  const RedissonHash hash = HashRedissonKey(key);
  internal::VisitRedissonPositions(hash.first, hash.second, shape.num_bits, shape.num_probes,
                                   visit);
}

template <typename Visitor>
void VisitOffsets(const RedisBitmapShape& shape, std::string_view key, Visitor visit) {
  switch (shape.rule) {
    case RedisBitmapRule::kGoZero:
      return VisitGoZero(shape, key, visit);
    case RedisBitmapRule::kJedis:
      return VisitJedis(shape, key, visit);
    case RedisBitmapRule::kRedisson:
      return VisitRedisson(shape, key, visit);
  }
}

// Redis counts bits from the highest of each byte.
// Bit 0 is 0x80 of the first byte, the opposite of our other filters and of RedisBloom.
char MaskOf(uint64_t offset) { return static_cast<char>(0x80 >> (offset & 7)); }

}  // namespace

std::string_view RedisBitmapRuleName(RedisBitmapRule rule) {
  switch (rule) {
    case RedisBitmapRule::kGoZero:
      return "gozero";
    case RedisBitmapRule::kJedis:
      return "jedis";
    case RedisBitmapRule::kRedisson:
      return "redisson";
  }
  return "unknown";
}

absl::Status CheckRedisBitmapShape(const RedisBitmapShape& shape) {
  const uint64_t most = shape.rule == RedisBitmapRule::kRedisson ? kMaxRedissonBits : kMaxRedisBits;
  if (shape.num_bits == 0 || shape.num_bits > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("RedisBitmap: 1 to ", most, " bits are possible, not ", shape.num_bits));
  }
  if (shape.num_probes < 1 || shape.num_probes > kMaxProbes) {
    return absl::InvalidArgumentError(absl::StrCat("RedisBitmap: 1 to ", kMaxProbes,
                                                   " probes are possible, not ", shape.num_probes));
  }
  if (RedisBitmapRuleName(shape.rule) == "unknown") {
    return absl::InvalidArgumentError("RedisBitmap: a rule that is not known");
  }
  return absl::OkStatus();
}

absl::StatusOr<RedisBitmapShape> GoZeroShape(uint64_t num_bits) {
  const RedisBitmapShape shape = {RedisBitmapRule::kGoZero, num_bits, kGoZeroProbes};
  const absl::Status status = CheckRedisBitmapShape(shape);
  if (!status.ok()) return status;
  return shape;
}

absl::StatusOr<RedisBitmapShape> GoZeroShape(uint64_t expected_insertions, double fpr) {
  return ShapeFor(RedisBitmapRule::kGoZero, expected_insertions, fpr);
}

absl::StatusOr<RedisBitmapShape> JedisShape(uint64_t expected_insertions, double fpr) {
  return ShapeFor(RedisBitmapRule::kJedis, expected_insertions, fpr);
}

absl::StatusOr<RedisBitmapShape> RedissonShape(uint64_t expected_insertions, double fpr) {
  return ShapeFor(RedisBitmapRule::kRedisson, expected_insertions, fpr);
}

void AppendRedisOffsets(const RedisBitmapShape& shape, std::string_view key,
                        std::vector<uint64_t>* offsets) {
  VisitOffsets(shape, key, [offsets](uint64_t offset) {
    offsets->push_back(offset);
    return true;
  });
}

double RedisBitmapFpr(const RedisBitmapShape& shape, uint64_t num_ones) {
  const uint64_t ones = std::min(num_ones, shape.num_bits);
  const double independent = internal::FprOfFill(shape.num_bits, ones, shape.num_probes);
  if (shape.rule != RedisBitmapRule::kRedisson) return independent;
  const double fill = static_cast<double>(ones) / static_cast<double>(shape.num_bits);
  return std::min(
      1.0, independent * internal::RedissonFprFactor(shape.num_bits, shape.num_probes, fill));
}

absl::StatusOr<RedisBitmap> RedisBitmap::Create(const RedisBitmapShape& shape) {
  const absl::Status status = CheckRedisBitmapShape(shape);
  if (!status.ok()) return status;
  absl::StatusOr<std::string> bytes = internal::AllocateBytes(NumBytes(shape.num_bits));
  if (!bytes.ok()) return bytes.status();
  return RedisBitmap(shape, *std::move(bytes));
}

// Redis lets a string grow only as far as SETBIT has reached: one that is shorter than the shape
// lacks zeros and is whole. A longer one is not this filter's.
absl::StatusOr<RedisBitmap> RedisBitmap::FromString(const RedisBitmapShape& shape,
                                                    std::string_view value) {
  if (value.size() > NumBytes(shape.num_bits)) {
    return absl::DataLossError(absl::StrCat("RedisBitmap: ", value.size(), " bytes are more than ",
                                            shape.num_bits, " bits have"));
  }
  // Of the last byte's bits those that the shape has come first.
  if (value.size() == NumBytes(shape.num_bits) && shape.num_bits % 8 != 0 &&
      (static_cast<uint8_t>(value.back()) & 0xff >> shape.num_bits % 8) != 0) {
    return absl::DataLossError(
        absl::StrCat("RedisBitmap: a bit behind the last of ", shape.num_bits, " is set"));
  }
  absl::StatusOr<RedisBitmap> bitmap = Create(shape);
  if (bitmap.ok()) bitmap->bytes_.replace(0, value.size(), value);
  return bitmap;
}

// A string that SETBIT has made ends with the byte of its highest bit: with the zeros behind it cut
// off, the two are equal byte for byte.
std::string RedisBitmap::ToString() const {
  const size_t last = bytes_.find_last_not_of('\0');
  return last == std::string::npos ? std::string() : bytes_.substr(0, last + 1);
}

bool RedisBitmap::Add(std::string_view key) {
  bool changed = false;
  VisitOffsets(shape_, key, [&](uint64_t offset) {
    char& byte = bytes_[offset / 8];
    changed |= (byte & MaskOf(offset)) == 0;
    byte = static_cast<char>(byte | MaskOf(offset));
    return true;
  });
  return changed;
}

bool RedisBitmap::Contains(std::string_view key) const {
  bool all_set = true;
  VisitOffsets(shape_, key, [&](uint64_t offset) {
    return all_set = (bytes_[offset / 8] & MaskOf(offset)) != 0;
  });
  return all_set;
}

uint64_t RedisBitmap::CountOnes() const {
  uint64_t ones = 0;
  for (const char byte : bytes_) {
    ones += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(byte)));
  }
  return ones;
}

uint64_t RedisBitmap::ApproximateCount() const {
  return internal::CountEstimate(num_bits(), CountOnes(), num_probes());
}

double RedisBitmap::ExpectedFpr() const { return RedisBitmapFpr(shape_, CountOnes()); }

absl::Status RedisBitmap::Union(const RedisBitmap& other) {
  if (&other == this) {
    return absl::InvalidArgumentError("RedisBitmap: a filter cannot be united with itself");
  }
  if (other.shape_ != shape_) {
    return absl::InvalidArgumentError(
        "RedisBitmap: only filters of the same rule, bits and probes can be united");
  }
  for (size_t i = 0; i < bytes_.size(); ++i) {
    bytes_[i] = static_cast<char>(bytes_[i] | other.bytes_[i]);
  }
  return absl::OkStatus();
}

std::string RedisBitmap::Serialize() const {
  internal::SavedHeader header;
  header.kind = SavedFilterKind::kRedisBitmap;
  header.parameter = static_cast<uint8_t>(shape_.num_probes);
  header.option = static_cast<uint8_t>(shape_.rule);
  header.num_slots = shape_.num_bits;
  internal::SavedFilterWriter writer(header, bytes_.size());
  writer.Append(bytes_);
  return std::move(writer).Finish();
}

absl::StatusOr<RedisBitmap> RedisBitmap::Deserialize(std::string_view bytes) {
  const absl::StatusOr<internal::SavedFilter> saved =
      internal::ParseSavedFilter(bytes, SavedFilterKind::kRedisBitmap);
  if (!saved.ok()) return saved.status();
  // The option may be any byte: CheckRedisBitmapShape refuses those that name no rule.
  const RedisBitmapShape shape = {static_cast<RedisBitmapRule>(saved->header.option),
                                  saved->header.num_slots, saved->header.parameter};
  if (!CheckRedisBitmapShape(shape).ok() || saved->payload.size() != NumBytes(shape.num_bits)) {
    return internal::InconsistentFields(*saved);
  }
  return FromString(shape, saved->payload);
}

}  // namespace winnow::filter
