// The signature of a group of entries: 80 bits, of which each value of a field sets two. A Bloom
// filter of one group, as those of PostgreSQL's index method `bloom`.
#ifndef WINNOW_ENGINE_SSTABLE_SIGNATURE_H_
#define WINNOW_ENGINE_SSTABLE_SIGNATURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/coding.h"
#include "winnow/filter/hash.h"

namespace winnow {

class Signature {
 public:
  static constexpr size_t kBytes = 10;
  static constexpr uint64_t kBits = 8 * kBytes;

  Signature() = default;
  // Of one value of a field. The field's hash seeds the value's, so that equal values of two fields
  // set different bits.
  Signature(std::string_view field, std::string_view value, uint64_t seed) {
    const uint64_t hash = filter::HashKey(value, filter::HashKey(field, seed));
    // Two numbers below 80 and below 79, by multiplication; the second passes over the first, so
    // that the two bits differ.
    const uint64_t first = ((hash & 0xffffffff) * kBits) >> 32;
    const uint64_t second = ((hash >> 32) * (kBits - 1)) >> 32;
    Set(first);
    Set(second >= first ? second + 1 : second);
  }

  void Add(const Signature& other) {
    low_ |= other.low_;
    high_ |= other.high_;
  }
  // False: not all values of `other` are of this group.
  bool MayContain(const Signature& other) const {
    return (low_ & other.low_) == other.low_ && (high_ & other.high_) == other.high_;
  }
  bool is_empty() const { return low_ == 0 && high_ == 0; }

  // Ten bytes, bit 0 of the first of them first.
  void AppendTo(std::string* out) const {
    PutFixed64(out, low_);
    out->push_back(static_cast<char>(high_ & 0xff));
    out->push_back(static_cast<char>(high_ >> 8));
  }
  static Signature Decode(const char* bytes) {
    Signature signature;
    signature.low_ = DecodeFixed64(bytes);
    signature.high_ = DecodeFixed16(bytes + sizeof(uint64_t));
    return signature;
  }

  friend bool operator==(const Signature&, const Signature&) = default;

 private:
  void Set(uint64_t bit) {
    if (bit < 64) {
      low_ |= uint64_t{1} << bit;
    } else {
      high_ = static_cast<uint16_t>(high_ | 1 << (bit - 64));
    }
  }

  uint64_t low_ = 0;
  uint16_t high_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SIGNATURE_H_
