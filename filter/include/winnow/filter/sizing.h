// How large a filter must be, and what false-positive rate (FPR) a filter of a given shape has.
// All formulas are for keys that were not added, with distinct added keys and uniform hashes.
//
//   double bits = BitsPerKeyForFpr(FilterKind::kCuckoo, 0.001);       // 13.4
//   double fpr = ExpectedFpr(FilterKind::kBlockedBloom, 10, 1000000); // 0.0097

#ifndef WINNOW_FILTER_SIZING_H_
#define WINNOW_FILTER_SIZING_H_

#include <cstdint>

#include "winnow/filter/spec.h"

namespace winnow::filter {

// FPR of a Bloom filter (Bloom, CACM 1970) of `num_bits` bits after `num_keys` keys of `probes`
// random bits each: the mean of (share of set bits)^probes. The textbook's
// (1 - (1 - 1/m)^(kn))^k takes the power of the mean and is too low for small filters (Bose et al.,
// IPL 2008); here the variance of the share is counted in too.
double BloomFpr(double num_bits, double num_keys, int probes);

// FPR of a Bloom filter cut into 512-bit blocks, each key in one of them: the mean of BloomFpr over
// the binomial (for many blocks Poisson) distribution of keys to blocks. Putze, Sanders and
// Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", WEA 2007.
double BlockedBloomFpr(uint64_t num_blocks, uint64_t num_keys, int probes);

// FPR of a cuckoo filter of 4-slot buckets with `load` distinct keys for each slot, 0 to 1: an
// absent key is compared with up to 8 slots, each equal with probability 1/(2^f - 1), since no
// fingerprint is zero; how slots are stored plays no part. Fan, Andersen, Kaminsky and
// Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom", CoNEXT 2014, section 5.1, give 1 -
// (1 - 2^-f)^(8 load). Here keys of equal fingerprint and buckets share a slot, so that a new key
// raises the rate p by (1 - p) * 8 / (2^f - 1) / slots, which comes to p = 1 - exp(-8 load / (2^f -
// 1)). In few buckets the two of a key are often the same one.
double CuckooFpr(int fingerprint_bits, double load, uint64_t num_buckets);

// The number of probes with the least FPR: near bits_per_key * ln 2 for a Bloom filter, fewer for
// a blocked one.
int BestBloomProbes(double bits_per_key);
int BestBlockedBloomProbes(double bits_per_key);

// In what follows, kAuto stands for the choice that takes the most. Of a spec only the kind and the
// words count where an amount is given beside it; a FilterKind is that kind without words.
//
// The least bits per key with which a kind reaches `fpr` in a large filter; 0 for kNone. `fpr` must
// be one that ValidateFilterSpec accepts.
double BitsPerKeyForFpr(FilterKind kind, double fpr);
double BitsPerKeyForFpr(const FilterSpec& spec, double fpr);

// The FPR of a filter built for `num_keys` distinct keys at `bits_per_key`; 1 for kNone.
double ExpectedFpr(FilterKind kind, double bits_per_key, uint64_t num_keys);
double ExpectedFpr(const FilterSpec& spec, double bits_per_key, uint64_t num_keys);

// What `spec` comes to in bits per key, whichever way it states its amount; 0 for kNone.
double SpecBitsPerKey(const FilterSpec& spec);

// The bits per key that a spec of some kind and words may ask for.
struct BitsPerKeyRange {
  double min;
  double max;
};
BitsPerKeyRange AllowedBitsPerKey(FilterKind kind);
BitsPerKeyRange AllowedBitsPerKey(const FilterSpec& spec);

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_SIZING_H_
