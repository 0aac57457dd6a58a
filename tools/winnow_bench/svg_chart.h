// Plots as SVG text, to stand inside an HTML page.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_SVG_CHART_H_
#define WINNOW_TOOLS_WINNOW_BENCH_SVG_CHART_H_

#include <span>
#include <string>
#include <string_view>

namespace winnow::bench {

// `text` with the characters replaced that mean something in HTML and SVG.
std::string EscapeMarkup(std::string_view text);

struct Bar {
  std::string label;
  double value = 0;
  double low = 0;  // the range, drawn as a line over the bar's end
  double high = 0;
};

// Horizontal bars from zero, one below the other.
std::string BarChart(std::string_view title, std::span<const Bar> bars);

struct Point {
  std::string label;
  double x = 0;
  double y = 0;  // above zero: the scale is logarithmic
};

// Labelled points; x from zero, y logarithmic in decades.
std::string ScatterPlot(std::string_view title, std::string_view x_title, std::string_view y_title,
                        std::span<const Point> points);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_SVG_CHART_H_
