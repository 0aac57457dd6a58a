// Sets of byte strings as ranges of their order: the rows, or the columns, that a filter may show.
#ifndef WINNOW_ENGINE_TABLE_BYTE_RANGES_H_
#define WINNOW_ENGINE_TABLE_BYTE_RANGES_H_

#include <string>
#include <string_view>
#include <vector>

namespace winnow {

class ByteRanges {
 public:
  struct Range {
    std::string lower = {};  // from this on
    std::string upper = {};  // to before this
    bool is_open = false;    // there is no upper bound

    bool Has(std::string_view bytes) const { return bytes >= lower && EndsBehind(bytes); }
    bool EndsBehind(std::string_view bytes) const { return is_open || bytes < upper; }
  };

  static ByteRanges All() { return Normalized({{.is_open = true}}); }
  static ByteRanges None() { return ByteRanges(); }
  static ByteRanges WithPrefix(std::string_view prefix);
  static ByteRanges Of(std::string_view bytes);
  static ByteRanges From(std::string_view lower, bool includes);
  static ByteRanges UpTo(std::string_view upper, bool includes);

  static ByteRanges UnionOf(const std::vector<ByteRanges>& sets);

  ByteRanges Union(const ByteRanges& other) const;
  ByteRanges Intersection(const ByteRanges& other) const;

  // Ascending, apart from each other, none of them empty.
  const std::vector<Range>& ranges() const { return ranges_; }
  bool is_all() const {
    return ranges_.size() == 1 && ranges_.front().is_open && ranges_.front().lower.empty();
  }
  // The first range that ends behind `bytes`; null: there is none.
  const Range* FirstEndingBehind(std::string_view bytes) const;
  // The last range that begins at or before `bytes`; null: there is none.
  const Range* LastBeginningUpTo(std::string_view bytes) const;

 private:
  // In any order; overlapping, touching and empty ones too.
  static ByteRanges Normalized(std::vector<Range> ranges);

  std::vector<Range> ranges_;
};

// The smallest string above all that begin with `prefix`; empty: there is none.
std::string BehindPrefix(std::string_view prefix);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_BYTE_RANGES_H_
