#include "tools/winnow_bench/engine.h"

#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/winnow_bench/contender.h"
#include "tools/winnow_bench/engine_factory.h"

namespace winnow::bench {
namespace {

std::vector<const EngineFactory*> Factories() {
  return {
      &kWinnowFactory,
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

absl::StatusOr<double> PeerBloomBits(std::string_view engine, std::string_view spec) {
  if (spec == "none") return 0;
  const size_t colon = spec.find(':');
  std::string_view kind = spec.substr(0, colon);
  const std::string_view amount =
      colon == std::string_view::npos ? std::string_view("10") : spec.substr(colon + 1);
  if (kind.size() > engine.size() && kind.starts_with(engine) && kind[engine.size()] == '.') {
    kind.remove_prefix(engine.size() + 1);
  }
  double bits = 0;
  if ((kind == "bloom" || kind == "blocked_bloom") &&
      absl::SimpleAtod(absl::string_view(amount.data(), amount.size()), &bits) && bits >= 1 &&
      bits <= 100) {
    return bits;
  }
  const absl::string_view peer(engine.data(), engine.size());
  return absl::InvalidArgumentError(absl::StrCat(
      peer, " has no filter \"", absl::string_view(spec.data(), spec.size()),
      "\"; give it its own beside Winnow's, such as --filter=cuckoo:12,", peer, ".bloom:12"));
}

}  // namespace winnow::bench
