#include "tools/report/html_page.h"

#include "absl/strings/str_cat.h"
#include "tools/report/svg_chart.h"

namespace winnow::report {
namespace {

constexpr const char* kStyle =
    "body{font:14px sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222;"
    "background:#fff}table{border-collapse:collapse;margin:1em 0}"
    "td,th{padding:2px 9px;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}"
    "td:nth-child(-n+3),th:nth-child(-n+3){text-align:left}svg{display:block;margin:1.5em 0}";

}  // namespace

std::string HtmlPage(std::string_view title, std::string_view body) {
  const std::string escaped = EscapeMarkup(title);
  return absl::StrCat("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>",
                      escaped, "</title><style>", kStyle, "</style></head><body>\n<h1>", escaped,
                      "</h1>\n", std::string(body), "</body></html>\n");
}

}  // namespace winnow::report
