// A batch's updates over what an iterator of the database shows.
#ifndef WINNOW_ENGINE_TRANSACTION_OVERLAY_ITERATOR_H_
#define WINNOW_ENGINE_TRANSACTION_OVERLAY_ITERATOR_H_

#include <memory>
#include <optional>
#include <string>

#include "engine/transaction/batch_index.h"
#include "winnow/iterator.h"
#include "winnow/merge_operator.h"

namespace winnow {

struct OverlayBounds {
  std::optional<std::string> lower;  // inclusive
  std::optional<std::string> upper;  // exclusive
};

// Shows the updates that the index has now. `base` has the same bounds; `updates` is the index's
// for its family, and both outlive the iterator, as the family's merge operator does.
std::unique_ptr<Iterator> NewOverlayIterator(const BatchIndex* index,
                                             const BatchIndex::FamilyUpdates* updates,
                                             const MergeOperator& merge_operator,
                                             std::unique_ptr<Iterator> base, OverlayBounds bounds);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TRANSACTION_OVERLAY_ITERATOR_H_
