// An HTML page that loads nothing from elsewhere.
#ifndef WINNOW_TOOLS_REPORT_HTML_PAGE_H_
#define WINNOW_TOOLS_REPORT_HTML_PAGE_H_

#include <string>
#include <string_view>

namespace winnow::report {

// `title` is plain text, in the head and as the page's heading; `body` is markup, as are the plots
// of svg_chart.h.
std::string HtmlPage(std::string_view title, std::string_view body);

}  // namespace winnow::report

#endif  // WINNOW_TOOLS_REPORT_HTML_PAGE_H_
