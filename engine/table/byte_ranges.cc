#include "engine/table/byte_ranges.h"

#include <algorithm>
#include <utility>

namespace winnow {

namespace {

// The next greater string.
std::string Behind(std::string_view bytes) {
  std::string next(bytes);
  next.push_back('\0');
  return next;
}

}  // namespace

std::string BehindPrefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(end.back() + 1);
  return end;
}

ByteRanges ByteRanges::Normalized(std::vector<Range> ranges) {
  ByteRanges normalized;
  std::vector<Range>& apart = normalized.ranges_;
  std::erase_if(ranges, [](const Range& range) { return !range.EndsBehind(range.lower); });
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.lower < b.lower; });
  for (Range& range : ranges) {
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

ByteRanges ByteRanges::Union(const ByteRanges& other) const {
  std::vector<Range> all = ranges_;
  all.insert(all.end(), other.ranges_.begin(), other.ranges_.end());
  return Normalized(std::move(all));
}

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

const ByteRanges::Range* ByteRanges::FirstEndingBehind(std::string_view bytes) const {
  const auto at = std::partition_point(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    return !range.EndsBehind(bytes);
  });
  return at == ranges_.end() ? nullptr : &*at;
}

const ByteRanges::Range* ByteRanges::LastBeginningUpTo(std::string_view bytes) const {
  const auto at = std::partition_point(ranges_.begin(), ranges_.end(),
                                       [&](const Range& range) { return range.lower <= bytes; });
  return at == ranges_.begin() ? nullptr : &*std::prev(at);
}

}  // namespace winnow
