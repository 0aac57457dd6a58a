#include "tools/winnow_bench/contender.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/winnow_bench/flags.h"
#include "winnow/filter/spec.h"

namespace winnow::bench {
namespace {

constexpr std::string_view kRocksDb = "rocksdb";
constexpr std::string_view kTunedRocksDb = "rocksdb_tuned";
constexpr std::string_view kWinnow = "winnow";
constexpr std::string_view kMappedWinnow = "winnow_mapped";

}  // namespace

std::string_view EngineOf(std::string_view contender) {
  return contender.substr(0, contender.find('@'));
}

std::string_view StoreOf(std::string_view contender) {
  const std::string_view engine = EngineOf(contender);
  if (engine == kTunedRocksDb) return kRocksDb;
  return engine == kMappedWinnow ? kWinnow : engine;
}

std::optional<std::string_view> FilterOf(std::string_view contender) {
  const size_t at = contender.find('@');
  if (at == std::string_view::npos) return std::nullopt;
  return contender.substr(at + 1);
}

std::string ExpandContenders(std::string_view list) {
  std::vector<std::string> expanded;
  for (const std::string& contender : SplitNames(list)) {
    const std::optional<std::string_view> filter = FilterOf(contender);
    if (!filter || !filter->starts_with("*:")) {
      expanded.push_back(contender);
      continue;
    }
    for (const std::string& kind : filter::SpecKindNames()) {
      const std::string spec = kind + std::string(filter->substr(1));
      if (!filter::ParseFilterSpec(spec).ok()) continue;
      expanded.push_back(std::string(EngineOf(contender)) + "@" + spec);
    }
  }
  return absl::StrJoin(expanded, ",");
}

std::string AddTunedContenders(std::string_view list) {
  const std::vector<std::string> contenders = SplitNames(list);
  std::vector<std::string> all;
  for (const std::string& contender : contenders) {
    all.push_back(contender);
    if (EngineOf(contender) != kRocksDb) continue;
    std::string tuned = std::string(kTunedRocksDb) + contender.substr(kRocksDb.size());
    if (std::find(contenders.begin(), contenders.end(), tuned) == contenders.end()) {
      all.push_back(std::move(tuned));
    }
  }
  return absl::StrJoin(all, ",");
}

std::string FolderOf(std::string_view contender) {
  return absl::StrReplaceAll({contender.data(), contender.size()},
                             {{":", "_"}, {"%", "percent"}, {"/", "_"}});
}

}  // namespace winnow::bench
