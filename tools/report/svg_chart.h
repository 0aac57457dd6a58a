// Plots as SVG text, to stand inside an HTML page; SvgFile makes a file of one.
#ifndef WINNOW_TOOLS_REPORT_SVG_CHART_H_
#define WINNOW_TOOLS_REPORT_SVG_CHART_H_

#include <span>
#include <string>
#include <string_view>

namespace winnow::report {

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
  double y = 0;             // above zero: the scale is logarithmic
  double radius = 5;        // of the dot, in pixels
  std::string colour = "";  // of the dot; empty: one of its own
};

// A straight line, dashed, with a label at its first end.
struct Line {
  std::string label;
  double x1 = 0;
  double y1 = 0;  // above zero, both
  double x2 = 0;
  double y2 = 0;
};

// Labelled points; x from zero, y logarithmic in decades. All lines and points fit into the plot.
std::string ScatterPlot(std::string_view title, std::string_view x_title, std::string_view y_title,
                        std::span<const Point> points, std::span<const Line> lines = {});

// One of the plots above as the contents of a file of its own.
std::string SvgFile(std::string_view plot);

}  // namespace winnow::report

#endif  // WINNOW_TOOLS_REPORT_SVG_CHART_H_
