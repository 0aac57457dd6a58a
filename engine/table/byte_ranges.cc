#include "engine/table/byte_ranges.h"

#include <algorithm>
#include <utility>

namespace winnow {

namespace {

// The next greater string.
// In bytewise order nothing lies between a string and itself with a 00 behind.
std::string Behind(std::string_view bytes) {
  std::string next(bytes);
  next.push_back('\0');
  return next;
}

}  // namespace

std::string BehindPrefix(std::string_view prefix) {
  std::string end(prefix);
  // A byte FF cannot be raised: it goes, and the byte in front of it is raised instead. Behind a
  // prefix of FF alone there is nothing.
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(end.back() + 1);
  return end;
}

// Sorted by where they begin, each range either goes on with the last one that was kept or opens a
// new one. So both ends of those that are kept ascend, on which the binary searches below rest.
ByteRanges ByteRanges::Normalized(std::vector<Range> ranges) {
  ByteRanges normalized;
  std::vector<Range>& apart = normalized.ranges_;
  std::erase_if(ranges, [](const Range& range) { return !range.EndsBehind(range.lower); });
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.lower < b.lower; });
  for (Range& range : ranges) {
    // Touching ranges become one: an upper bound is exclusive, so that nothing lies between it and
    // an equal lower one. Behind an open range nothing begins, and what its `upper` holds means
    // nothing.
    if (apart.empty() || !(apart.back().is_open || range.lower <= apart.back().upper)) {
      apart.push_back(std::move(range));
      continue;
    }
    Range& last = apart.back();
    last.is_open = last.is_open || range.is_open;
    if (last.upper < range.upper) last.upper = std::move(range.upper);
  }
  return normalized;
}

ByteRanges ByteRanges::WithPrefix(std::string_view prefix) {
  Range range{.lower = std::string(prefix), .upper = BehindPrefix(prefix)};
  range.is_open = range.upper.empty();
  return Normalized({std::move(range)});
}

ByteRanges ByteRanges::Of(std::string_view bytes) {
  return Normalized({{.lower = std::string(bytes), .upper = Behind(bytes)}});
}

ByteRanges ByteRanges::From(std::string_view lower, bool includes) {
  return Normalized({{.lower = includes ? std::string(lower) : Behind(lower), .is_open = true}});
}

ByteRanges ByteRanges::UpTo(std::string_view upper, bool includes) {
  return Normalized({{.upper = includes ? Behind(upper) : std::string(upper)}});
}

// O(n log n) for n ranges of all sets, while a Union for each set sorts all of those before again.
ByteRanges ByteRanges::UnionOf(const std::vector<ByteRanges>& sets) {
  std::vector<Range> all;
  for (const ByteRanges& set : sets) all.insert(all.end(), set.ranges_.begin(), set.ranges_.end());
  return Normalized(std::move(all));
}

ByteRanges ByteRanges::Union(const ByteRanges& other) const {
  std::vector<Range> all = ranges_;
  all.insert(all.end(), other.ranges_.begin(), other.ranges_.end());
  return Normalized(std::move(all));
}

// A merge of two ascending lists, O(a + b). The ranges at hand have in common what lies from the
// greater of their beginnings to the first of their ends; the one that ends first is done, and the
// other may reach into the range behind it. Where they do not meet, that is an inverted range,
// which Normalized drops.
ByteRanges ByteRanges::Intersection(const ByteRanges& other) const {
  std::vector<Range> common;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    Range range{.lower = std::max(a->lower, b->lower)};
    const bool a_ends_first = !a->is_open && (b->is_open || a->upper < b->upper);
    const Range& first = a_ends_first ? *a : *b;
    range.upper = first.upper;
    range.is_open = first.is_open;
    common.push_back(std::move(range));
    a_ends_first ? ++a : ++b;
  }
  return Normalized(std::move(common));
}

// O(log n), as is the next: a scan asks for each row.
const ByteRanges::Range* ByteRanges::FirstEndingBehind(std::string_view bytes) const {
  const auto at = std::partition_point(
      ranges_.begin(), ranges_.end(), [&](const Range& range) { return !range.EndsBehind(bytes); });
  return at == ranges_.end() ? nullptr : &*at;
}

const ByteRanges::Range* ByteRanges::LastBeginningUpTo(std::string_view bytes) const {
  const auto at = std::partition_point(ranges_.begin(), ranges_.end(),
                                       [&](const Range& range) { return range.lower <= bytes; });
  return at == ranges_.begin() ? nullptr : &*std::prev(at);
}

}  // namespace winnow
