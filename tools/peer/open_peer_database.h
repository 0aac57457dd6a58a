// Opening a database of RocksDB's, whichever way its release gives the database back: RocksDB 11
// stores it in a unique_ptr, releases up to 9.10 in a pointer that the caller then owns, those
// between in either.
#ifndef WINNOW_TOOLS_PEER_OPEN_PEER_DATABASE_H_
#define WINNOW_TOOLS_PEER_OPEN_PEER_DATABASE_H_

#include <memory>

namespace winnow {

// Calls `open` with where the database goes, a std::unique_ptr<Database>* if it takes that and a
// Database** otherwise, and returns what it returned. So that it can be asked which it takes,
// `open` names its result:
//
//   OpenPeerDatabase(&db, [&](auto* opened) -> decltype(rocksdb::DB::Open(options, path, opened)) {
//     return rocksdb::DB::Open(options, path, opened);
//   });
template <typename Database, typename Open>
auto OpenPeerDatabase(std::unique_ptr<Database>* database, const Open& open) {
  if constexpr (requires { open(database); }) {
    return open(database);
  } else {
    Database* opened = nullptr;
    auto status = open(&opened);
    database->reset(opened);
    return status;
  }
}

}  // namespace winnow

#endif  // WINNOW_TOOLS_PEER_OPEN_PEER_DATABASE_H_
