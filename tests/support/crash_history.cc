#include "tests/support/crash_history.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace winnow {
namespace {

void Apply(const std::vector<Update>& updates, Contents* contents) {
  for (const Update& update : updates) {
    std::map<std::string, std::string>& family = (*contents)[update.family_id];
    if (update.merges && family.contains(update.key)) {
      absl::StrAppend(&family[update.key], "+", *update.value);
    } else if (update.value.has_value()) {
      family[update.key] = *update.value;
    } else if (update.end.has_value()) {
      family.erase(family.lower_bound(update.key), family.lower_bound(*update.end));
    } else {
      family.erase(update.key);
    }
  }
}

// A family's id and a key.
using Place = std::pair<uint32_t, std::string>;

std::set<Place> PlacesOf(const Contents& contents) {
  std::set<Place> places;
  for (const auto& [id, entries] : contents) {
    for (const auto& [key, value] : entries) places.emplace(id, key);
  }
  return places;
}

std::optional<std::string_view> ValueAt(const Contents& contents, const Place& place) {
  const auto family = contents.find(place.first);
  if (family == contents.end()) return std::nullopt;
  const auto entry = family->second.find(place.second);
  if (entry == family->second.end()) return std::nullopt;
  return entry->second;
}

std::string Brief(const std::string& value) {
  return absl::StrCat("'", value.substr(0, 24), "' (", value.size(), " bytes)");
}

// The iterator's view of a family, or the first problem.
std::map<std::string, std::string> ReadByIterator(DB& db, ColumnFamily* family,
                                                  std::string* problem) {
  std::map<std::string, std::string> forward;
  const std::unique_ptr<Iterator> iterator = db.NewIterator(ReadOptions(), family);
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    forward.emplace(iterator->key(), iterator->value());
  }
  if (!iterator->status().ok()) *problem = iterator->status().ToString();
  size_t backward = 0;
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
    const auto same = forward.find(std::string(iterator->key()));
    if (same == forward.end() || same->second != iterator->value()) {
      *problem = absl::StrCat("backward only: ", Brief(std::string(iterator->key())));
    }
    backward++;
  }
  if (!iterator->status().ok()) {
    *problem = iterator->status().ToString();
  } else if (problem->empty() && backward != forward.size()) {
    *problem = absl::StrCat(backward, " keys backward, ", forward.size(), " forward");
  }
  return forward;
}

std::string WhyPointReadsDiffer(DB& db, ColumnFamily* family, const std::string& key,
                                const std::map<std::string, std::string>& expected) {
  std::string value;
  const absl::Status status = db.Get(ReadOptions(), family, key, &value);
  const auto found = expected.find(key);
  if (!status.ok() && !absl::IsNotFound(status)) return status.ToString();
  if (status.ok() != (found != expected.end()) || (status.ok() && value != found->second)) {
    return absl::StrCat("Get of '", key, "' and the iterator differ");
  }
  const absl::StatusOr<bool> exists = db.Exists(ReadOptions(), family, key);
  if (!exists.ok()) return exists.status().ToString();
  if (*exists != status.ok()) return absl::StrCat("Get and Exists differ for '", key, "'");
  if (status.ok() && !db.MayExist(ReadOptions(), family, key)) {
    return absl::StrCat("MayExist denies '", key, "'");
  }
  return "";
}

}  // namespace

Contents ReadEverything(DB& db, const std::vector<std::string>& keys, std::string* problem) {
  Contents contents;
  for (ColumnFamily* family : db.ColumnFamilies()) {
    std::map<std::string, std::string>& found = contents[family->id()];
    found = ReadByIterator(db, family, problem);
    for (const std::string& key : keys) {
      if (!problem->empty()) break;
      *problem = WhyPointReadsDiffer(db, family, key, found);
    }
    if (!problem->empty()) break;
  }
  return contents;
}

std::string FirstDifference(const Contents& found, const Contents& expected) {
  static const std::map<std::string, std::string> kEmpty;
  for (const auto& [id, entries] : found) {
    const auto wanted_family = expected.find(id);
    const auto& wanted = wanted_family == expected.end() ? kEmpty : wanted_family->second;
    for (const auto& [key, value] : wanted) {
      const auto entry = entries.find(key);
      if (entry == entries.end()) return absl::StrCat("family ", id, ": '", key, "' is missing");
      if (entry->second != value) {
        return absl::StrCat("family ", id, ": '", key, "' is ", Brief(entry->second), ", expected ",
                            Brief(value));
      }
    }
    for (const auto& [key, value] : entries) {
      if (!wanted.contains(key)) {
        return absl::StrCat("family ", id, ": '", key, "' = ", Brief(value),
                            " should not be there");
      }
    }
  }
  return "";
}

Breach BreachOfDifference(const Contents& found, const Contents& expected) {
  if (FirstDifference(found, expected).empty()) return Breach::kOther;
  for (const Place& place : PlacesOf(expected)) {
    if (found.contains(place.first) && ValueAt(found, place) != ValueAt(expected, place)) {
      return Breach::kSyncedWriteLost;
    }
  }
  return Breach::kResurrectedDelete;
}

