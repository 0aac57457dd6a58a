// The rows that a scan has to read where signatures tell (FamilySchema::signature).
#ifndef WINNOW_ENGINE_TABLE_ROW_CANDIDATES_H_
#define WINNOW_ENGINE_TABLE_ROW_CANDIDATES_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/db/signature_search.h"
#include "engine/table/cell_reader.h"
#include "engine/table/filter_node.h"

namespace winnow {

// All rows of which the filter may show something, ascending, and some others.
class RowCandidates {
 public:
  // For reads of all rows with keys from `lower` to before `upper`, each where a row begins or the
  // escaped beginning of rows, or empty; they are made at `moment`, which is fixed here. Null: all
  // rows have to be read, since the filter asks for no value of a column that has signatures, or
  // there are none.
  static absl::StatusOr<std::unique_ptr<RowCandidates>> Open(CellMoment* moment,
                                                             const std::vector<FamilyQuery>& plan,
                                                             const FilterNode& filter,
                                                             std::string_view lower,
                                                             std::string_view upper);

  // Gives the next row, escaped. False: there is none, or status() says why. May throw
  // std::bad_alloc.
  bool Next(std::string* row);
  const absl::Status& status() const { return status_; }
  // Rows that were looked at so far; those of several SSTables count in each.
  uint64_t num_asked() const { return searches_.front()->num_asked(); }

 private:
  // Of each family that is asked for values; their rows are intersected.
  std::vector<std::unique_ptr<SignatureSearch>> searches_;
  absl::Status status_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_ROW_CANDIDATES_H_
