#include "winnow/comparator.h"

#include <algorithm>

#include "engine/base/internal_key.h"

namespace winnow {

// Always right, if not short: a comparator need not implement them.
void Comparator::FindShortestSeparator(std::string* start, std::string_view limit) const {}
void Comparator::FindShortSuccessor(std::string* key) const {}

namespace {

class Bytewise final : public Comparator {
 public:
  std::string_view Name() const override { return "winnow.bytewise"; }
  int Compare(std::string_view a, std::string_view b) const override { return CompareBytes(a, b); }
  bool EqualKeysHaveEqualBytes() const override { return true; }

  // Shortens `start` to a key k with start <= k < limit, for index entries: between "the quick" and
  // "the who" that is "the r". The first byte that differs is raised by one where that stays below
  // limit's; where the two are adjacent ("the q", "the r") a longer look would be needed for a byte
  // or two, and `start` is left alone.
  void FindShortestSeparator(std::string* start, std::string_view limit) const override {
    const size_t shorter = std::min(start->size(), limit.size());
    size_t shared = 0;
    while (shared < shorter && (*start)[shared] == limit[shared]) shared++;
    if (shared >= shorter) return;  // one is a prefix of the other
    const uint8_t byte = static_cast<uint8_t>((*start)[shared]);
    if (byte < 0xff && byte + 1 < static_cast<uint8_t>(limit[shared])) {
      (*start)[shared] = static_cast<char>(byte + 1);
      start->resize(shared + 1);
    }
  }

  // The same without limit, for the last block of a table. A key of 0xff bytes alone has no short
  // successor.
  void FindShortSuccessor(std::string* key) const override {
    for (size_t i = 0; i < key->size(); i++) {
      const uint8_t byte = static_cast<uint8_t>((*key)[i]);
      if (byte == 0xff) continue;
      (*key)[i] = static_cast<char>(byte + 1);
      key->resize(i + 1);
      return;
    }
  }
};

}  // namespace

const Comparator* BytewiseComparator() {
  static const Bytewise* const instance = new Bytewise;  // never destroyed: used until exit
  return instance;
}

}  // namespace winnow
