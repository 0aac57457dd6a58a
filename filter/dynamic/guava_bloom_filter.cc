#include "winnow/filter/guava_bloom_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "filter/base/shown_text.h"
#include "filter/dynamic/big_endian.h"
#include "filter/dynamic/parameters.h"
#include "filter/dynamic/saved_format.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter {
namespace {

// What Java can write: the probes are an unsigned byte of the stream, the words a Java array.
constexpr int kMaxProbes = 255;
constexpr uint64_t kMaxWords = std::numeric_limits<int32_t>::max();
constexpr double kLn2 = 0.6931471805599453;

// The bytes of writeTo: strategy, probes, number of words, words.
constexpr uint64_t kStrategyAt = 0;
constexpr uint64_t kProbesAt = 1;
constexpr uint64_t kNumWordsAt = 2;
constexpr uint64_t kWordsAt = 6;

// The ordinals of BloomFilterStrategies in Java.
bool IsStrategy(int ordinal) { return ordinal == 0 || ordinal == 1; }

}  // namespace

std::string_view GuavaStrategyName(GuavaStrategy strategy) {
  return strategy == GuavaStrategy::kMurmur128Mitz32 ? "murmur128_mitz_32" : "murmur128_mitz_64";
}

// Guava's funnels put numbers little-endian, though its stream of the filter is big-endian: the
// funnel goes through a Hasher, the stream through DataOutput.
std::string GuavaIntegerKey(int32_t value) {
  const auto bits = static_cast<uint32_t>(value);
  std::string key;
  for (int shift = 0; shift < 32; shift += 8) key.push_back(static_cast<char>(bits >> shift));
  return key;
}

std::string GuavaLongKey(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  std::string key;
  for (int shift = 0; shift < 64; shift += 8) key.push_back(static_cast<char>(bits >> shift));
  return key;
}

// Each UTF-16 unit as two bytes, surrogates included: no decoding takes place, so that texts that
// are no valid UTF-16 have a key as well.
std::string GuavaUnencodedCharsKey(std::u16string_view text) {
  std::string key;
  for (const char16_t unit : text) {
    key.push_back(static_cast<char>(unit));
    key.push_back(static_cast<char>(unit >> 8));
  }
  return key;
}

// What follows repeats Java's arithmetic step by step, rounding included: a filter that is created
// here and one that is created there for the same keys and rate must be equal, or they cannot be
// united.

uint64_t GuavaOptimalBits(uint64_t expected_insertions, double fpr) {
  // Java's Double.MIN_VALUE is the least denormal, not the least normal number that C++ calls
  // min().
  if (fpr == 0) fpr = std::numeric_limits<double>::denorm_min();
  const double bits = -static_cast<double>(expected_insertions) * std::log(fpr) / (kLn2 * kLn2);
  // A Java cast to long truncates and stops at the ends of the range.
  constexpr double kMaxLong = 9223372036854775807.0;
  if (!(bits > 0)) return 0;
  return bits >= kMaxLong ? static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
                          : static_cast<uint64_t>(bits);
}

int GuavaOptimalProbes(uint64_t expected_insertions, uint64_t num_bits) {
  // As in Guava up to 31: from the bits that were rounded down, not from the rate, so that for few
  // keys the two formulas differ.
  const double probes =
      static_cast<double>(num_bits) / static_cast<double>(expected_insertions) * kLn2;
  // Java's Math.round; its result is cast to int.
  const double rounded = std::floor(probes + 0.5);
  // No bits for no keys, which is NaN, and rounded to 0 by Java.
  if (std::isnan(rounded)) return 1;
  return static_cast<int>(
      std::clamp(rounded, 1.0, static_cast<double>(std::numeric_limits<int32_t>::max())));
}

absl::StatusOr<GuavaBloomFilter> GuavaBloomFilter::Create(int64_t expected_insertions, double fpr,
                                                          GuavaStrategy strategy) {
  if (expected_insertions < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "GuavaBloomFilter: expected insertions must be at least 0, got ", expected_insertions));
  }
  if (!(fpr > 0 && fpr < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "GuavaBloomFilter: false-positive rate must be above 0 and below 1, got ", fpr));
  }
  // Java's rule, so that a filter that is made for nothing is one for a single key.
  const uint64_t insertions = std::max<uint64_t>(1, static_cast<uint64_t>(expected_insertions));
  const uint64_t num_bits = GuavaOptimalBits(insertions, fpr);
  const int num_probes = GuavaOptimalProbes(insertions, num_bits);
  if (num_bits == 0) {
    return absl::InvalidArgumentError(absl::StrCat("GuavaBloomFilter: ", insertions,
                                                   " keys at a rate of ", fpr,
                                                   " come to no bit at all; Java refuses that"));
  }
  if (num_probes > kMaxProbes) {
    return absl::InvalidArgumentError(absl::StrCat("GuavaBloomFilter: a rate of ", fpr, " needs ",
                                                   num_probes, " probes; Java allows ",
                                                   kMaxProbes));
  }
  // Java's LongMath.divide(bits, 64, CEILING). The filter has all bits of its words, and it is this
  // rounded number that positions are taken modulo.
  const uint64_t num_words = (num_bits - 1) / 64 + 1;
  if (num_words > kMaxWords) {
    return absl::InvalidArgumentError(absl::StrCat("GuavaBloomFilter: ", num_words,
                                                   " words of 64 bits; Java allows ", kMaxWords));
  }
  absl::StatusOr<internal::AtomicBits> bits = internal::AtomicBits::Create(num_words);
  if (!bits.ok()) return bits.status();
  return GuavaBloomFilter(*std::move(bits), num_probes, strategy);
}

