#include "winnow/filter/bloom_filter.h"

#include <cmath>
#include <utility>

#include "filter/dynamic/parameters.h"
#include "filter/dynamic/saved_format.h"

namespace winnow::filter {

absl::StatusOr<BloomFilter> BloomFilter::Create(uint64_t capacity, double fpr, uint64_t hash_seed) {
  absl::Status status =
      internal::CheckCapacityAndFpr("BloomFilter", capacity, fpr, internal::kMinBloomFpr);
  if (!status.ok()) return status;
  // A multiple of 64 bits, so that words have no unused end.
  const absl::StatusOr<internal::BloomShape> shape = internal::ChooseBloomShape(capacity, fpr);
  if (!shape.ok()) return shape.status();
  absl::StatusOr<internal::AtomicBits> bits = internal::AtomicBits::Create(shape->num_bits / 64);
  if (!bits.ok()) return bits.status();
  return BloomFilter(*std::move(bits), shape->num_probes, capacity, fpr, hash_seed);
}

// The bits are set one by one, not as a whole: a reader at the same time may see some of them and
// answers "not there", as if it had come before. Once this has returned all of them are set, and
// none is ever cleared but by Clear.
// The count is exact for one thread. Of two threads that set one bit at the same time just one
// counts it, since Set goes by the result of an atomic or.
int BloomFilter::SetBitsOf(uint64_t key_hash) {
  internal::ProbeSequence probes(key_hash);
  const uint64_t num_bits = bits_.num_bits();
  int newly_set = 0;
  for (int i = 0; i < num_probes_; ++i) newly_set += bits_.Set(probes.Next(num_bits)) ? 1 : 0;
  return newly_set;
}

// The same sequence as SetBitsOf: a key that was added finds all of its bits set.
// Of a filter at its capacity half of the bits are set, so that an absent key takes two probes on
// average: hence the exit inside the loop.
bool BloomFilter::ContainsHash(uint64_t key_hash) const {
  internal::ProbeSequence probes(key_hash);
  const uint64_t num_bits = bits_.num_bits();
  for (int i = 0; i < num_probes_; ++i) {
    if (!bits_.Get(probes.Next(num_bits))) return false;
  }
  return true;
}

uint64_t BloomFilter::ApproximateCount() const {
  return internal::CountEstimate(num_bits(), bits_.CountOnes(), num_probes_);
}

double BloomFilter::ExpectedFpr() const {
  return internal::FprOfFill(num_bits(), bits_.CountOnes(), num_probes_);
}

// The or of two filters is bit for bit the filter of both sets of keys, if shape and seed agree.
absl::Status BloomFilter::Union(const BloomFilter& other) {
  if (&other == this) {
    return absl::InvalidArgumentError("BloomFilter: a filter cannot be united with itself");
  }
  if (num_bits() != other.num_bits() || num_probes_ != other.num_probes_ ||
      hash_seed_ != other.hash_seed_) {
    return absl::InvalidArgumentError(
        "BloomFilter: only filters of the same capacity, rate and hash seed can be united");
  }
  bits_.Or(other.bits_);
  return absl::OkStatus();
}

// Word by word, with a relaxed load each: other threads may be adding. Bits are only ever set, so
// that whatever mixture of moments is read holds all keys whose Add had returned before, and the
// checksum is of the bytes that were read, not of the filter.
std::string BloomFilter::Serialize() const {
  internal::SavedHeader header;
  header.kind = SavedFilterKind::kBloom;
  header.parameter = static_cast<uint8_t>(num_probes_);
  header.hash_seed = hash_seed_;
  header.capacity = capacity_;
  header.fpr = fpr_;
  header.num_slots = num_bits();
  internal::SavedFilterWriter writer(header, memory_bytes());
  for (uint64_t i = 0; i < bits_.num_words(); ++i) writer.AppendWord(bits_.word(i));
  return std::move(writer).Finish();
}

absl::StatusOr<BloomFilter> BloomFilter::Deserialize(std::string_view bytes) {
  const absl::StatusOr<internal::SavedFilter> saved =
      internal::ParseSavedFilter(bytes, SavedFilterKind::kBloom);
  if (!saved.ok()) return saved.status();
  // The checksum is right, but bytes can be made with any header: every field is held to what
  // Create could have written, and memory is taken for what the payload has, not for what the
  // header claims.
  const internal::SavedHeader& header = saved->header;
  const uint64_t num_words = saved->payload.size() / sizeof(uint64_t);
  if (header.parameter < 1 || header.parameter > internal::kMaxBloomProbes ||
      header.num_slots == 0 || header.num_slots % 64 != 0 || header.num_slots / 64 != num_words ||
      saved->payload.size() % sizeof(uint64_t) != 0 || header.option != 0 ||
      !internal::CheckCapacityAndFpr("", header.capacity, header.fpr, internal::kMinBloomFpr)
           .ok()) {
    return internal::InconsistentFields(*saved);
  }
  absl::StatusOr<internal::AtomicBits> bits = internal::AtomicBits::Create(num_words);
  if (!bits.ok()) return bits.status();
  // Relaxed stores into memory that nobody else knows yet; handing the filter to other threads
  // publishes them.
  for (uint64_t i = 0; i < num_words; ++i) {
    bits->set_word(i, internal::PayloadWord(saved->payload, i));
  }
  return BloomFilter(*std::move(bits), header.parameter, header.capacity, header.fpr,
                     header.hash_seed);
}

}  // namespace winnow::filter
