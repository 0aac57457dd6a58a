#include "filter/kinds/fuse/fuse_slots.h"

namespace winnow::filter::internal {

// Odd numbers without structure, one for the places and another one for the fingerprint, so that
// equal places say nothing about fingerprints. Part of the file format: see FORMAT.md.
constinit const FuseFactors kFuseFactors = {.slots = 0xd6e8feb86659fd93,
                                            .fingerprint = 0x9fb21c651e98df25};

}  // namespace winnow::filter::internal