// Both strategies are double hashing with the two halves of a 128-bit hash. The older one has 32
// bits of each, so that filters of more than 2^31 bits are used in part only; the newer one has 64.
// Negative numbers are made positive in Java's two ways: by clearing the sign, and by flipping all
// bits.
template <typename Visitor>
void GuavaBloomFilter::ForEachProbe(const GuavaHash& hash, Visitor visit) const {
  const uint64_t num_bits = bits_.num_bits();
  if (strategy_ == GuavaStrategy::kMurmur128Mitz64) {
    uint64_t combined = hash.low;
    // 2^63 values modulo the bits: the bias is below bits / 2^63 and can be forgotten. Positions
    // follow h1 + i h2, plain double hashing: with few bits there are few distinct sequences, which
    // is why small filters miss their rate.
    for (int i = 0; i < num_probes_; ++i, combined += hash.high) {
      if (!visit((combined & std::numeric_limits<int64_t>::max()) % num_bits)) return;
    }
    return;
  }
  // Both halves come from the low 64 bits, and wrap at 32.
  const auto first = static_cast<uint32_t>(hash.low);
  const auto second = static_cast<uint32_t>(hash.low >> 32);
  uint32_t combined = first;
  // From h1 + h2 on, where the newer strategy begins with h1 itself.
  for (int i = 0; i < num_probes_; ++i) {
    combined += second;
    const bool is_negative = combined >> 31 != 0;
    if (!visit((is_negative ? ~combined : combined) % num_bits)) return;
  }
}

bool GuavaBloomFilter::AddHash(const GuavaHash& hash) {
  bool changed = false;
  // All bits are set, without an exit: a bit that was set before says nothing of the others.
  ForEachProbe(hash, [&](uint64_t bit) {
    changed |= bits_.Set(bit);
    return true;
  });
  return changed;
}

bool GuavaBloomFilter::ContainsHash(const GuavaHash& hash) const {
  bool all_set = true;
  ForEachProbe(hash, [&](uint64_t bit) { return all_set = bits_.Get(bit); });
  return all_set;
}

uint64_t GuavaBloomFilter::ApproximateCount() const {
  return internal::CountEstimate(num_bits(), bits_.CountOnes(), num_probes_);
}

double GuavaBloomFilter::ExpectedFpr() const {
  return internal::FprOfFill(num_bits(), bits_.CountOnes(), num_probes_);
}

absl::Status GuavaBloomFilter::Union(const GuavaBloomFilter& other) {
  if (&other == this) {
    return absl::InvalidArgumentError("GuavaBloomFilter: a filter cannot be united with itself");
  }
  if (num_bits() != other.num_bits() || num_probes_ != other.num_probes_ ||
      strategy_ != other.strategy_) {
    return absl::InvalidArgumentError(
        absl::StrCat("GuavaBloomFilter: only filters of the same shape can be united: ", num_bits(),
                     " bits, ", num_probes_, " probes, ", std::string(GuavaStrategyName(strategy_)),
                     " and ", other.num_bits(), " bits, ", other.num_probes_, " probes, ",
                     std::string(GuavaStrategyName(other.strategy_))));
  }
  bits_.Or(other.bits_);
  return absl::OkStatus();
}

// Strategy (1 byte), probes (1), number of words (4), words (8 each), all big-endian. The funnel is
// not part of it: who reads must know what the keys are.
std::string GuavaBloomFilter::WriteTo() const {
  std::string bytes;
  bytes.reserve(kWordsAt + memory_bytes());
  bytes.push_back(static_cast<char>(strategy_));
  bytes.push_back(static_cast<char>(num_probes_));
  internal::AppendBigEndian(static_cast<uint32_t>(bits_.num_words()), &bytes);
  for (uint64_t i = 0; i < bits_.num_words(); ++i) internal::AppendBigEndian(bits_.word(i), &bytes);
  return bytes;
}

