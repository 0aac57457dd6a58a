#include "engine/table/expired_cells.h"

#include "engine/table/cell_key.h"
#include "engine/table/cell_value.h"

namespace winnow {

// With MIN_VERSIONS an expired version may have to stay, and one whose own time is up tells which
// others do. The same is so of one that was there when rules became stricter.
CompactionFilter::Decision ExpiredCells::Filter(const Entry& entry,
                                                std::string* /*new_value*/) const {
  // Rules and flags are stored before the clock is: who sees it sees them. They are loaded for each
  // entry, since they may change while a compaction runs.
  const WriteClock* const clock = clock_.load(std::memory_order_acquire);
  if (clock == nullptr) return Decision::kKeep;
  const FamilyRules& rules = rules_.Load();
  const bool may_expire = rules.certain_age_ms != 0 || rules_.has_cell_ttls();
  if (!may_expire || rules.keeps_some_aged) return Decision::kKeep;
  // Markers stay, since what they hide may lie in files that are not compacted here;
  // CleanLatchedRow removes them. What cannot be parsed stays too, for readers to report.
  CellKind kind = CellKind::kMarker;
  uint64_t timestamp = 0;
  CellValue cell;
  if (!ParseCellNumber(entry.key, &kind, &timestamp) || !ParseCellValue(entry.value, &cell) ||
      kind != CellKind::kVersion) {
    return Decision::kKeep;
  }
  // Not the present: the next opening may go on from an earlier time, at which the cell has not
  // expired.
  const uint64_t now = clock->SavedNow();
  const uint64_t age_ms = rules.certain_age_ms;
  if (age_ms != 0 && now > LastMoment(timestamp, age_ms)) return Decision::kRemove;
  if (cell.ttl_ms == 0) return Decision::kKeep;
  const uint64_t last_moment = LastMoment(timestamp, cell.ttl_ms);
  // It was there when rules became stricter, and readers need it to tell what it superseded then
  // (FamilyCursor::JudgeVersion).
  const bool supersedes = rules.tightened_ms != 0 && last_moment >= rules.tightened_ms;
  return now > last_moment && !supersedes ? Decision::kRemove : Decision::kKeep;
}

// A file goes with its markers: what they hide is no later than they are, and has expired as well.
KeyExpiry ExpiredCells::Expiry() const {
  const WriteClock* const clock = clock_.load(std::memory_order_acquire);
  if (clock == nullptr) return {};
  const FamilyRules& rules = rules_.Load();
  const uint64_t age_ms = rules.certain_age_ms;
  if (age_ms == 0 || rules.keeps_some_aged) return {};
  const uint64_t now = clock->SavedNow();
  return {.first_alive = now > age_ms ? now - age_ms : 0, .lifetime = age_ms};
}

}  // namespace winnow
