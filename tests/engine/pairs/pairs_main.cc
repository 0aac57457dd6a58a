// The program behind `tools/dev pairs`.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include "tests/engine/pairs/pairs.h"
#include "tests/support/campaign_options.h"

namespace winnow::pairs {
namespace {

struct Settings {
  uint64_t seed = 1;
  uint64_t seeds = 10;
  uint64_t calls = 30;
  std::string pair;  // "put,close"; empty: all
};

bool Parse(int argc, char** argv, Settings* settings) {
  const std::pair<std::string_view, uint64_t*> numbers[] = {
      {"--seed=", &settings->seed}, {"--seeds=", &settings->seeds}, {"--calls=", &settings->calls}};
  for (int i = 1; i < argc; i++) {
    const std::string_view argument = argv[i];
    bool known = argument.starts_with("--pair=");
    if (known) settings->pair = argument.substr(7);
    for (const auto& [prefix, number] : numbers) {
      if (!argument.starts_with(prefix)) continue;
      const char* const end = argument.data() + argument.size();
      const auto parsed = std::from_chars(argument.data() + prefix.size(), end, *number);
      known = parsed.ec == std::errc() && parsed.ptr == end;
    }
    if (!known) return false;
  }
  return true;
}

bool IsWanted(const Settings& settings, size_t first, size_t second) {
  const std::string one = CallNames()[first] + "," + CallNames()[second];
  const std::string other = CallNames()[second] + "," + CallNames()[first];
  return settings.pair.empty() || settings.pair == one || settings.pair == other;
}

int Run(const Settings& settings) {
  const size_t num_calls = CallNames().size();
  Progress progress("pairs", settings.seeds * num_calls * (num_calls + 1) / 2);
  uint64_t done = 0;
  uint64_t runs = 0;
  uint64_t failed = 0;
  for (uint64_t seed = settings.seed; seed < settings.seed + settings.seeds; seed++) {
    for (size_t first = 0; first < num_calls; first++) {
      for (size_t second = first; second < num_calls; second++) {
        progress.Show(done++);
        if (!IsWanted(settings, first, second)) continue;
        const PairRun run{first, second, seed, 2 + static_cast<int>(seed % 4) * 2,
                          static_cast<int>(settings.calls)};
        const std::string wrong = RunPair(run);
        runs++;
        if (wrong.empty()) continue;
        failed++;
        std::printf("%s:\n%s  again: --pair=%s,%s --seed=%llu --seeds=1\n", Describe(run).c_str(),
                    wrong.c_str(), CallNames()[first].c_str(), CallNames()[second].c_str(),
                    static_cast<unsigned long long>(seed));
      }
    }
  }
  std::printf("%llu runs of pairs, %llu failed\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(failed));
  return runs > 0 && failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace winnow::pairs

int main(int argc, char** argv) {
  winnow::pairs::Settings settings;
  if (!winnow::pairs::Parse(argc, argv, &settings)) {
    std::fprintf(stderr, "usage: pairs [--seed=S] [--seeds=N] [--calls=N] [--pair=CALL,CALL]\n");
    return 2;
  }
  return winnow::pairs::Run(settings);
}
