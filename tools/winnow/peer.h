// Databases of other engines, as import reads and export writes them. Their headers are seen by the
// one source file for each engine, which is compiled where its library was found.
#ifndef WINNOW_TOOLS_WINNOW_PEER_H_
#define WINNOW_TOOLS_WINNOW_PEER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow::cli {

// Walks the pairs of one column family in key order, from the first one. For one thread.
class PeerCursor {
 public:
  virtual ~PeerCursor() = default;
  // False at the end, and at the first pair that cannot be read: status() tells which. What lies
  // behind damage is never shown.
  virtual bool Valid() const = 0;
  virtual void Next() = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  virtual absl::Status status() const = 0;
};

// A database open for reading.
class PeerReader {
 public:
  virtual ~PeerReader() = default;
  // "default" first.
  virtual const std::vector<std::string>& families() const = 0;
  // The reader must outlive the cursor.
  virtual std::unique_ptr<PeerCursor> NewCursor(const std::string& family) = 0;
  // Bytes of the files that hold the family, and of those with keys below `key`; rough.
  virtual uint64_t FileBytes(const std::string& family) = 0;
  virtual uint64_t FileBytesBefore(const std::string& family, std::string_view key) = 0;
};

// A new database. Pairs of a family come in key order.
class PeerWriter {
 public:
  virtual ~PeerWriter() = default;
  virtual absl::Status CreateFamily(const std::string& family) = 0;  // not "default"
  virtual absl::Status Put(const std::string& family, std::string_view key,
                           std::string_view value) = 0;
  // Makes everything durable and closes.
  virtual absl::Status Finish() = 0;
};

struct Peer {
  std::string_view name;  // as in --from=NAME
  bool has_families;
  absl::StatusOr<std::unique_ptr<PeerReader>> (*open)(const std::string& path);
  // AlreadyExists if there is a database.
  absl::StatusOr<std::unique_ptr<PeerWriter>> (*create)(const std::string& path);
  // Removes a database, whole or not, and no other file. Fails while a process has it open.
  absl::Status (*destroy)(const std::string& path);
};

Peer LevelDbPeer();  // peer_leveldb.cc
Peer RocksDbPeer();  // peer_rocksdb.cc

// InvalidArgument lists the names that there are; Unimplemented: built without that library.
absl::StatusOr<Peer> FindPeer(const std::string& name);

// Whether the directory holds a database of this engine, before the engine opens it, which makes
// what is missing and begins another LOG wherever it looks. NotFound: there is none;
// FailedPrecondition: it is another's.
absl::Status CheckPeerDatabase(const Peer& peer, const std::string& path);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_PEER_H_
