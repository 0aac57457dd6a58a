// The ranges of keys on which a transaction's success depends: those that it deletes.
#ifndef WINNOW_ENGINE_TRANSACTION_TRACKED_RANGES_H_
#define WINNOW_ENGINE_TRANSACTION_TRACKED_RANGES_H_

#include <map>
#include <string>
#include <string_view>

#include "engine/base/internal_key.h"
#include "engine/transaction/user_key_less.h"

namespace winnow {

// Of one column family. In pieces that do not overlap: what two ranges share is relied on since the
// first of them.
class TrackedRanges {
 public:
  struct Piece {
    std::string end;  // exclusive
    // A write of a key of it with a larger number, by anybody else, is a conflict.
    SequenceNumber unchanged_since = 0;
  };
  using Pieces = std::map<std::string, Piece, UserKeyLess>;  // by their beginnings

  explicit TrackedRanges(const InternalKeyComparator& comparator)
      : pieces_(UserKeyLess{comparator}) {}

  // The keys from `begin` to before `end`, which is greater, are relied on since then, but those
  // that were already. Of n calls there are fewer than 2 n pieces. std::bad_alloc: nothing has
  // changed.
  void Add(std::string_view begin, std::string_view end, SequenceNumber unchanged_since);

  bool Contain(std::string_view key) const;
  // Of the pieces that have a key from `begin` to before `end` the first; null: there is none.
  const Pieces::value_type* FindAnyOf(std::string_view begin, std::string_view end) const;
  const Pieces& pieces() const { return pieces_; }

 private:
  bool IsLess(std::string_view a, std::string_view b) const { return pieces_.key_comp()(a, b); }
  // The first piece that does not end before or at the key.
  Pieces::const_iterator FirstBehind(std::string_view key) const;

  Pieces pieces_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TRANSACTION_TRACKED_RANGES_H_
