// What the filter benchmark found, as an aligned table, as JSON and as a plot.

#ifndef WINNOW_BENCH_FILTER_RESULT_TABLE_H_
#define WINNOW_BENCH_FILTER_RESULT_TABLE_H_

#include <string>
#include <vector>

namespace winnow::bench {

struct ResultRow {
  std::string filter;
  std::string place;
  double bits_per_key = 0;
  double fpr = 0;
  // Nanoseconds for each key, hashing it included; medians; 0: not measured.
  double build = 0;
  double absent = 0;
  double half = 0;
  double present = 0;
  double batch_absent = 0;
  double batch_half = 0;
  double batch_present = 0;

  // Bits per key over log2(1 / fpr), the least that a filter of this rate can take.
  double SpaceOverBound() const;
};

// Times in nanoseconds a key; batches are of 32.
std::string ToTable(const std::vector<ResultRow>& rows);
std::string ToJson(const std::vector<ResultRow>& rows);
// A self-contained SVG of the rows of one place: bits per key to the right, the rate upwards on a
// logarithmic scale, the area of a dot the time of an absent key's query; and the least bits that a
// filter of a rate can take.
std::string ToSvg(const std::vector<ResultRow>& rows, const std::string& place);

}  // namespace winnow::bench

#endif  // WINNOW_BENCH_FILTER_RESULT_TABLE_H_
