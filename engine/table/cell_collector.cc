// What a flush or a compaction sees of a column is not all of it: other files, of any level, and
// memtables may have cells, markers and deletions of it, older and newer than what is seen. What
// may go then?
//
// 1. What a marker hides that is seen as well. Markers never go but with all that they hide, so
// that
//    the cell is hidden for every later reader, whatever else there is; and a snapshot that sees
//    the cell sees the marker, since a collector is shown only what all snapshots see. An older
//    cell of the same key, which comes to light, is hidden by the same marker.
//
// 2. What the versions that are seen supersede. Let n be a number at which the state of the column
//    is known as far as it matters: that a version which is counted was there at n. Then a reader
//    at n would have found the cell superseded, and by the rules of tables it is gone for good:
//    whoever deletes one of those that supersede it deletes it, too (RowWriter::DeleteVersion), and
//    a marker that hides them hides it. What could have taken a counted version away before n
//    without being seen is a deletion of its key in a level above, or a marker anywhere. Removers
//    says of which numbers these are: not of those up to `horizon`, but for deeper markers, which
//    are up to `floor` and older than versions above that. So n is the horizon, or the newest
//    number that is settled, if that is less; versions above n are not looked at, versions up to
//    `floor` count for nothing, and the cell has to be there at n itself. A number that has become
//    0 does not tell whether the version was there at n. Without removers it was. With them it
//    counts for nothing; and the cell itself is older than n if a version that counts was written
//    after it. (A load takes effect later than its write number says, but only if no delete lies in
//    between.) Rules judge what is there while they are in force: n must not lie before that.
//
// 3. What is too old, whatever else there is: the time is one that all readers have reached.
//    Where a number of versions is kept at that age it matters which were there when the cell
//    became too old, and 2. tells which were there at n: the time must not be later than that of n.
//    It is one that was noted with a number which is not above n.
//
// 4. What another hides may rest on versions whose own time is up (ColumnJudge::Judge): those stay
//    where that may be, for the next put, or MajorCompact, to clean the column.
//
// A marker goes if nothing that is not seen, in files of any level, can be older than it in its
// reach. Memtables have nothing older.
#include "engine/table/cell_collector.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/table/cell_key.h"
#include "engine/table/cell_value.h"
#include "engine/table/column_judge.h"

namespace winnow {

namespace {

using Decision = EntryCollector::Decision;

// Of one row, in memory. Rows have few that no other makes needless; the rest hide what they hide
// from readers, and stay.
constexpr size_t kMostRowMarkers = 10'000;
constexpr size_t kMostMoments = 64;

// For rule 3: by the time, nothing was written with a number above this one.
struct AgeMoment {
  uint64_t time_ms = 0;
  SequenceNumber sequence = 0;
};

class CellCollector final : public EntryCollector {
 public:
  CellCollector(const FamilyRules& rules, bool has_cell_ttls, const Collection& collection,
                const AgeMoment& ages)
      : rules_(rules),
        has_cell_ttls_(has_cell_ttls),
        collection_(collection),
        others_(*collection.others),
        ages_(ages),
        judge_(rules, ages.time_ms),
        numbers_may_go_(!has_cell_ttls && others_.has_no_removers()) {}

  // What cannot be parsed stays, for readers to report.
  Decision Decide(std::string_view user_key, SequenceNumber sequence,
                  std::string_view value) override {
    CellKind kind = CellKind::kVersion;
    uint64_t timestamp = 0;
    CellValue cell;
    if (!Enter(user_key, &kind, &timestamp) || !ParseCellValue(value, &cell)) {
      return Decision::kKeepNumber;
    }
    if (kind == CellKind::kVersion) return DecideVersion(timestamp, sequence, cell);
    // Another that stays, or goes with all that it hides, does what this one does.
    if (judge_.IsHidden(timestamp, cell.write_number)) return Drop();
    if (!is_row_marker_) {
      judge_.AddMarker(cell.write_number);
      return DecideMarker(user_key, EndOfPrefix(place_), sequence);
    }
    if (judge_.row_markers().size() == kMostRowMarkers) return Decision::kKeepNumber;
    judge_.row_markers().Add(timestamp, cell.write_number);
    return DecideMarker(place_, row_ + std::string("\0\2", 2), sequence);
  }

