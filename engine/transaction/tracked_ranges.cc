#include "engine/transaction/tracked_ranges.h"

#include <iterator>

namespace winnow {

// The gaps between the pieces that are there become pieces: in a map of their own first, so that
// from there on nothing can fail.
void TrackedRanges::Add(std::string_view begin, std::string_view end,
                        SequenceNumber unchanged_since) {
  Pieces added(pieces_.key_comp());
  std::string_view gap = begin;
  for (auto at = FirstBehind(begin); at != pieces_.end() && IsLess(at->first, end); ++at) {
    // What is there keeps its older number, which is the stricter one.
    if (IsLess(gap, at->first)) {
      added.emplace(std::string(gap), Piece{at->first, unchanged_since});
    }
    gap = at->second.end;
  }
  if (IsLess(gap, end)) added.emplace(std::string(gap), Piece{std::string(end), unchanged_since});
  pieces_.merge(added);
}

TrackedRanges::Pieces::const_iterator TrackedRanges::FirstBehind(std::string_view key) const {
  // Pieces do not overlap: of those that begin at the key or before it, the last one alone may
  // reach over it.
  auto at = pieces_.upper_bound(key);
  if (at == pieces_.begin()) return at;
  const auto before = std::prev(at);
  return IsLess(key, before->second.end) ? before : at;
}

bool TrackedRanges::Contain(std::string_view key) const {
  const auto at = FirstBehind(key);
  return at != pieces_.end() && !IsLess(key, at->first);
}

const TrackedRanges::Pieces::value_type* TrackedRanges::FindAnyOf(std::string_view begin,
                                                                  std::string_view end) const {
  if (!IsLess(begin, end)) return nullptr;
  const auto at = FirstBehind(begin);
  return at != pieces_.end() && IsLess(at->first, end) ? &*at : nullptr;
}

}  // namespace winnow
