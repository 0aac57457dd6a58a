#include "tools/winnow/peer.h"

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/version/foreign_database.h"
#include "tools/winnow/database.h"

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

absl::Status CheckPeerDatabase(const Peer& peer, const std::string& path) {
  FileSystem& files = *FileSystemAsTyped();
  WINNOW_ASSIGN_OR_RETURN(const bool exists, files.Exists(path));
  if (!exists) return absl::NotFoundError("there is no such directory");
  WINNOW_ASSIGN_OR_RETURN(const bool is_directory, files.IsDirectory(path));
  if (!is_directory) return absl::FailedPreconditionError("it is a file, not a directory");
  const DatabaseMaker wanted =
      peer.name == "leveldb" ? DatabaseMaker::kLevelDb : DatabaseMaker::kRocksDb;
  const DatabaseMaker found = MakerOfDatabase(files, path);
  if (found == wanted) return absl::OkStatus();
  switch (found) {
    case DatabaseMaker::kNone:
      return absl::NotFoundError(
          absl::StrCat("there is no ", ToAbsl(MakerName(wanted)), " database in it"));
    case DatabaseMaker::kWinnow:
      return absl::FailedPreconditionError(
          "it holds a Winnow database, which needs no import: `winnow backup` copies it");
    case DatabaseMaker::kLevelDb:
      return absl::FailedPreconditionError("it holds a LevelDB database: --from=leveldb");
    case DatabaseMaker::kRocksDb:
      return absl::FailedPreconditionError("it holds a RocksDB database: --from=rocksdb");
  }
  return absl::OkStatus();
}

}  // namespace winnow::cli