 private:
  bool Enter(std::string_view key, CellKind* kind, uint64_t* timestamp) {
    const bool is_in_column = key.size() == place_.size() + kCellNumberBytes && !place_.empty() &&
                              key.starts_with(place_);
    if (is_in_column) return ParseCellNumber(key, kind, timestamp);
    ParsedCellKey parsed;
    if (!ParseCellKey(key, &parsed)) return false;
    if (row_ != parsed.row || place_.empty()) {
      row_.assign(parsed.row);
      row_removers_.reset();
      judge_.EnterRow();
    }
    place_.assign(parsed.ColumnPrefix(key));
    is_row_marker_ = parsed.is_row_marker;
    removers_.reset();
    newest_counted_ = 0;
    judge_.EnterColumn();
    *kind = parsed.kind;
    *timestamp = parsed.timestamp;
    return true;
  }

  // An older version of the key may have a time to live of its own, and then others may rest on it.
  Decision Drop() const { return has_cell_ttls_ ? Decision::kDelete : Decision::kDrop; }
  // Where a remover may come upon it later, its number tells which of them was first.
  Decision Keep(SequenceNumber sequence) const {
    return numbers_may_go_ && sequence <= collection_.settled ? Decision::kKeep
                                                              : Decision::kKeepNumber;
  }

  Decision DecideMarker(std::string_view begin, std::string_view end,
                        SequenceNumber sequence) const {
    // All that it hides has to be shown to this collector.
    if (collection_.end != nullptr && *collection_.end < end) return Decision::kKeepNumber;
    const SequenceNumber oldest = others_.OldestIn(begin, end);
    // A number that has become 0 is not known.
    const bool is_older = sequence != 0 && sequence < oldest;
    return is_older || oldest == kMaxSequenceNumber ? Drop() : Decision::kKeepNumber;
  }

  Decision DecideVersion(uint64_t timestamp, SequenceNumber sequence, const CellValue& cell) {
    if (judge_.IsHidden(timestamp, cell.write_number)) return Drop();
    const uint64_t now = collection_.moment.time;
    if (rules_.certain_age_ms != 0 && now > LastMoment(timestamp, rules_.certain_age_ms)) {
      return Drop();
    }
    if (cell.ttl_ms != 0) [[unlikely]] {
      const uint64_t last_moment = LastMoment(timestamp, cell.ttl_ms);
      if (now > last_moment) {
        const bool supersedes = rules_.tightened_ms != 0 && last_moment >= rules_.tightened_ms;
        return rules_.keeps_some_aged || supersedes ? Decision::kKeepNumber : Decision::kDelete;
      }
    }
    const bool counts_any =
        rules_.max_versions != GarbageRule::kUnlimited || rules_.keeps_some_aged;
    if (counts_any && IsSuperseded(timestamp, sequence, cell.write_number)) return Drop();
    return Keep(sequence);
  }

  // Counts the version if it is not.
  bool IsSuperseded(uint64_t timestamp, SequenceNumber sequence, uint64_t write_number) {
    const Removers& removers = RemoversOfColumn();
    const SequenceNumber known_through = std::min(collection_.settled, removers.horizon);
    if (known_through < rules_.since_sequence) return false;
    const bool is_unknown = sequence == 0 && removers.any;
    const bool was_there = is_unknown ? write_number < newest_counted_ : sequence <= known_through;
    if (!was_there) return false;
    const bool ages_are_known = ages_.sequence <= known_through;
    if (ages_are_known ? judge_.IsLetGo(timestamp) : judge_.IsSuperseded()) return true;
    if (is_unknown || (removers.any && sequence <= removers.floor)) return false;
    judge_.Count();
    newest_counted_ = std::max(newest_counted_, write_number);
    return false;
  }

  const Removers& RemoversOfColumn() {
    if (removers_.has_value()) return *removers_;
    if (!others_.may_have_removers()) return removers_.emplace();
    if (!row_removers_.has_value()) {
      const std::string markers = row_ + std::string(2, '\0');
      row_removers_ = others_.RemoversIn(markers, EndOfPrefix(markers));
    }
    removers_ = *row_removers_;
    removers_->Add(others_.RemoversIn(place_, EndOfPrefix(place_)));
    return *removers_;
  }

