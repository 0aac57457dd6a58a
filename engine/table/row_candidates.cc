#include "engine/table/row_candidates.h"

#include <algorithm>
#include <utility>

#include "engine/base/status.h"
#include "engine/table/cell_key.h"
#include "engine/table/filter_equalities.h"

namespace winnow {

namespace {

// The least row that has keys at the bound or behind it: where a row begins its markers would
// stand, behind 00 00, which are in no escaped text.
std::string_view RowAt(std::string_view bound) {
  constexpr std::string_view kBeginOfMarkers("\0\0", 2);
  if (bound.ends_with(kBeginOfMarkers)) bound.remove_suffix(kBeginOfMarkers.size());
  return bound;
}

// What the filter asks of columns of the family that new files have signatures of.
std::vector<SignedValue> SignedValuesOf(const std::vector<ColumnEquality>& equalities,
                                        std::string_view family,
                                        const SignedFields& signed_fields) {
  std::vector<SignedValue> values;
  for (const ColumnEquality& equality : equalities) {
    if (equality.family != family || values.size() == GroupQuestion::kMaxValues) continue;
    std::string field;
    AppendEscaped(equality.qualifier, &field);
    if (!std::binary_search(signed_fields.begin(), signed_fields.end(), field)) continue;
    values.push_back({std::move(field), std::string(equality.value)});
  }
  return values;
}

}  // namespace

// The moment is fixed before the sources are taken: whatever a read at it sees is in them.
absl::StatusOr<std::unique_ptr<RowCandidates>> RowCandidates::Open(
    CellMoment* moment, const std::vector<FamilyQuery>& plan, const FilterNode& filter,
    std::string_view lower, std::string_view upper) {
  std::unique_ptr<RowCandidates> candidates(new RowCandidates());
  const std::vector<ColumnEquality> equalities = EqualitiesOf(filter);
  if (equalities.empty()) return std::unique_ptr<RowCandidates>();
  auto& store = static_cast<DBImpl&>(*moment->db);
  for (const FamilyQuery& query : plan) {
    ColumnFamily* const column_family = query.family->column_family;
    GroupQuestion question;
    question.values =
        SignedValuesOf(equalities, query.family->name, store.signed_fields(column_family));
    if (question.values.empty()) continue;
    question.lower = lower;
    question.upper = upper;
    question.first_group = RowAt(lower);
    question.end_group = RowAt(upper);
    WINNOW_RETURN_IF_ERROR(moment->Fix());
    ReadOptions read;
    read.fill_cache = moment->fill_cache;
    read.verify_checksums = moment->verify_checksums;
    WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<SignatureSearch> search,
                            store.SearchSignatures(read, column_family, std::move(question)));
    // Without it there are more candidates.
    if (search != nullptr) candidates->searches_.push_back(std::move(search));
  }
  if (candidates->searches_.empty()) return std::unique_ptr<RowCandidates>();
  return candidates;
}

// A row that one of them has to offer, and the others have passed, is none.
bool RowCandidates::Next(std::string* row) {
  const auto step = [&](SignatureSearch& search) {
    if (search.Next()) return true;
    status_ = search.status();
    return false;
  };
  if (!status_.ok() || !step(*searches_.front())) return false;
  row->assign(searches_.front()->group());
  for (size_t num_agreed = 1, at = 0; num_agreed < searches_.size();) {
    at = (at + 1) % searches_.size();
    SignatureSearch& search = *searches_[at];
    // One that has not begun has no group, which is before every row.
    while (search.group() < *row) {
      if (!step(search)) return false;
    }
    num_agreed = search.group() == *row ? num_agreed + 1 : 1;
    row->assign(search.group());
  }
  return true;
}

}  // namespace winnow
