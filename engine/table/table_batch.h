// The changes in a TableBatch.
#ifndef WINNOW_ENGINE_TABLE_TABLE_BATCH_H_
#define WINNOW_ENGINE_TABLE_TABLE_BATCH_H_

#include <vector>

#include "winnow/table.h"

namespace winnow {

class TableBatchAccess {
 public:
  using Change = TableBatch::Change;
  using ChangeType = TableBatch::ChangeType;
  static const std::vector<Change>& changes(const TableBatch& batch) { return batch.changes_; }
};

using TableChange = TableBatchAccess::Change;
using TableChangeType = TableBatchAccess::ChangeType;

// What is wrong with a change, but for what only its table knows, and for the size of its value.
absl::Status CheckChange(const TableChange& change);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_TABLE_BATCH_H_
