// What a batch's range deletions leave of what an iterator of the database shows.
#ifndef WINNOW_ENGINE_TRANSACTION_UNCOVERED_ITERATOR_H_
#define WINNOW_ENGINE_TRANSACTION_UNCOVERED_ITERATOR_H_

#include <memory>

#include "engine/transaction/batch_tombstones.h"
#include "winnow/iterator.h"

namespace winnow {

// Keys that one of `runs` covers are not shown; a seek passes over them, however many there are.
std::unique_ptr<Iterator> NewUncoveredIterator(const InternalKeyComparator& comparator,
                                               BatchTombstones::Runs runs,
                                               std::unique_ptr<Iterator> base);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TRANSACTION_UNCOVERED_ITERATOR_H_
