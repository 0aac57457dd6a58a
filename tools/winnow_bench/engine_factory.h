// How an engine's source file makes itself known to engine.cc.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_ENGINE_FACTORY_H_
#define WINNOW_TOOLS_WINNOW_BENCH_ENGINE_FACTORY_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/winnow_bench/engine.h"

namespace winnow::bench {

struct EngineFactory {
  std::string_view name;
  std::string (*title)();
  absl::Status (*destroy)(const std::string& directory);
  absl::StatusOr<std::unique_ptr<Engine>> (*open)(const EngineSettings& settings);
};

// A peer's is defined where its package was found.
extern const EngineFactory kWinnowFactory;
extern const EngineFactory kRocksDbFactory;
extern const EngineFactory kLevelDbFactory;

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_ENGINE_FACTORY_H_
