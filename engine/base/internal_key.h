// Internal keys: what memtables and SSTables order and store.
//
//   internal key = user key bytes, then 8 bytes little-endian: (sequence << 8) | type
//
// They sort by user key ascending, then by sequence descending, then by type descending: the newest
// version of a key comes first.
#ifndef WINNOW_ENGINE_BASE_INTERNAL_KEY_H_
#define WINNOW_ENGINE_BASE_INTERNAL_KEY_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "engine/base/coding.h"
#include "winnow/comparator.h"

namespace winnow {

using SequenceNumber = uint64_t;
inline constexpr SequenceNumber kMaxSequenceNumber = (uint64_t{1} << 56) - 1;

// On-disk values: never renumber. A range deletion is no entry of one key: memtables and SSTables
// keep it apart (base/range_tombstones.h), and of the types here it is only in batches, in the
// bounds of tables, and in answers to look-ups.
enum class EntryType : uint8_t {
  kDelete = 0,
  kPut = 1,
  kMerge = 2,
  kRangeDelete = 3,
  kPutWithTime = 4,  // base/write_time.h
};
// Of the entries of one key.
inline bool IsKnownEntryType(EntryType type) {
  return type <= EntryType::kMerge || type == EntryType::kPutWithTime;
}
// The newest such entry of a key has its value, unless it has expired.
inline bool IsPut(EntryType type) {
  return type == EntryType::kPut || type == EntryType::kPutWithTime;
}
// Sorts before every other type at the same sequence number: what a seek uses.
inline constexpr EntryType kEntryTypeForSeek = EntryType{0xff};

inline constexpr size_t kTrailerBytes = 8;

inline uint64_t PackTrailer(SequenceNumber sequence, EntryType type) {
  return (sequence << 8) | static_cast<uint8_t>(type);
}
inline std::string_view UserKey(std::string_view internal_key) {
  return internal_key.substr(0, internal_key.size() - kTrailerBytes);
}
inline uint64_t Trailer(std::string_view internal_key) {
  return DecodeFixed64(internal_key.data() + internal_key.size() - kTrailerBytes);
}
inline SequenceNumber Sequence(std::string_view internal_key) { return Trailer(internal_key) >> 8; }
inline EntryType Type(std::string_view internal_key) {
  return static_cast<EntryType>(Trailer(internal_key) & 0xff);
}
// True if the bytes can be an internal key at all; check before using the accessors on file bytes.
inline bool IsInternalKey(std::string_view bytes) { return bytes.size() >= kTrailerBytes; }

inline void AppendInternalKey(std::string* out, std::string_view user_key, SequenceNumber sequence,
                              EntryType type) {
  out->append(user_key);
  PutFixed64(out, PackTrailer(sequence, type));
}
inline std::string MakeInternalKey(std::string_view user_key, SequenceNumber sequence,
                                   EntryType type) {
  std::string key;
  key.reserve(user_key.size() + kTrailerBytes);
  AppendInternalKey(&key, user_key, sequence, type);
  return key;
}

// The largest internal key of a table may be the end of a range tombstone, which is exclusive. It
// has this trailer, with which it sorts before every entry of its user key.
inline constexpr uint64_t kExclusiveEndTrailer =
    (kMaxSequenceNumber << 8) | static_cast<uint8_t>(EntryType::kRangeDelete);
inline bool IsExclusiveEnd(std::string_view internal_key) {
  return Trailer(internal_key) == kExclusiveEndTrailer;
}

// The first eight bytes of `key` as a number that sorts as the bytes do (missing bytes are zero).
// Equal prefixes decide nothing; different ones decide the bytewise order.
inline uint64_t KeyPrefix64(std::string_view key) {
  uint64_t prefix = 0;
  if (key.size() >= sizeof(prefix)) {
    std::memcpy(&prefix, key.data(), sizeof(prefix));
  } else if (!key.empty()) {
    std::memcpy(&prefix, key.data(), key.size());
  }
  return __builtin_bswap64(prefix);
}

inline int CompareBytes(std::string_view a, std::string_view b) {
  const size_t shared = std::min(a.size(), b.size());
  if (shared >= sizeof(uint64_t)) {
    const uint64_t a_prefix = KeyPrefix64(a);
    const uint64_t b_prefix = KeyPrefix64(b);
    if (a_prefix != b_prefix) return a_prefix < b_prefix ? -1 : 1;
  }
  const int order = shared == 0 ? 0 : std::memcmp(a.data(), b.data(), shared);
  if (order != 0) return order;
  if (a.size() == b.size()) return 0;
  return a.size() < b.size() ? -1 : 1;
}

// Orders internal keys. Copyable; the user comparator must outlive it.
class InternalKeyComparator {
 public:
  explicit InternalKeyComparator(const Comparator* user)
      : user_(user), bytewise_(user == BytewiseComparator()) {}

  int CompareUserKeys(std::string_view a, std::string_view b) const {
    return bytewise_ ? CompareBytes(a, b) : user_->Compare(a, b);
  }

  int Compare(std::string_view a, std::string_view b) const {
    const int order = CompareUserKeys(UserKey(a), UserKey(b));
    if (order != 0) return order;
    const uint64_t a_trailer = Trailer(a);
    const uint64_t b_trailer = Trailer(b);
    return a_trailer > b_trailer ? -1 : (a_trailer < b_trailer ? 1 : 0);
  }

  bool is_bytewise() const { return bytewise_; }
  const Comparator* user() const { return user_; }

 private:
  const Comparator* user_;
  bool bytewise_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_INTERNAL_KEY_H_
