// The kinds of filter blocks, by the numbers that files record.

#ifndef WINNOW_FILTER_FILTER_KIND_H_
#define WINNOW_FILTER_FILTER_KIND_H_

#include <cstdint>

namespace winnow::filter {

// The values are part of the file format.
enum class FilterKind : uint8_t {
  kNone = 0,
  kBloom = 1,
  kBlockedBloom = 2,
  kCuckoo = 3,
  kBinaryFuse = 4,
  kRibbon = 5,
  kAuto = 255,  // in specs only, never in a file: see choice.h
};

// The bits per key that a spec of some kind may ask for, both ends included.
struct BitsPerKeyRange {
  double min;
  double max;
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_FILTER_KIND_H_
