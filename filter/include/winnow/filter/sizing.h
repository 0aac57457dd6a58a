// How large a filter of some kind must be, and what false-positive rate (FPR) it then has. The
// formulas behind it are those of false_positive_rate.h.
//
//   double bits = BitsPerKeyForFpr(FilterKind::kCuckoo, 0.001);       // 13.4
//   double fpr = ExpectedFpr(FilterKind::kBlockedBloom, 10, 1000000); // 0.0097

#ifndef WINNOW_FILTER_SIZING_H_
#define WINNOW_FILTER_SIZING_H_

#include <cstdint>

#include "winnow/filter/false_positive_rate.h"
#include "winnow/filter/filter_kind.h"
#include "winnow/filter/spec.h"

namespace winnow::filter {

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

// The bits per key that a spec of some kind and words may ask for; {0, 0} for kNone.
BitsPerKeyRange AllowedBitsPerKey(FilterKind kind);
BitsPerKeyRange AllowedBitsPerKey(const FilterSpec& spec);

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_SIZING_H_
