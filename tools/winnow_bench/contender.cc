#include "tools/winnow_bench/contender.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/winnow_bench/flags.h"
#include "winnow/filter/spec.h"

namespace winnow::bench {

std::string_view EngineOf(std::string_view contender) {
  return contender.substr(0, contender.find('@'));
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

std::string FolderOf(std::string_view contender) {
  return absl::StrReplaceAll({contender.data(), contender.size()},
                             {{":", "_"}, {"%", "percent"}, {"/", "_"}});
}

}  // namespace winnow::bench