// The bytes carry no checksum and no length: whatever passes the checks is a filter. More bytes may
// follow, as a stream of Java's would have them.
absl::StatusOr<GuavaBloomFilter> GuavaBloomFilter::ReadFrom(std::string_view bytes) {
  if (bytes.size() < kWordsAt) {
    return absl::DataLossError(absl::StrCat("Guava filter: ", bytes.size(),
                                            " bytes are shorter than its head of ", kWordsAt));
  }
  const int ordinal = static_cast<uint8_t>(bytes[kStrategyAt]);
  // Java writes the probes as an unsigned byte (UnsignedBytes.checkedCast), so that 128 to 255 are
  // no negative numbers.
  const int num_probes = static_cast<uint8_t>(bytes[kProbesAt]);
  const uint64_t num_words = internal::LoadBigEndian<uint32_t>(bytes, kNumWordsAt);
  if (!IsStrategy(ordinal)) {
    return absl::DataLossError(absl::StrCat("Guava filter: strategy ", ordinal,
                                            "; known are 0 (MURMUR128_MITZ_32) and 1 (_64)"));
  }
  if (num_probes == 0) return absl::DataLossError("Guava filter: it has no probes");
  if (num_words == 0 || num_words > kMaxWords) {
    return absl::DataLossError(
        absl::StrCat("Guava filter: ", num_words, " words of bits; allowed are 1 to ", kMaxWords));
  }
  // By division: the product of a number of words from the stream is never formed before it is
  // known to fit.
  if ((bytes.size() - kWordsAt) / sizeof(uint64_t) < num_words) {
    return absl::DataLossError(absl::StrCat("Guava filter: ", num_words, " words of bits in ",
                                            bytes.size() - kWordsAt, " bytes: it is cut off"));
  }
  absl::StatusOr<internal::AtomicBits> bits = internal::AtomicBits::Create(num_words);
  if (!bits.ok()) return bits.status();
  for (uint64_t i = 0; i < num_words; ++i) {
    bits->set_word(i, internal::LoadBigEndian<uint64_t>(bytes, kWordsAt + i * sizeof(uint64_t)));
  }
  return GuavaBloomFilter(*std::move(bits), num_probes, static_cast<GuavaStrategy>(ordinal));
}

std::string GuavaBloomFilter::Serialize() const {
  internal::SavedHeader header;
  header.kind = SavedFilterKind::kGuavaBloom;
  header.parameter = static_cast<uint8_t>(num_probes_);
  header.option = static_cast<uint8_t>(strategy_);
  header.num_slots = num_bits();
  const std::string bytes = WriteTo();
  internal::SavedFilterWriter writer(header, bytes.size());
  writer.Append(bytes);
  return std::move(writer).Finish();
}

// Our own frame around Java's bytes, whose fields stand in both and must agree.
absl::StatusOr<GuavaBloomFilter> GuavaBloomFilter::Deserialize(std::string_view bytes) {
  const absl::StatusOr<internal::SavedFilter> saved =
      internal::ParseSavedFilter(bytes, SavedFilterKind::kGuavaBloom);
  if (!saved.ok()) return saved.status();
  absl::StatusOr<GuavaBloomFilter> filter = ReadFrom(saved->payload);
  if (!filter.ok()) return filter;
  if (saved->header.parameter != filter->num_probes_ ||
      saved->header.option != static_cast<uint8_t>(filter->strategy_) ||
      saved->header.num_slots != filter->num_bits() ||
      // ReadFrom lets bytes follow; inside our own frame nothing may.
      saved->payload.size() != kWordsAt + filter->memory_bytes()) {
    return internal::InconsistentFields(*saved);
  }
  return filter;
}

absl::StatusOr<std::optional<GuavaBloomSpec>> ParseGuavaBloomSpec(std::string_view text) {
  for (const GuavaStrategy strategy :
       {GuavaStrategy::kMurmur128Mitz32, GuavaStrategy::kMurmur128Mitz64}) {
    const std::string suffix = absl::StrCat(":", std::string(GuavaStrategyName(strategy)));
    if (text.size() < suffix.size() || text.substr(text.size() - suffix.size()) != suffix) continue;
    absl::StatusOr<FilterSpec> spec = ParseFilterSpec(text.substr(0, text.size() - suffix.size()));
    if (!spec.ok()) return spec.status();
    if (spec->kind != FilterKind::kBloom || !spec->words.empty() || spec->range_bits != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("filter spec '", ShownText(text), "': only bloom takes the word '",
                       suffix.substr(1), "', as in 'bloom:1%", suffix, "'"));
    }
    GuavaBloomSpec guava = {*std::move(spec), strategy, 0};
    // Java knows rates only: the one that its formula turns into these bits.
    guava.fpr =
        guava.spec.fpr != 0 ? guava.spec.fpr : std::exp(-SpecBitsPerKey(guava.spec) * kLn2 * kLn2);
    guava.spec.words.push_back(suffix.substr(1));
    return guava;
  }
  return std::nullopt;
}

}  // namespace winnow::filter
