#include "tools/report/svg_chart.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace winnow::report {
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

// Fonts are attributes, so that a plot looks the same without a page's style.
std::string Begin(std::string_view title, double height) {
  return absl::StrFormat(
      "<svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
      "role=\"img\" font-family=\"sans-serif\" font-size=\"12\" style=\"background:#fff\">\n"
      "<text x=\"0\" y=\"16\" font-size=\"14\" font-weight=\"bold\">%s</text>\n",
      kWidth, height, kWidth, EscapeMarkup(title));
}

void AddText(double x, double y, std::string_view anchor, std::string_view text, std::string* svg) {
  absl::StrAppendFormat(svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y,
                        std::string(anchor), EscapeMarkup(text));
}

// `attributes` of the element, besides where it ends: stroke="…".
void AddLine(double x1, double y1, double x2, double y2, std::string_view attributes,
             std::string* svg) {
  absl::StrAppendFormat(svg, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1,
                        x2, y2, std::string(attributes));
}

// Where a plot's values lie.
struct Scale {
  double max_x = 0;
  double first_decade = 0;
  double last_decade = 0;

  static constexpr double kHeight = 380;
  static constexpr double kLeft = 70;
  static constexpr double kRight = kWidth - 200;  // labels stand to the right of points
  static constexpr double kTop = kTitleHeight + 20;
  static constexpr double kBottom = kHeight - 40;

  double X(double x) const { return kLeft + x / (max_x * 1.1) * (kRight - kLeft); }
  double Y(double y) const {
    return kBottom -
           (std::log10(y) - first_decade) / (last_decade - first_decade) * (kBottom - kTop);
  }
};

// The scale that everything fits into; none if there is nothing to show.
std::optional<Scale> ScaleFor(std::span<const Point> points, std::span<const Line> lines) {
  Scale scale;
  double min_y = 1;
  double max_y = 0;
  const auto include = [&](double x, double y) {
    if (y <= 0) return;
    scale.max_x = std::max(scale.max_x, x);
    min_y = std::min(min_y, y);
    max_y = std::max(max_y, y);
  };
  for (const Point& point : points) include(point.x, point.y);
  for (const Line& line : lines) {
    include(line.x1, line.y1);
    include(line.x2, line.y2);
  }
  if (scale.max_x <= 0 || max_y <= 0) return std::nullopt;
  scale.first_decade = std::floor(std::log10(min_y));
  scale.last_decade = std::max(scale.first_decade + 1, std::ceil(std::log10(max_y)));
  return scale;
}

void AddAxes(const Scale& scale, std::string_view x_title, std::string_view y_title,
             std::string* svg) {
  for (double decade = scale.first_decade; decade <= scale.last_decade; ++decade) {
    const double y = scale.Y(std::pow(10, decade));
    AddLine(Scale::kLeft, y, Scale::kRight, y, "stroke=\"#dddddd\"", svg);
    AddText(Scale::kLeft - 6, y + 4, "end", absl::StrFormat("%g", std::pow(10, decade)), svg);
  }
  for (int tick = 0; tick <= 5; ++tick) {
    const double value = scale.max_x * tick / 5;
    AddText(scale.X(value), Scale::kBottom + 16, "middle", absl::StrFormat("%.3g", value), svg);
  }
  AddText((Scale::kLeft + Scale::kRight) / 2, Scale::kHeight - 4, "middle", x_title, svg);
  AddText(0, Scale::kTop - 8, "start", y_title, svg);
}

}  // namespace

std::string EscapeMarkup(std::string_view text) {
  return absl::StrReplaceAll(absl::string_view(text.data(), text.size()),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string SvgFile(std::string_view plot) {
  constexpr std::string_view kElement = "<svg";
  return std::string(kElement)
      .append(" xmlns=\"http://www.w3.org/2000/svg\"")
      .append(plot.substr(kElement.size()));
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
    AddLine(kLabelWidth + bar.low * scale, middle, kLabelWidth + bar.high * scale, middle,
            "stroke=\"black\"", &svg);
    AddText(kLabelWidth + std::max(bar.value, bar.high) * scale + 6, middle + 4, "start",
            absl::StrFormat("%.4g", bar.value), &svg);
  }
  return svg + "</svg>\n";
}

std::string ScatterPlot(std::string_view title, std::string_view x_title, std::string_view y_title,
                        std::span<const Point> points, std::span<const Line> lines) {
  std::string svg = Begin(title, Scale::kHeight);
  const std::optional<Scale> scale = ScaleFor(points, lines);
  if (!scale.has_value()) return svg + "</svg>\n";
  AddAxes(*scale, x_title, y_title, &svg);
  for (const Line& line : lines) {
    const double x = scale->X(line.x1);
    const double y = scale->Y(line.y1);
    AddLine(x, y, scale->X(line.x2), scale->Y(line.y2), "stroke=\"gray\" stroke-dasharray=\"4\"",
            &svg);
    AddText(x + 8, y + 4, "start", line.label, &svg);
  }
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].y <= 0) continue;
    const double x = scale->X(points[i].x);
    const double y = scale->Y(points[i].y);
    absl::StrAppendFormat(
        &svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" fill-opacity=\"0.7\"/>\n", x,
        y, points[i].radius, points[i].colour.empty() ? Colour(i) : points[i].colour);
    AddText(x + points[i].radius + 3, y + 4, "start", points[i].label, &svg);
  }
  return svg + "</svg>\n";
}

}  // namespace winnow::report
