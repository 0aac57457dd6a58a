// Merges sorted internal iterators into one.
#ifndef WINNOW_ENGINE_VERSION_MERGING_ITERATOR_H_
#define WINNOW_ENGINE_VERSION_MERGING_ITERATOR_H_

#include <memory>
#include <vector>

#include "engine/base/internal_iterator.h"
#include "engine/base/internal_key.h"

namespace winnow {

// Entries that compare equal come from the earlier child first; no entry is dropped. The error of
// any child ends the iteration at once, before a key is shown that the failed child might have
// preceded.
std::unique_ptr<InternalIterator> NewMergingIterator(
    const InternalKeyComparator& comparator,
    std::vector<std::unique_ptr<InternalIterator>> children);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_MERGING_ITERATOR_H_
