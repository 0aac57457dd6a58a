#include "tools/winnow_bench/report_json.h"

#include <string>

#include "nlohmann/json.hpp"
#include "tools/report/report_file.h"
#include "tools/winnow_bench/engine.h"
#include "tools/winnow_bench/flags.h"
#include "tools/winnow_bench/process.h"
#include "tools/winnow_bench/saved_results.h"
#include "tools/winnow_bench/summary.h"

namespace winnow::bench {
namespace {

nlohmann::json MachineJson() {
  const Machine machine = DescribeMachine();
  return {{"cpu", machine.cpu},         {"num_cpus", machine.num_cpus},
          {"kernel", machine.kernel},   {"memory_bytes", machine.memory_bytes},
          {"os", machine.distribution}, {"compiler", machine.compiler}};
}

nlohmann::json ConfigJson(BenchConfig config) {
  nlohmann::json json;
  for (const Flag& flag : FlagsOf(&config)) {
    const std::string name(flag.name);
    if (name == "help") continue;
    std::visit([&](const auto* value) { json[name] = *value; }, flag.target);
  }
  nlohmann::json engines;
  for (const std::string& engine : SplitNames(config.engine)) engines[engine] = EngineTitle(engine);
  json["engines"] = engines;
  return json;
}

}  // namespace

nlohmann::json JsonReport(const BenchConfig& config, std::span<const BenchmarkResult> results) {
  nlohmann::json all = nlohmann::json::array();
  for (const BenchmarkResult& result : results) all.push_back(ToJson(result));
  nlohmann::json ratios = nlohmann::json::array();
  for (const Ratio& ratio : Ratios(Summarize(results))) {
    ratios.push_back({{"benchmark", ratio.benchmark},
                      {"engine", ratio.engine},
                      {"against", ratio.against},
                      {"ratio", ratio.ratio}});
  }
  return {{"tool", "winnow_bench"},   {"title", RunTitle(config)},
          {"machine", MachineJson()}, {"config", ConfigJson(config)},
          {"results", all},           {"ratios", ratios}};
}

absl::Status WriteJsonReport(const BenchConfig& config, std::span<const BenchmarkResult> results) {
  if (config.json.empty()) return absl::OkStatus();
  return report::WriteReportFile(
      config.json,
      JsonReport(config, results).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
          "\n");
}

}  // namespace winnow::bench
