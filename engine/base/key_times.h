// Times that keys have in themselves. The owner of a column family (DBImpl::ReserveForOwner) may
// say how its keys tell them; each SSTable then knows which times it has, and reads that are about
// others pass it over.
#ifndef WINNOW_ENGINE_BASE_KEY_TIMES_H_
#define WINNOW_ENGINE_BASE_KEY_TIMES_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace winnow {

// What a key with a time is. A marker hides what has its own time or an earlier one: kMarker, keys
// that follow it; kFarMarker, keys that may be anywhere, so that readers look for it by itself.
enum class TimedKeyKind : uint8_t { kEntry, kMarker, kFarMarker };

struct TimedKey {
  TimedKeyKind kind = TimedKeyKind::kEntry;
  uint64_t time = 0;  // less than UINT64_MAX
};

// False: the key has no time, and a table with it knows none. Of keys with one beginning the later
// comes first, if no far marker is among them.
using KeyTimeParser = bool (*)(std::string_view user_key, TimedKey* parsed);

// Of all keys of a table, be they of values or of deletions. The ends are exclusive; 0: there is no
// such key.
struct KeyTimes {
  uint64_t oldest = UINT64_MAX;  // of entries
  uint64_t end = 0;
  uint64_t marker_end = 0;
  uint64_t far_marker_end = 0;

  void Add(const TimedKey& key) {
    uint64_t* const its_end = key.kind == TimedKeyKind::kEntry    ? &end
                              : key.kind == TimedKeyKind::kMarker ? &marker_end
                                                                  : &far_marker_end;
    *its_end = std::max(*its_end, key.time + 1);
    if (key.kind == TimedKeyKind::kEntry) oldest = std::min(oldest, key.time);
  }
  // Of keys of all kinds.
  uint64_t latest_end() const { return std::max({end, marker_end, far_marker_end}); }
  bool has_markers() const { return marker_end != 0 || far_marker_end != 0; }
  // What a reader may take from bytes: nothing else can have come from Add.
  bool IsPossible() const { return end == 0 ? oldest == UINT64_MAX : oldest < end; }
  std::string DebugString() const;

  friend bool operator==(const KeyTimes&, const KeyTimes&) = default;
};

// Counts one more key of a table: a key without a time, which may be of any, makes it one of which
// nothing is known. Unset before: it stays so.
inline void AddKeyTime(KeyTimeParser parser, std::string_view user_key,
                       std::optional<KeyTimes>* times) {
  if (!times->has_value()) return;
  TimedKey parsed;
  if (parser(user_key, &parsed)) {
    (*times)->Add(parsed);
  } else {
    times->reset();
  }
}

// What a reader wants: entries with times from `begin` to before `end`, and what hides them.
struct KeyTimeBounds {
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;
  // Entries of later times play no part. False: what is shown depends on them, too.
  bool ignores_later = false;
  // No entries at all, but far markers of times from `begin` on.
  bool is_of_far_markers = false;

  // That a table with these times has nothing of it. Markers reach back to 0.
  bool Exclude(const KeyTimes& times) const {
    if (is_of_far_markers) return times.far_marker_end <= begin;
    if (times.latest_end() <= begin) return true;
    return ignores_later && !times.has_markers() && times.oldest >= end;
  }
};

// Which keys of a family are dead by their times alone, whatever else is there. Their owner tells.
struct KeyExpiry {
  uint64_t first_alive = 0;  // all of earlier times are dead; 0: none is
  uint64_t lifetime = 0;

  // Markers too: what one hides is no later than itself.
  bool HasAllExpired(const KeyTimes& times) const {
    return times.latest_end() != 0 && times.latest_end() <= first_alive;
  }
};

class KeyLifetimes {
 public:
  virtual ~KeyLifetimes() = default;
  // Snapshots do not count here: what is dead now may be alive in one that is older. Thread-safe.
  virtual KeyExpiry Expiry() const = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_KEY_TIMES_H_
