#include "tools/winnow_bench/svg_chart.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace winnow::bench {
namespace {

constexpr double kWidth = 760;
constexpr double kLabelWidth = 230;
constexpr double kValueWidth = 110;
constexpr double kBarHeight = 18;
constexpr double kBarStep = 24;
constexpr double kTitleHeight = 28;
constexpr const char* kColours[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                    "#66ccee", "#aa3377", "#888888", "#222255"};

const char* Colour(size_t index) { return kColours[index % std::size(kColours)]; }

std::string Begin(std::string_view title, double height) {
  return absl::StrFormat(
      "<svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" role=\"img\">\n"
      "<text x=\"0\" y=\"16\" class=\"title\">%s</text>\n",
      kWidth, height, kWidth, EscapeMarkup(title));
}

void AddText(double x, double y, std::string_view anchor, std::string_view text, std::string* svg) {
  absl::StrAppendFormat(svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y,
                        std::string(anchor), EscapeMarkup(text));
}

void AddLine(double x1, double y1, double x2, double y2, std::string_view colour,
             std::string* svg) {
  absl::StrAppendFormat(svg,
                        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
                        x1, y1, x2, y2, std::string(colour));
}

}  // namespace

std::string EscapeMarkup(std::string_view text) {
  return absl::StrReplaceAll(absl::string_view(text.data(), text.size()),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string BarChart(std::string_view title, std::span<const Bar> bars) {
  double most = 0;
  for (const Bar& bar : bars) most = std::max({most, bar.value, bar.high});
  const double scale = most > 0 ? (kWidth - kLabelWidth - kValueWidth) / most : 0;
  std::string svg = Begin(title, kTitleHeight + kBarStep * static_cast<double>(bars.size()));
  double y = kTitleHeight;
  for (size_t i = 0; i < bars.size(); ++i, y += kBarStep) {
    const Bar& bar = bars[i];
    const double middle = y + kBarHeight / 2;
    AddText(kLabelWidth - 8, middle + 4, "end", bar.label, &svg);
    absl::StrAppendFormat(
        &svg, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
        kLabelWidth, y, bar.value * scale, kBarHeight, Colour(i));
    AddLine(kLabelWidth + bar.low * scale, middle, kLabelWidth + bar.high * scale, middle, "black",
            &svg);
    AddText(kLabelWidth + std::max(bar.value, bar.high) * scale + 6, middle + 4, "start",
            absl::StrFormat("%.4g", bar.value), &svg);
  }
  return svg + "</svg>\n";
}

std::string ScatterPlot(std::string_view title, std::string_view x_title, std::string_view y_title,
                        std::span<const Point> points) {
  constexpr double kHeight = 380;
  constexpr double kLeft = 70;
  constexpr double kRight = kWidth - 200;  // labels stand to the right of points
  constexpr double kTop = kTitleHeight + 20;
  constexpr double kBottom = kHeight - 40;
  double max_x = 0;
  double min_y = 1;
  double max_y = 0;
  for (const Point& point : points) {
    if (point.y <= 0) continue;
    max_x = std::max(max_x, point.x);
    min_y = std::min(min_y, point.y);
    max_y = std::max(max_y, point.y);
  }
  std::string svg = Begin(title, kHeight);
  if (max_x <= 0 || max_y <= 0) return svg + "</svg>\n";
  const double first_decade = std::floor(std::log10(min_y));
  const double last_decade = std::max(first_decade + 1, std::ceil(std::log10(max_y)));
  const auto x_of = [&](double x) { return kLeft + x / (max_x * 1.1) * (kRight - kLeft); };
  const auto y_of = [&](double y) {
    return kBottom -
           (std::log10(y) - first_decade) / (last_decade - first_decade) * (kBottom - kTop);
  };
  for (double decade = first_decade; decade <= last_decade; ++decade) {
    const double y = y_of(std::pow(10, decade));
    AddLine(kLeft, y, kRight, y, "#dddddd", &svg);
    AddText(kLeft - 6, y + 4, "end", absl::StrFormat("%g", std::pow(10, decade)), &svg);
  }
  for (int tick = 0; tick <= 5; ++tick) {
    const double value = max_x * tick / 5;
    AddText(x_of(value), kBottom + 16, "middle", absl::StrFormat("%.3g", value), &svg);
  }
  AddText((kLeft + kRight) / 2, kHeight - 4, "middle", x_title, &svg);
  AddText(0, kTop - 8, "start", y_title, &svg);
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].y <= 0) continue;
    const double x = x_of(points[i].x);
    const double y = y_of(points[i].y);
    absl::StrAppendFormat(&svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\"/>\n", x, y,
                          Colour(i));
    AddText(x + 8, y + 4, "start", points[i].label, &svg);
  }
  return svg + "</svg>\n";
}

}  // namespace winnow::bench
