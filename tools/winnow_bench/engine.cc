#include "tools/winnow_bench/engine.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "tools/winnow_bench/contender.h"
#include "tools/winnow_bench/engine_factory.h"

namespace winnow::bench {
namespace {

std::vector<const EngineFactory*> Factories() {
  std::vector<const EngineFactory*> factories = {
      &kWinnowFactory,     &kWinnowMappedFactory,
#ifdef WINNOW_BENCH_ROCKSDB
      &kRocksDbFactory,    &kRocksDbTunedFactory,
#endif
#ifdef WINNOW_BENCH_LEVELDB
      &kLevelDbFactory,
#endif
#ifdef WINNOW_BENCH_LMDB
      &kLmdbFactory,
#endif
#ifdef WINNOW_BENCH_WIREDTIGER
      &kWiredTigerFactory,
#endif
  };
  if (HasLevelDbFace()) factories.push_back(&kWinnowLevelDbFactory);
  return factories;
}

constexpr std::array<KnownPeer, 5> kPeers = {{
    {"rocksdb", "RocksDB", "librocksdb-dev"},
    {"rocksdb_tuned", "RocksDB", "librocksdb-dev"},
    {"leveldb", "LevelDB", "libleveldb-dev"},
    {"lmdb", "LMDB", "liblmdb-dev"},
    {"wiredtiger", "WiredTiger", "libwiredtiger-dev"},
}};

absl::StatusOr<const EngineFactory*> FindFactory(std::string_view name) {
  for (const EngineFactory* factory : Factories()) {
    if (factory->name == EngineOf(name)) return factory;
  }
  return absl::NotFoundError(absl::StrCat("engine \"", absl::string_view(name.data(), name.size()),
                                          "\" is not in this build"));
}

}  // namespace

std::vector<std::string_view> CompiledEngines() {
  std::vector<std::string_view> names;
  for (const EngineFactory* factory : Factories()) names.push_back(factory->name);
  return names;
}

const KnownPeer* FindPeer(std::string_view name) {
  for (const KnownPeer& peer : kPeers) {
    if (peer.name == name) return &peer;
  }
  return nullptr;
}

std::string Durability(std::string_view name, const SessionSettings& settings) {
  const absl::StatusOr<const EngineFactory*> factory = FindFactory(name);
  if (!factory.ok()) return "";
  const char* const synced = settings.sync ? "synced" : "unsynced";
  if ((*factory)->write_path == WritePath::kCopyOnWrite) {
    return absl::StrCat("copy on write, ", synced);
  }
  return settings.disable_wal ? "no log" : absl::StrCat("log, ", synced);
}

std::string EngineTitle(std::string_view name) {
  const absl::StatusOr<const EngineFactory*> factory = FindFactory(name);
  return factory.ok() ? (*factory)->title() : std::string(name);
}

absl::Status DestroyDatabase(std::string_view name, const std::string& directory) {
  const absl::StatusOr<const EngineFactory*> factory = FindFactory(name);
  return factory.ok() ? (*factory)->destroy(directory) : factory.status();
}

absl::StatusOr<std::unique_ptr<Engine>> OpenEngine(std::string_view name,
                                                   const EngineSettings& settings) {
  const absl::StatusOr<const EngineFactory*> factory = FindFactory(name);
  if (!factory.ok()) return factory.status();
  return (*factory)->open(settings);
}

}  // namespace winnow::bench
