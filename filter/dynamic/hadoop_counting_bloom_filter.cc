#include "winnow/filter/hadoop_counting_bloom_filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "filter/dynamic/big_endian.h"
#include "filter/dynamic/counter_union.h"
#include "filter/dynamic/parameters.h"

namespace winnow::filter {
namespace {

// Counters are numbered as in CounterArray: number i is 4 bits of word i / 16, from bit 4 (i % 16)
// on, and words are written as Java's writeLong does. So one array serves both formats.

// Hadoop's Filter.VERSION. Negative, since the older form begins with the number of probes.
constexpr int32_t kVersion = -1;

// The bytes: version, probes, type of hash, number of counters, words of sixteen counters. The
// older form has the probes, which are positive, where the version stands now, and no type of hash.
constexpr uint64_t kHeadBytes = 13;
constexpr uint64_t kOldHeadBytes = 8;

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(absl::StrCat("Hadoop filter: ", std::string(what)));
}

int32_t LoadInt(std::string_view bytes, uint64_t offset) {
  return static_cast<int32_t>(internal::LoadBigEndian<uint32_t>(bytes, offset));
}

}  // namespace

absl::StatusOr<HadoopCountingBloomFilter> HadoopCountingBloomFilter::Create(int32_t num_counters,
                                                                            int num_probes,
                                                                            HadoopHash hash) {
  if (num_counters < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "HadoopCountingBloomFilter: number of counters must be at least 1, got ", num_counters));
  }
  if (num_probes < 1 || num_probes > kMaxProbes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "HadoopCountingBloomFilter: probes must be from 1 to ", kMaxProbes, ", got ", num_probes));
  }
  if (hash != HadoopHash::kJenkins && hash != HadoopHash::kMurmur) {
    return absl::InvalidArgumentError(absl::StrCat("HadoopCountingBloomFilter: type of hash ",
                                                   static_cast<int>(hash),
                                                   "; known are 0 (Jenkins) and 1 (Murmur)"));
  }
  absl::StatusOr<internal::CounterArray> counters =
      internal::CounterArray::Create(static_cast<uint64_t>(num_counters));
  if (!counters.ok()) return counters.status();
  return HadoopCountingBloomFilter(*std::move(counters), num_probes, hash);
}

// The shape is that of our own filters, which counts in the variance of small ones: never smaller
// than the textbook's formulas give.
absl::StatusOr<HadoopCountingBloomFilter> HadoopCountingBloomFilter::CreateForKeys(
    uint64_t capacity, double fpr, HadoopHash hash) {
  absl::Status status = internal::CheckCapacityAndFpr("HadoopCountingBloomFilter", capacity, fpr,
                                                      internal::kMinBloomFpr);
  if (!status.ok()) return status;
  const absl::StatusOr<internal::BloomShape> shape = internal::ChooseBloomShape(capacity, fpr);
  if (!shape.ok()) return shape.status();
  if (shape->num_bits > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
    return absl::InvalidArgumentError(
        absl::StrCat("HadoopCountingBloomFilter: ", capacity, " keys at a rate of ", fpr, " take ",
                     shape->num_bits, " counters; Java allows 2147483647"));
  }
  return Create(static_cast<int32_t>(shape->num_bits), shape->num_probes, hash);
}

template <typename Visitor>
void HadoopCountingBloomFilter::ForEachProbe(std::string_view key, Visitor visit) const {
  // Each hash starts with the one before. Java's remainder keeps the sign, which is then dropped.
  // Counter 0 is met half as often as the others, since no negative remainder folds onto it: the
  // format demands that.
  int32_t hash = 0;
  const auto num_counters = static_cast<int64_t>(counters_.num_counters());
  for (int i = 0; i < num_probes_; ++i) {
    hash = HashHadoopKey(hash_, key, hash);
    // In 64 bits, as the absolute value of the least int32_t is none of its type.
    if (!visit(static_cast<uint64_t>(std::abs(int64_t{hash} % num_counters)))) return;
  }
}

absl::Status HadoopCountingBloomFilter::Add(std::string_view key) {
  // Java's HashFunction.hash refuses it as well ("key length must be > 0").
  if (key.empty()) {
    return absl::InvalidArgumentError("HadoopCountingBloomFilter: the key must not be empty");
  }
  ForEachProbe(key, [this](uint64_t counter) {
    counters_.Increment(counter);
    return true;
  });
  return absl::OkStatus();
}

// Java throws for a key that is no member, and lowers no counter that is 0 or has stuck at 15.
absl::Status HadoopCountingBloomFilter::Remove(std::string_view key) {
  if (!supports_remove_) {
    return absl::FailedPreconditionError(
        "HadoopCountingBloomFilter: no key can be removed after a union by maximum");
  }
  // As CountingBloomFilter::RemoveHash: all counters are lowered, or none, and no allocation can
  // fail in between. A counter of zero proves that the key is not there.
  if (!key.empty()) {
    std::array<uint64_t, kMaxProbes> lowered;
    size_t num_lowered = 0;
    ForEachProbe(key, [&](uint64_t counter) {
      if (!counters_.Decrement(counter)) return false;
      lowered[num_lowered++] = counter;
      return true;
    });
    if (num_lowered == static_cast<size_t>(num_probes_)) return absl::OkStatus();
    while (num_lowered > 0) counters_.UndoDecrement(lowered[--num_lowered]);
  }
  return absl::NotFoundError("HadoopCountingBloomFilter: the key is not there");
}

