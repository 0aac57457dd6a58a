#include "engine/version/version_order.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/version/level_iterator.h"

namespace winnow {

namespace {

// Files of which a look-up reads one at most: one of level 0, or those of a deeper level. They are
// numbered from above to below.
struct Place {
  Version::Files files;  // that overlap files of other places
  std::unique_ptr<LevelIterator> entries;

  const SstableFile* FileOf(std::string_view user_key,
                            const InternalKeyComparator& comparator) const {
    const auto file = std::partition_point(files.begin(), files.end(), [&](const auto& before) {
      return before->EndsBefore(user_key, comparator);
    });
    return file == files.end() ? nullptr : file->get();
  }
  // Null: no range tombstone of this place can cover the key.
  const RangeTombstoneIndex* TombstonesAt(std::string_view user_key,
                                          const InternalKeyComparator& comparator) const {
    const SstableFile* const file = FileOf(user_key, comparator);
    return file == nullptr ? nullptr : file->range_tombstones();
  }
};

bool OverlapsOtherPlace(const Version& version, int level, const SstableFile& file) {
  const InternalKeyComparator& comparator = version.comparator();
  for (const auto& other : version.files(0)) {
    if (other.get() != &file && Overlap(other->range(), file.range(), comparator)) return true;
  }
  for (int other = 1; other < kNumLevels; other++) {
    if (other != level && !version.Overlapping(other, file.range()).empty()) return true;
  }
  return false;
}

std::vector<Place> PlacesOf(const Version& version, const SstableReadOptions& options) {
  std::vector<Place> places;
  for (int level = 0; level < kNumLevels; level++) {
    Version::Files of_level;
    for (const auto& file : version.files(level)) {
      if (!OverlapsOtherPlace(version, level, *file)) continue;
      if (level == 0) {
        places.push_back({{file}, nullptr});
      } else {
        of_level.push_back(file);
      }
    }
    if (!of_level.empty()) places.push_back({std::move(of_level), nullptr});
  }
  for (Place& place : places) {
    // By the array that stays where it is: the places are all there.
    place.entries = std::make_unique<LevelIterator>(place.files, version.comparator(), options);
    place.entries->SeekToFirst();
  }
  return places;
}

class OrderCheck {
 public:
  using Report = absl::FunctionRef<void(const SstableFile&, const std::string&)>;

  OrderCheck(const Version& version, const SstableReadOptions& options, Report report)
      : comparator_(version.comparator()),
        has_tombstones_(version.has_range_tombstones()),
        report_(report),
        places_(PlacesOf(version, options)) {}

  // The entries of a key come newest first. Each has to lie where the one before lies, or deeper.
  void Run() {
    bool has_key = false;
    std::string user_key;
    size_t lowest = 0;  // of the places that had newer entries of the key
    for (;;) {
      const size_t at = Smallest();
      if (at == places_.size()) return;
      const std::string_view key = places_[at].entries->key();
      if (!has_key || comparator_.CompareUserKeys(UserKey(key), user_key) != 0) {
        user_key = std::string(UserKey(key));
        has_key = true;
        lowest = at;
        seen_.clear();
      }
      if (at < lowest) {
        Tell(at, lowest, user_key, "has an older version of key ");
      }
      lowest = std::max(lowest, at);
      if (has_tombstones_) {
        seen_.push_back({at, Sequence(key)});
        CheckTombstones(at, user_key, Sequence(key));
      }
      places_[at].entries->Next();
    }
  }

 private:
  // The place with the first entry; of equal ones the one above. A handful of places as a rule, so
  // that a heap would gain little.
  size_t Smallest() const {
    size_t smallest = places_.size();
    for (size_t i = 0; i < places_.size(); i++) {
      if (!places_[i].entries->Valid()) continue;
      if (smallest == places_.size() ||
          comparator_.Compare(places_[i].entries->key(), places_[smallest].entries->key()) < 0) {
        smallest = i;
      }
    }
    return smallest;
  }

  // Tombstones above that cover the entry are newer than it, and those below are older. A log that
  // a repair has replayed once more has brought copies of both to the top, in their order: what is
  // below them decides nothing.
  void CheckTombstones(size_t at, std::string_view user_key, SequenceNumber sequence) {
    for (size_t i = 0; i < places_.size(); i++) {
      if (i == at) continue;
      const RangeTombstoneIndex* const tombstones = places_[i].TombstonesAt(user_key, comparator_);
      if (tombstones == nullptr) continue;
      if (i < at && sequence > 0 && tombstones->NewestCovering(user_key, sequence - 1) != 0) {
        if (IsDecidedAbove(i, user_key, sequence)) continue;
        Tell(i, at, user_key, "has an older range deletion of key ");
      } else if (i > at) {
        const SequenceNumber newest = tombstones->NewestCovering(user_key, kMaxSequenceNumber);
        if (newest <= sequence || IsDecidedAbove(at, user_key, newest)) continue;
        Tell(at, i, user_key, "has an older version of the range-deleted key ");
      }
    }
  }

  // Whether a place down to this one has something of the key with this sequence number or a
  // greater one. Entries that are still to come have smaller ones than what is looked at.
  bool IsDecidedAbove(size_t place, std::string_view user_key, SequenceNumber sequence) const {
    for (const auto& [seen_at, seen_sequence] : seen_) {
      if (seen_at <= place && seen_sequence >= sequence) return true;
    }
    for (size_t i = 0; i <= place; i++) {
      const RangeTombstoneIndex* const tombstones = places_[i].TombstonesAt(user_key, comparator_);
      if (tombstones != nullptr &&
          tombstones->NewestCovering(user_key, kMaxSequenceNumber) >= sequence) {
        return true;
      }
    }
    return false;
  }

  void Tell(size_t above, size_t below, std::string_view user_key, std::string_view what) {
    const SstableFile* const upper = places_[above].FileOf(user_key, comparator_);
    const SstableFile* const lower = places_[below].FileOf(user_key, comparator_);
    if (upper == nullptr || lower == nullptr || !told_.insert(upper->number()).second) return;
    report_(*upper, absl::StrCat(ToAbsl(what), "'", absl::CHexEscape(ToAbsl(user_key)),
                                 "' than SSTable ", lower->number(), " below it has"));
  }

  const InternalKeyComparator& comparator_;
  const bool has_tombstones_;
  const Report report_;
  std::vector<Place> places_;
  std::vector<std::pair<size_t, SequenceNumber>> seen_;  // entries of the key, by their places
  std::set<uint64_t> told_;                              // files that have been reported
};

}  // namespace

void CheckVersionOrder(
    const Version& version, const SstableReadOptions& options,
    absl::FunctionRef<void(const SstableFile& file, const std::string& problem)> report) {
  OrderCheck(version, options, report).Run();
}

}  // namespace winnow
