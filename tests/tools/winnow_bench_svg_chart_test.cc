// Plots are well-formed and say what they were given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/report/svg_chart.h"

namespace winnow::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SvgChartTest, MarkupInNamesIsEscaped) {
  const Bar bar = {"a<b>&\"c\"", 1, 1, 1};
  const std::string svg = BarChart("<title>", {&bar, 1});
  EXPECT_THAT(svg, HasSubstr("a&lt;b&gt;&amp;&quot;c&quot;"));
  EXPECT_THAT(svg, Not(HasSubstr("<title>")));
}

TEST(SvgChartTest, TheLongestBarReachesFurthest) {
  const Bar bars[] = {{"short", 1, 0.5, 1.5}, {"long", 4, 3, 8}};
  const std::string svg = BarChart("bars", bars);
  EXPECT_THAT(svg, HasSubstr("width=\"52.5\""));  // 420 for the range's end, 8
  EXPECT_THAT(svg, HasSubstr("width=\"210.0\""));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
}

TEST(SvgChartTest, NothingToDrawIsNoDivisionByZero) {
  const Bar zero = {"zero", 0, 0, 0};
  const Point none = {"none", 0, 0};
  for (const std::string& svg :
       {BarChart("bars", {}), BarChart("bars", {&zero, 1}), ScatterPlot("points", "x", "y", {}),
        ScatterPlot("points", "x", "y", {&none, 1})}) {
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

TEST(SvgChartTest, AFileNamesItsFormatAndAPageNeedsNone) {
  const std::string plot = BarChart("bars", {});
  EXPECT_THAT(plot, Not(HasSubstr("http")));
  EXPECT_THAT(SvgFile(plot), testing::StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
}

TEST(SvgChartTest, LinesAreInsideThePlot) {
  const Point points[] = {{"a", 8, 2}};
  const Line lines[] = {{"the bound", 5, 50, 10, 0.5}};
  const std::string svg = ScatterPlot("points", "bits", "rate", points, lines);
  EXPECT_THAT(svg, HasSubstr("the bound"));
  EXPECT_THAT(svg, HasSubstr(">0.1<"));  // the decades reach around the line
  EXPECT_THAT(svg, HasSubstr(">100<"));
}

TEST(SvgChartTest, ALowerRateStandsLower) {
  const Point points[] = {{"one percent", 10, 1}, {"a tenth", 14, 0.1}};
  const std::string svg = ScatterPlot("points", "bits", "rate", points);
  EXPECT_THAT(svg, HasSubstr("cy=\"48.0\""));   // the top decade
  EXPECT_THAT(svg, HasSubstr("cy=\"340.0\""));  // the bottom one
}

}  // namespace
}  // namespace winnow::report