int HadoopCountingBloomFilter::CountOf(std::string_view key) const {
  // It can never have been added.
  if (key.empty()) return 0;
  uint32_t least = internal::CounterArray::kSaturated;
  ForEachProbe(key, [&](uint64_t counter) {
    least = std::min(least, counters_.Get(counter));
    return least != 0;
  });
  return static_cast<int>(least);
}

void HadoopCountingBloomFilter::Clear() {
  counters_.Clear();
  supports_remove_ = true;
}

uint64_t HadoopCountingBloomFilter::ApproximateCount() const {
  return internal::CountEstimate(counters_.num_counters(), counters_.CountNonZero(), num_probes_);
}

double HadoopCountingBloomFilter::ExpectedFpr() const {
  return internal::FprOfFill(counters_.num_counters(), counters_.CountNonZero(), num_probes_);
}

absl::Status HadoopCountingBloomFilter::CheckCompatible(
    const HadoopCountingBloomFilter& other) const {
  if (&other == this) {
    return absl::InvalidArgumentError(
        "HadoopCountingBloomFilter: a filter cannot be combined with itself");
  }
  if (num_counters() != other.num_counters() || num_probes_ != other.num_probes_ ||
      hash_ != other.hash_) {
    return absl::InvalidArgumentError(
        "HadoopCountingBloomFilter: only filters of the same counters, probes and hash can be "
        "combined");
  }
  return absl::OkStatus();
}

// As CountingBloomFilter::Union; see there why a maximum takes no removals.
absl::Status HadoopCountingBloomFilter::Union(const HadoopCountingBloomFilter& other,
                                              CounterUnion how) {
  absl::Status status = CheckCompatible(other);
  if (!status.ok()) return status;
  supports_remove_ = internal::UniteCounters(other.counters_, how, &counters_) &&
                     supports_remove_ && other.supports_remove_;
  return absl::OkStatus();
}

absl::Status HadoopCountingBloomFilter::Intersect(const HadoopCountingBloomFilter& other) {
  absl::Status status = CheckCompatible(other);
  if (!status.ok()) return status;
  counters_.TakeMinimum(other.counters_);
  supports_remove_ = supports_remove_ && other.supports_remove_;
  return absl::OkStatus();
}

std::string HadoopCountingBloomFilter::WriteTo() const {
  std::string bytes;
  bytes.reserve(kHeadBytes + memory_bytes());
  internal::AppendBigEndian(static_cast<uint32_t>(kVersion), &bytes);
  internal::AppendBigEndian(static_cast<uint32_t>(num_probes_), &bytes);
  bytes.push_back(static_cast<char>(hash_));
  internal::AppendBigEndian(static_cast<uint32_t>(num_counters()), &bytes);
  for (uint64_t i = 0; i < counters_.num_words(); ++i) {
    internal::AppendBigEndian(counters_.word(i), &bytes);
  }
  return bytes;
}

// The first number distinguishes the two forms: a version is negative, a number of probes positive.
// The length must be exactly what the counters take, so that a header cannot ask for memory that
// the bytes do not have.
absl::StatusOr<HadoopCountingBloomFilter> HadoopCountingBloomFilter::ReadFrom(
    std::string_view bytes) {
  if (bytes.size() < kOldHeadBytes) return Damaged("it is cut off");
  const int32_t version = LoadInt(bytes, 0);
  const bool is_old = version > 0;
  if (!is_old && version != kVersion) {
    return Damaged(absl::StrCat("version ", version, "; known is ", kVersion));
  }
  const uint64_t head_bytes = is_old ? kOldHeadBytes : kHeadBytes;
  if (bytes.size() < head_bytes) return Damaged("it is cut off");
  const int32_t num_probes = is_old ? version : LoadInt(bytes, 4);
  // Type 0, Jenkins, is the only one that the older form knew.
  const int hash = is_old ? 0 : static_cast<uint8_t>(bytes[8]);
  // The last four bytes of either head.
  const int32_t num_counters = LoadInt(bytes, head_bytes - 4);
  if (num_probes < 1 || num_probes > kMaxProbes || hash > 1 || num_counters < 1) {
    return Damaged(absl::StrCat(num_probes, " probes, type of hash ", hash, " and ", num_counters,
                                " counters: out of range"));
  }
  const uint64_t num_words = internal::CounterArray::NumWords(static_cast<uint64_t>(num_counters));
  const uint64_t left = bytes.size() - head_bytes;
  if (left != num_words * sizeof(uint64_t)) {
    return Damaged(absl::StrCat(num_counters, " counters take ", num_words * sizeof(uint64_t),
                                " bytes; there are ", left));
  }
  // Places in the last word for which there is no counter: writers leave them 0.
  const int num_in_last_word = num_counters % 16;
  if (num_in_last_word != 0 &&
      internal::LoadBigEndian<uint64_t>(bytes, bytes.size() - sizeof(uint64_t)) >>
              (4 * num_in_last_word) !=
          0) {
    return Damaged("a counter behind the last one is not 0");
  }
  absl::StatusOr<HadoopCountingBloomFilter> filter =
      Create(num_counters, num_probes, static_cast<HadoopHash>(hash));
  if (!filter.ok()) return filter;
  for (uint64_t i = 0; i < num_words; ++i) {
    filter->counters_.set_word(
        i, internal::LoadBigEndian<uint64_t>(bytes, head_bytes + i * sizeof(uint64_t)));
  }
  return filter;
}

}  // namespace winnow::filter