Contents History::After(size_t num_writes, const FailedWrites& with_failed) const {
  Contents contents;
  for (size_t i = 0; i < num_writes; i++) {
    const bool failed = writes_[i].time.acknowledged == CallTime::kNever;
    if (failed && std::ranges::count(with_failed, i) == 0) continue;
    Apply(writes_[i].updates, &contents);
  }
  return contents;
}

std::vector<History::FailedWrites> History::PossibleFailures(size_t num_writes) const {
  std::vector<FailedWrites> possible = {{}};
  size_t num_of_earlier_openings = 1;
  for (size_t i = 0; i < num_writes; i++) {
    if (i > 0 && writes_[i].opening != writes_[i - 1].opening) {
      num_of_earlier_openings = possible.size();
    }
    if (writes_[i].time.acknowledged != CallTime::kNever || writes_[i].was_refused) continue;
    for (size_t j = 0; j < num_of_earlier_openings; j++) {
      possible.push_back(possible[j]);
      possible.back().push_back(i);
    }
  }
  return possible;
}

std::string History::WhyFamiliesAreWrong(const Contents& found, size_t num_operations) const {
  for (const HistoryOfFamily& family : families_) {
    const bool is_there = found.contains(family.id);
    const bool must_be_there = family.created.MustHaveHappened(num_operations) &&
                               !family.dropped.MayHaveHappened(num_operations);
    const bool may_be_there = family.created.MayHaveHappened(num_operations) &&
                              !family.dropped.MustHaveHappened(num_operations);
    if (must_be_there && !is_there) {
      return absl::StrCat("column family ", family.id, " '", family.name, "' is missing");
    }
    if (!may_be_there && is_there) {
      return absl::StrCat("column family ", family.id, " '", family.name, "' should not be there");
    }
  }
  return "";
}

std::pair<size_t, size_t> History::Bounds(size_t num_operations, bool all_acknowledged) const {
  size_t least = 0;
  size_t most = 0;
  for (size_t i = 0; i < writes_.size(); i++) {
    const Write& write = writes_[i];
    if (write.time.MayHaveHappened(num_operations)) most = i + 1;
    if (write.time.MustHaveHappened(num_operations) && (write.synced || all_acknowledged)) {
      least = i + 1;
    }
  }
  for (const Barrier& barrier : barriers_) {
    if (barrier.num_operations <= num_operations) least = std::max(least, barrier.num_writes);
  }
  return {least, std::max(most, least)};
}

std::string History::WhyWrongAfterCrash(const Contents& found, size_t num_operations,
                                        bool all_acknowledged) const {
  if (std::string why = WhyFamiliesAreWrong(found, num_operations); !why.empty()) return why;
  const auto [least, most] = Bounds(num_operations, all_acknowledged);
  const std::string first_difference = FirstDifference(found, After(least));
  for (const FailedWrites& with_failed : PossibleFailures(most)) {
    for (size_t n = least; n <= most; n++) {
      if (FirstDifference(found, After(n, with_failed)).empty()) return "";
    }
  }
  return absl::StrCat("equals none of the states after ", least, " to ", most,
                      " writes; compared with the first: ", first_difference);
}

Breach History::BreachAfterCrash(const Contents& found, size_t num_operations,
                                 bool all_acknowledged) const {
  if (!WhyFamiliesAreWrong(found, num_operations).empty()) return Breach::kOther;
  const auto [least, most] = Bounds(num_operations, all_acknowledged);
  std::vector<Contents> states;
  for (size_t n = least; n <= most; n++) states.push_back(After(n));
  const auto is_as_after = [&](const Place& place, size_t i) {
    return ValueAt(found, place) == ValueAt(states[i], place);
  };
  std::set<Place> places = PlacesOf(found);
  for (const Contents& state : states) places.merge(PlacesOf(state));
  std::erase_if(places, [&](const Place& place) { return !found.contains(place.first); });
  for (const Place& place : places) {
    bool was_so = false;
    for (size_t i = 0; i < states.size() && !was_so; i++) was_so = is_as_after(place, i);
    if (!was_so) {
      return !ValueAt(states[0], place).has_value() ? Breach::kResurrectedDelete
                                                    : Breach::kSyncedWriteLost;
    }
  }
  for (size_t i = 0; i + 1 < states.size(); i++) {
    const bool is_between = std::all_of(places.begin(), places.end(), [&](const Place& place) {
      return is_as_after(place, i) || is_as_after(place, i + 1);
    });
    if (is_between) return Breach::kTornBatch;
  }
  return Breach::kHole;
}

std::string History::WhyWrongAfterErrors(const Contents& found) const {
  for (const HistoryOfFamily& family : families_) {
    const bool was_created = family.created.acknowledged != CallTime::kNever;
    const bool was_dropped = family.dropped.acknowledged != CallTime::kNever;
    const bool drop_was_tried = family.dropped.begin != CallTime::kNever;
    const bool is_there = found.contains(family.id);
    if (was_created && !drop_was_tried && !is_there) {
      return absl::StrCat("column family ", family.id, " is missing");
    }
    if (was_dropped && is_there) return absl::StrCat("column family ", family.id, " is back");
  }
  const std::string first_difference = FirstDifference(found, After(writes_.size()));
  if (first_difference.empty()) return "";
  for (const FailedWrites& with_failed : PossibleFailures(writes_.size())) {
    if (FirstDifference(found, After(writes_.size(), with_failed)).empty()) return "";
  }
  return first_difference;
}

}  // namespace winnow
