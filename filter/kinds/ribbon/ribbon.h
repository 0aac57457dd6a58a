// The ribbon filter: a linear system over GF(2) in which each key is an equation with 64
// neighbouring unknowns (Dillinger and Walzer, "Ribbon filter: practically smaller than Bloom and
// Xor", 2021). Keys that do not fit are bumped, bucket by bucket, to a small further layer
// (Dillinger, Hübschle-Schneider, Sanders and Walzer, "Fast Succinct Retrieval and Approximate
// Membership Using Ribbon", SEA 2022), so that the first layer can be filled to the last unknown.

#ifndef WINNOW_FILTER_KINDS_RIBBON_RIBBON_H_
#define WINNOW_FILTER_KINDS_RIBBON_RIBBON_H_

#include "filter/kinds/kind.h"

namespace winnow::filter::internal {

extern const KindOperations kRibbonOperations;

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_RIBBON_RIBBON_H_
