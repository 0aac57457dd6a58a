// The bytes that all keys of a sorted set begin with, and the eight bytes behind them, which tell
// the keys apart where the first eight of each ("user:000") would not.
#ifndef WINNOW_ENGINE_BASE_SHARED_PREFIX_H_
#define WINNOW_ENGINE_BASE_SHARED_PREFIX_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "engine/base/coding.h"
#include "engine/base/internal_key.h"

namespace winnow {

// How many bytes `a` and `b` begin with alike.
inline size_t CommonPrefix(std::string_view a, std::string_view b) {
  const size_t length = std::min(a.size(), b.size());
  size_t i = 0;
  for (; length - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
    const uint64_t difference = DecodeFixed64(a.data() + i) ^ DecodeFixed64(b.data() + i);
    if (difference != 0) return i + static_cast<size_t>(std::countr_zero(difference)) / 8;
  }
  while (i < length && a[i] == b[i]) i++;
  return i;
}

// For the bytewise order. Borrows the prefix.
class SharedPrefix {
 public:
  SharedPrefix() = default;
  explicit SharedPrefix(std::string_view prefix)
      : prefix_(prefix),
        head_(KeyPrefix64(prefix)),
        mask_(prefix.size() >= kHeadBytes ? ~uint64_t{0} : ~(~uint64_t{0} >> (8 * prefix.size()))),
        tail_(prefix.size() < kHeadBytes ? 0
                                         : BytesAt(prefix.data() + prefix.size() - kHeadBytes)) {}

  std::string_view bytes() const { return prefix_; }

  // 0: `key` begins with the prefix. Otherwise it is smaller (-1) or greater (1) than all keys that
  // do.
  int Compare(std::string_view key) const {
    // One load instead of a call, where keys and prefix are as long as they mostly are.
    if (key.size() < kHeadBytes) [[unlikely]]
      return CompareBeyond(key);
    const uint64_t begin = KeyPrefix64(key) & mask_;
    if (begin != head_) return begin < head_ ? -1 : 1;
    if (prefix_.size() <= kHeadBytes) return 0;
    if (prefix_.size() > 2 * kHeadBytes || key.size() < prefix_.size()) return CompareBeyond(key);
    // The last eight bytes of the prefix: what they overlap of the first eight is equal.
    const uint64_t end = BytesAt(key.data() + prefix_.size() - kHeadBytes);
    return end == tail_ ? 0 : end < tail_ ? -1 : 1;
  }

  // Of a key that begins with the prefix: the eight bytes behind it, as KeyPrefix64 has them.
  uint64_t HeadOf(std::string_view key) const {
    const size_t left = key.size() - prefix_.size();
    if (left >= kHeadBytes) return BytesAt(key.data() + prefix_.size());
    if (key.size() < kHeadBytes) [[unlikely]]
      return KeyPrefix64(key.substr(prefix_.size()));
    // The key's last eight bytes without those that are the prefix's.
    return left == 0 ? 0
                     : BytesAt(key.data() + key.size() - kHeadBytes) << (8 * (kHeadBytes - left));
  }

 private:
  static constexpr size_t kHeadBytes = sizeof(uint64_t);

  // Eight bytes as a number that orders as they do.
  static uint64_t BytesAt(const char* at) { return __builtin_bswap64(DecodeFixed64(at)); }
  int CompareBeyond(std::string_view key) const {
    const size_t length = std::min(prefix_.size(), key.size());
    const int order = length == 0 ? 0 : std::memcmp(key.data(), prefix_.data(), length);
    if (order != 0) return order < 0 ? -1 : 1;
    return key.size() < prefix_.size() ? -1 : 0;
  }

  std::string_view prefix_;
  uint64_t head_ = 0;  // of the prefix itself
  uint64_t mask_ = 0;  // the bytes of head_ that are the prefix's
  uint64_t tail_ = 0;  // the last eight bytes of the prefix, if it has as many
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_SHARED_PREFIX_H_
