// The binary fuse filter (Graf and Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor
// Filters", ACM JEA 2022), four-wise: the exclusive or of four slots, which lie in four
// neighbouring segments, is a key's fingerprint.

#ifndef WINNOW_FILTER_KINDS_FUSE_BINARY_FUSE_H_
#define WINNOW_FILTER_KINDS_FUSE_BINARY_FUSE_H_

#include "filter/kinds/kind.h"

namespace winnow::filter::internal {

extern const KindOperations kBinaryFuseOperations;

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_FUSE_BINARY_FUSE_H_
