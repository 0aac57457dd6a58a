// The false-positive rate (FPR) that theory gives for a filter of a given shape: the share of keys
// that were not added which it takes for added ones. All formulas assume distinct added keys and
// uniform hashes. Thread-safe.
//
//   double fpr = BlockedBloomFpr(19'532, 1'000'000, 6);   // 10 bits a key in blocks of 512: 0.0097

#ifndef WINNOW_FILTER_FALSE_POSITIVE_RATE_H_
#define WINNOW_FILTER_FALSE_POSITIVE_RATE_H_

#include <cstdint>

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

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_FALSE_POSITIVE_RATE_H_
