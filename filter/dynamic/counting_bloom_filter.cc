#include "winnow/filter/counting_bloom_filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "filter/dynamic/counter_union.h"
#include "filter/dynamic/parameters.h"
#include "filter/dynamic/saved_format.h"
#include "winnow/filter/internal/probe_sequence.h"

namespace winnow::filter {

// A counter stands where a Bloom filter has a bit: the shape, and so the rate, is that of a Bloom
// filter with as many bits. `num_bits` is a multiple of 64, so that the last word of sixteen
// counters has no unused end.
absl::StatusOr<CountingBloomFilter> CountingBloomFilter::Create(uint64_t capacity, double fpr,
                                                                uint64_t hash_seed) {
  absl::Status status =
      internal::CheckCapacityAndFpr("CountingBloomFilter", capacity, fpr, internal::kMinBloomFpr);
  if (!status.ok()) return status;
  const absl::StatusOr<internal::BloomShape> shape = internal::ChooseBloomShape(capacity, fpr);
  if (!shape.ok()) return shape.status();
  absl::StatusOr<internal::CounterArray> counters = internal::CounterArray::Create(shape->num_bits);
  if (!counters.ok()) return counters.status();
  return CountingBloomFilter(*std::move(counters), shape->num_probes, capacity, fpr, hash_seed);
}

// Invariant: a counter is at least the number of probes of present keys that fall on it, or stuck
// at 15. Adding raises each by one, and removing a present key lowers just those again, but never
// one that is stuck: nobody knows any more how much it stands for.
void CountingBloomFilter::AddHash(uint64_t key_hash) {
  internal::ProbeSequence probes(key_hash);
  // Two probes that meet count twice; RemoveHash takes both back.
  for (int i = 0; i < num_probes_; ++i) counters_.Increment(probes.Next(num_counters()));
}

// All or nothing. Lowering as it goes, rather than asking for all counters first, costs one pass in
// the usual case that the key is there; the positions are kept on the stack for taking it back, so
// that no allocation can fail in between.
bool CountingBloomFilter::RemoveHash(uint64_t key_hash) {
  if (!supports_remove_) return false;
  std::array<uint64_t, internal::kMaxBloomProbes> lowered;
  internal::ProbeSequence probes(key_hash);
  for (size_t i = 0; i < static_cast<size_t>(num_probes_); ++i) {
    lowered[i] = probes.Next(num_counters());
    if (counters_.Decrement(lowered[i])) continue;
    // Zero: the key was never added, or as many times removed. That goes for a counter too which
    // two probes share and which counts one.
    while (i > 0) counters_.UndoDecrement(lowered[--i]);
    return false;
  }
  return true;
}

int CountingBloomFilter::CountOfHash(uint64_t key_hash) const {
  internal::ProbeSequence probes(key_hash);
  // Other keys can only raise a counter: the smallest one is nearest to the truth.
  uint32_t least = internal::CounterArray::kSaturated;
  for (int i = 0; i < num_probes_ && least != 0; ++i) {
    least = std::min(least, counters_.Get(probes.Next(num_counters())));
  }
  return static_cast<int>(least);
}

void CountingBloomFilter::Clear() {
  counters_.Clear();
  supports_remove_ = true;
}

uint64_t CountingBloomFilter::ApproximateCount() const {
  return internal::CountEstimate(num_counters(), counters_.CountNonZero(), num_probes_);
}

double CountingBloomFilter::ExpectedFpr() const {
  return internal::FprOfFill(num_counters(), counters_.CountNonZero(), num_probes_);
}

absl::Status CountingBloomFilter::CheckCompatible(const CountingBloomFilter& other) const {
  if (&other == this) {
    return absl::InvalidArgumentError(
        "CountingBloomFilter: a filter cannot be combined with itself");
  }
  if (num_counters() != other.num_counters() || num_probes_ != other.num_probes_ ||
      hash_seed_ != other.hash_seed_) {
    return absl::InvalidArgumentError(
        "CountingBloomFilter: only filters of the same capacity, rate and hash seed can be "
        "combined");
  }
  return absl::OkStatus();
}

// By sum, counters are those of a filter to which all keys of both were added. By maximum they are
// not: where two different keys, one of each filter, share a counter, it counts one of them, and
// removing the other would make the first vanish. So removal is ruled out from then on, in this
// filter and in all that it is united into.
absl::Status CountingBloomFilter::Union(const CountingBloomFilter& other, CounterUnion how) {
  absl::Status status = CheckCompatible(other);
  if (!status.ok()) return status;
  supports_remove_ = internal::UniteCounters(other.counters_, how, &counters_) &&
                     supports_remove_ && other.supports_remove_;
  return absl::OkStatus();
}

absl::Status CountingBloomFilter::Intersect(const CountingBloomFilter& other) {
  absl::Status status = CheckCompatible(other);
  if (!status.ok()) return status;
  // The minimum of two counters is at least what keys of both sets put there, each as often as in
  // the poorer one: the invariant holds for these keys, and they may be removed.
  counters_.TakeMinimum(other.counters_);
  supports_remove_ = supports_remove_ && other.supports_remove_;
  return absl::OkStatus();
}

std::string CountingBloomFilter::Serialize() const {
  internal::SavedHeader header;
  header.kind = SavedFilterKind::kCountingBloom;
  header.parameter = static_cast<uint8_t>(num_probes_);
  header.option = supports_remove_ ? 0 : 1;
  header.hash_seed = hash_seed_;
  header.capacity = capacity_;
  header.fpr = fpr_;
  header.num_slots = num_counters();
  internal::SavedFilterWriter writer(header, memory_bytes());
  for (uint64_t i = 0; i < counters_.num_words(); ++i) writer.AppendWord(counters_.word(i));
  return std::move(writer).Finish();
}

absl::StatusOr<CountingBloomFilter> CountingBloomFilter::Deserialize(std::string_view bytes) {
  const absl::StatusOr<internal::SavedFilter> saved =
      internal::ParseSavedFilter(bytes, SavedFilterKind::kCountingBloom);
  if (!saved.ok()) return saved.status();
  // As BloomFilter::Deserialize: a header with a right checksum may still claim anything.
  const internal::SavedHeader& header = saved->header;
  const uint64_t num_words = saved->payload.size() / sizeof(uint64_t);
  if (header.parameter < 1 || header.parameter > internal::kMaxBloomProbes ||
      header.num_slots == 0 || header.num_slots % 64 != 0 || header.num_slots / 16 != num_words ||
      saved->payload.size() % sizeof(uint64_t) != 0 || header.option > 1 ||
      !internal::CheckCapacityAndFpr("", header.capacity, header.fpr, internal::kMinBloomFpr)
           .ok()) {
    return internal::InconsistentFields(*saved);
  }
  absl::StatusOr<internal::CounterArray> counters =
      internal::CounterArray::Create(header.num_slots);
  if (!counters.ok()) return counters.status();
  for (uint64_t i = 0; i < num_words; ++i) {
    counters->set_word(i, internal::PayloadWord(saved->payload, i));
  }
  CountingBloomFilter filter(*std::move(counters), header.parameter, header.capacity, header.fpr,
                             header.hash_seed);
  // Kept in the saved form, since a filter that forgot its union by maximum would lose keys at the
  // first removal.
  filter.supports_remove_ = header.option == 0;
  return filter;
}

}  // namespace winnow::filter
