// Values with a write time (EntryType::kPutWithTime), and when they expire.
//
//   value of such an entry = the user's value, then 8 bytes little-endian: microseconds since 1970
//
// An entry whose time is up counts as a deletion of its key, for every reader and every compaction,
// whatever snapshot they have. So it hides older versions as long as it is there, and may be
// dropped where a deletion may.
#ifndef WINNOW_ENGINE_BASE_WRITE_TIME_H_
#define WINNOW_ENGINE_BASE_WRITE_TIME_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "engine/base/coding.h"
#include "engine/base/internal_key.h"
#include "winnow/clock.h"

namespace winnow {

inline constexpr size_t kWriteTimeBytes = 8;
inline constexpr uint64_t kMicrosPerSecond = 1'000'000;

inline void AppendWriteTime(std::string* value, uint64_t micros) { PutFixed64(value, micros); }

// False if the bytes are too few to end with a time. Check before using the accessors below.
inline bool HasWriteTime(std::string_view stored) { return stored.size() >= kWriteTimeBytes; }
inline uint64_t WriteTime(std::string_view stored) {
  return DecodeFixed64(stored.data() + stored.size() - kWriteTimeBytes);
}
inline std::string_view WithoutWriteTime(std::string_view stored) {
  return stored.substr(0, stored.size() - kWriteTimeBytes);
}

// Of the entries of a file that have one.
struct WriteTimes {
  uint64_t num_entries = 0;
  uint64_t oldest = 0;  // both mean nothing where there is no entry
  uint64_t newest = 0;

  void Add(uint64_t micros) {
    oldest = num_entries == 0 || micros < oldest ? micros : oldest;
    newest = num_entries == 0 || micros > newest ? micros : newest;
    num_entries++;
  }
  friend bool operator==(const WriteTimes&, const WriteTimes&) = default;
};

// What a reader can take from a table or a log: other entries mean nothing to this version.
inline bool IsReadableEntry(EntryType type, std::string_view stored_value) {
  return IsKnownEntryType(type) && (type != EntryType::kPutWithTime || HasWriteTime(stored_value));
}

// "2026-11-23T21:15:00Z", for people.
std::string TimeText(uint64_t micros);

// How long data lives, and by which clock. Copyable; the clock must outlive it.
struct TimeToLive {
  const Clock* clock = nullptr;  // not asked where `micros` is 0
  uint64_t micros = 0;           // 0: for ever

  bool is_on() const { return micros != 0; }
};

// One moment at which a time to live is applied.
struct ExpiryMoment {
  uint64_t now = 0;
  uint64_t ttl_micros = 0;

  ExpiryMoment() = default;
  explicit ExpiryMoment(const TimeToLive& ttl)
      : now(ttl.is_on() ? ttl.clock->NowMicros() : 0), ttl_micros(ttl.micros) {}

  // What was written after `now`, before the clock went back, has its life before it. Nothing can
  // overflow: times are subtracted, never added.
  bool HasExpired(uint64_t write_time) const {
    return ttl_micros != 0 && now >= write_time && now - write_time >= ttl_micros;
  }
};

// What an entry of type kPutWithTime is to a reader: turns type and value into those of a plain
// value, or of a deletion. DataLoss: the value ends before its time.
absl::Status ResolveWriteTime(const ExpiryMoment& moment, EntryType* type, std::string_view* value);

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_WRITE_TIME_H_