  const FamilyRules& rules_;
  const bool has_cell_ttls_;
  const Collection collection_;
  const OtherFiles& others_;
  const AgeMoment ages_;
  ColumnJudge judge_;
  const bool numbers_may_go_;

  std::string row_;    // escaped
  std::string place_;  // what stands before the number in the keys of the column; empty: none yet
  bool is_row_marker_ = false;
  // Of the row's markers, and with those of the column; unset: not asked for yet.
  std::optional<Removers> row_removers_;
  std::optional<Removers> removers_;
  uint64_t newest_counted_ = 0;  // write number, of the column
};

}  // namespace

// Rules and flags are stored before the clock is: who sees it sees them. Not the present: the next
// opening may go on from an earlier time, at which what has expired now has not.
uint64_t CellCollectors::Now() const {
  const WriteClock* const clock = clock_.load(std::memory_order_acquire);
  return clock == nullptr ? 0 : clock->SavedNowForAll();
}

std::unique_ptr<EntryCollector> CellCollectors::NewCollector(const Collection& collection) {
  if (clock_.load(std::memory_order_acquire) == nullptr) return nullptr;
  // The rules are those of the whole walk. Rules that come into force meanwhile judge by later
  // numbers than are looked at here.
  const FamilyRules& rules = rules_.Load();
  const Moment now = {collection.moment.time, collection.moment.sequence};
  AgeMoment ages{now.time_ms, now.sequence};
  if (rules.keeps_some_aged) {
    const Moment last = LastMomentWithin(collection.settled, now);
    ages = {last.time_ms, last.sequence};
  }
  return std::make_unique<CellCollector>(rules, rules_.has_cell_ttls(), collection, ages);
}

CellCollectors::Moment CellCollectors::LastMomentWithin(SequenceNumber settled, const Moment& now) {
  const MutexLock lock(&mutex_);
  if (moments_.empty() || moments_.back().sequence < now.sequence) {
    moments_.push_back(now);
  } else if (moments_.back().sequence == now.sequence) {
    moments_.back().time_ms = std::max(moments_.back().time_ms, now.time_ms);
  }
  // Every other one, so that the oldest stay far apart and the newest near.
  if (moments_.size() > kMostMoments) {
    std::deque<Moment> fewer;
    for (size_t i = 0; i < moments_.size(); i += 2) fewer.push_back(moments_[i]);
    moments_ = std::move(fewer);
  }
  const auto after =
      std::partition_point(moments_.begin(), moments_.end(),
                           [&](const Moment& moment) { return moment.sequence <= settled; });
  return after == moments_.begin() ? Moment{0, 0} : *std::prev(after);
}

bool CellCollectors::MayPart(std::string_view before, std::string_view user_key) const {
  if (before.size() != user_key.size() || user_key.size() < kCellNumberBytes) return true;
  const size_t prefix_bytes = user_key.size() - kCellNumberBytes;
  return before.substr(0, prefix_bytes) != user_key.substr(0, prefix_bytes);
}

// The row, which comes before all of its keys, so that markers and what they hide are in one walk.
// The key may be one that an index has shortened, and end anywhere: a 00 behind which there is no
// FF ends the row, and a key without one lies between two rows.
std::string_view CellCollectors::WalkBoundary(std::string_view user_key) const {
  for (size_t zero = user_key.find('\0'); zero + 1 < user_key.size();
       zero = user_key.find('\0', zero + 2)) {
    if (user_key[zero + 1] != '\xff') return user_key.substr(0, zero);
  }
  return user_key;
}

// A file with markers does not go unread: what they hide must not come back where rules are
// loosened.
KeyExpiry CellCollectors::Expiry() const {
  const WriteClock* const clock = clock_.load(std::memory_order_acquire);
  if (clock == nullptr) return {};
  const FamilyRules& rules = rules_.Load();
  const uint64_t age_ms = rules.certain_age_ms;
  if (age_ms == 0 || rules.keeps_some_aged) return {};
  const uint64_t now = clock->SavedNow();
  return {.first_alive = now > age_ms ? now - age_ms : 0, .lifetime = age_ms};
}

}  // namespace winnow
