// All static filter kinds: the one place that knows them. Everything above asks here for the
// operations of a kind, and the kinds know nothing of each other.

#ifndef WINNOW_FILTER_REGISTRY_REGISTRY_H_
#define WINNOW_FILTER_REGISTRY_REGISTRY_H_

#include <span>
#include <string>
#include <string_view>

#include "filter/format/block_format.h"
#include "filter/kinds/kind.h"
#include "winnow/filter/filter_kind.h"

namespace winnow::filter::internal {

// All static kinds and their further layouts, each behind the kind's usual one; kNone is not one.
// A table of constants: it is there before any dynamic initialisation runs.
std::span<const KindOperations* const> AllKinds();

// A kind in its usual layout. Null if no such kind is known.
const KindOperations* FindKind(FilterKind kind);
const KindOperations* FindKind(std::string_view name);

// The layout that a unit's header records, or that a spec of `kind` with these words names. Null if
// it is not known.
const KindOperations* FindLayout(const UnitHeader& header);
const KindOperations* FindLayout(FilterKind kind, std::span<const std::string> words);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_REGISTRY_REGISTRY_H_
