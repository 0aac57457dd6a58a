// The page that --report writes: for each run a table and plots, nothing loaded from elsewhere.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_REPORT_HTML_H_
#define WINNOW_TOOLS_WINNOW_BENCH_REPORT_HTML_H_

#include <span>
#include <string>

#include "absl/status/status.h"
#include "tools/winnow_bench/saved_results.h"

namespace winnow::bench {

std::string HtmlReport(std::span<const SavedRun> runs);

// Writes the page to `path`; does nothing if that is empty.
absl::Status WriteHtmlReport(const std::string& path, std::span<const SavedRun> runs);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_REPORT_HTML_H_
