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

// Where a write is safe before its tree is on disk.
enum class WritePath {
  kLog,
  kCopyOnWrite,  // no log: changed pages are copied, and a new root makes them count
};

struct EngineFactory {
  std::string_view name;
  WritePath write_path;
  std::string (*title)();
  absl::Status (*destroy)(const std::string& directory);
  absl::StatusOr<std::unique_ptr<Engine>> (*open)(const EngineSettings& settings);
};

// A peer's is defined where its package was found.
extern const EngineFactory kWinnowFactory;
extern const EngineFactory kWinnowMappedFactory;
extern const EngineFactory kWinnowLevelDbFactory;
// Is its module there?
bool HasLevelDbFace();
extern const EngineFactory kRocksDbFactory;
extern const EngineFactory kRocksDbTunedFactory;
extern const EngineFactory kLevelDbFactory;
extern const EngineFactory kLmdbFactory;
extern const EngineFactory kWiredTigerFactory;

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_ENGINE_FACTORY_H_
