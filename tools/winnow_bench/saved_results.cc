#include "tools/winnow_bench/saved_results.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "tools/winnow_bench/flags.h"
#include "tools/winnow_bench/key_space.h"

namespace winnow::bench {
namespace {

absl::StatusOr<SavedRun> ReadSavedRun(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot open ", path));
  // A directory opens, and reading it throws.
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a directory"));
  }
  const nlohmann::json json =
      nlohmann::json::parse(file, /*cb=*/nullptr, /*allow_exceptions=*/false);
  const auto wrong = [&path] {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not what --json has written"));
  };
  if (!json.is_object() || !json.contains("results") || !json["results"].is_array()) return wrong();
  SavedRun run;
  run.title = path;
  try {
    if (json.contains("title")) run.title = json["title"].get<std::string>();
    for (const nlohmann::json& result : json["results"]) {
      run.results.push_back(ResultFromJson(result));
    }
  } catch (const nlohmann::json::exception&) {
    return wrong();
  }
  return run;
}

}  // namespace

std::string RunTitle(const BenchConfig& config) {
  std::string title =
      absl::StrFormat("%d keys of %.0f bytes", config.num, KeySpace(config).MeanKeyBytes());
  if (config.key_shape != BenchConfig().key_shape) {
    absl::StrAppend(&title, " (", config.key_shape, ")");
  }
  absl::StrAppendFormat(&title, ", values of %d bytes, %d thread%s, block cache of %.1f MiB",
                        config.value_size, config.threads, config.threads == 1 ? "" : "s",
                        static_cast<double>(config.cache_size) / kMebibyte);
  if (config.cache_index_and_filter_blocks) title.append(", filters in the block cache");
  if (config.partition_index_and_filters) title.append(", partitioned");
  if (config.optimize_filters_for_hits) title.append(", optimized for hits");
  return title;
}

absl::StatusOr<std::vector<SavedRun>> ReadSavedRuns(std::string_view files) {
  std::vector<SavedRun> runs;
  for (const std::string& path : SplitNames(files)) {
    absl::StatusOr<SavedRun> run = ReadSavedRun(path);
    if (!run.ok()) return run.status();
    runs.push_back(*std::move(run));
  }
  return runs;
}

}  // namespace winnow::bench
