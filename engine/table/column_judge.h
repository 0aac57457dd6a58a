// Which versions of a column are there, given the markers above them, the family's rules and a
// time: the one answer that readers and compactions go by.
#ifndef WINNOW_ENGINE_TABLE_COLUMN_JUDGE_H_
#define WINNOW_ENGINE_TABLE_COLUMN_JUDGE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/table/cell_value.h"
#include "engine/table/family_rules.h"

namespace winnow {

// The markers of one row. Those that another hides as well, by reaching further and being newer,
// are left out.
class RowMarkers {
 public:
  void Clear() { markers_.clear(); }
  // In the order of keys: with descending timestamps.
  void Add(uint64_t timestamp, uint64_t write_number) {
    if (!markers_.empty() && markers_.back().write_number > write_number) return;
    markers_.push_back({timestamp, write_number});
  }
  size_t size() const { return markers_.size(); }
  // The greatest write number of those that reach a timestamp; 0: none does.
  uint64_t NewestReaching(uint64_t timestamp) const {
    return markers_.empty() ? 0 : FindNewestReaching(timestamp);
  }

 private:
  struct Marker {
    uint64_t timestamp;
    uint64_t write_number;
  };
  uint64_t FindNewestReaching(uint64_t timestamp) const;

  std::vector<Marker> markers_;  // timestamps descend, write numbers ascend
};

// Is told of what a row has in the order of its keys: of its markers, then, column by column, of
// markers and versions, newest first and a marker before the version of its timestamp. So when a
// version is met, all markers that reach it, and all versions that may supersede it, have been
// passed. Its memory is that of the markers of the row and of those versions that have expired by a
// time of their own.
class ColumnJudge {
 public:
  // The rules outlive it.
  ColumnJudge(const FamilyRules& rules, uint64_t now_ms) : rules_(rules), now_ms_(now_ms) {}

  void EnterRow() { row_markers_.Clear(); }
  RowMarkers& row_markers() { return row_markers_; }
  const RowMarkers& row_markers() const { return row_markers_; }
  void EnterColumn() {
    newest_marker_ = 0;
    num_counted_ = 0;
    num_live_ = 0;
    last_moments_.clear();
  }
  // It reaches all that follows in the column, whose timestamps are not greater.
  void AddMarker(uint64_t write_number) { newest_marker_ = std::max(newest_marker_, write_number); }

  // By write number and not by timestamp: what was written after a delete is there, however old it
  // says that it is. Of a marker: another hides all that it hides.
  bool IsHidden(uint64_t timestamp, uint64_t write_number) const {
    return write_number < newest_marker_ || write_number < row_markers_.NewestReaching(timestamp);
  }

  // kExpired: its own time to live is up. kLetGo: rules let it go, and all older ones that are not
  // hidden as well. A kLive one counts from then on among those that others are superseded by.
  enum class Verdict : uint8_t { kLive, kHidden, kExpired, kLetGo };
  Verdict Judge(uint64_t timestamp, const CellValue& cell);

  // The parts of that, of versions that neither markers hide nor a time of their own has ended.
  bool IsLetGo(uint64_t timestamp) const {
    return num_counted_ >= rules_.max_versions || (!rules_.aged.empty() && IsLetGoByAge(timestamp));
  }
  bool IsSuperseded() const { return num_counted_ >= rules_.max_versions; }
  // Others may be superseded by it.
  void Count() {
    num_counted_++;
    num_live_++;
  }

 private:
  bool IsLetGoByAge(uint64_t timestamp) const;
  bool IsLetGoBy(const GarbageRule::Limit& aged, uint64_t timestamp) const;

  const FamilyRules& rules_;
  const uint64_t now_ms_;
  RowMarkers row_markers_;
  // Of the column so far.
  uint64_t newest_marker_ = 0;  // write number
  uint64_t num_counted_ = 0;    // versions that others are superseded by
  uint64_t num_live_ = 0;
  std::vector<uint64_t> last_moments_;  // of versions whose own time to live is up
};

// Markers first: what was deleted neither is there nor supersedes anything. Then what is known of
// the version alone, then rules.
inline ColumnJudge::Verdict ColumnJudge::Judge(uint64_t timestamp, const CellValue& cell) {
  if (IsHidden(timestamp, cell.write_number)) return Verdict::kHidden;
  if (cell.ttl_ms != 0) [[unlikely]] {
    const uint64_t last_moment = LastMoment(timestamp, cell.ttl_ms);
    if (now_ms_ > last_moment) {
      // Stricter rules found it there, and let go what it superseded by them.
      if (rules_.tightened_ms != 0 && last_moment >= rules_.tightened_ms) num_counted_++;
      // It was one of the newest as long as it lived, and may have been kept in the place of an
      // older one (IsLetGoBy).
      if (rules_.keeps_some_aged) last_moments_.push_back(last_moment);
      return Verdict::kExpired;
    }
  }
  if (IsLetGo(timestamp)) return Verdict::kLetGo;
  Count();
  return Verdict::kLive;
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_COLUMN_JUDGE_H_
