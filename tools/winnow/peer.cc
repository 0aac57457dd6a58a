#include "tools/winnow/peer.h"

#include "absl/strings/str_cat.h"

namespace winnow::cli {

// An engine whose library was not found has no functions.
#ifndef WINNOW_CLI_LEVELDB
Peer LevelDbPeer() { return {"leveldb", /*has_families=*/false, nullptr, nullptr, nullptr}; }
#endif
#ifndef WINNOW_CLI_ROCKSDB
Peer RocksDbPeer() { return {"rocksdb", /*has_families=*/true, nullptr, nullptr, nullptr}; }
#endif

absl::StatusOr<Peer> FindPeer(const std::string& name) {
  for (const Peer& peer : {LevelDbPeer(), RocksDbPeer()}) {
    if (peer.name != name) continue;
    if (peer.open != nullptr) return peer;
    return absl::UnimplementedError(absl::StrCat("this winnow was built without ", name,
                                                 "; install lib", name, "-dev and build it again"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", name, "' is not an engine that winnow knows: those are leveldb and rocksdb"));
}

}  // namespace winnow::cli
