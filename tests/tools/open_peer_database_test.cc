// The tools open RocksDB's databases by the calls of all its releases.

#include "tools/peer/open_peer_database.h"

#include <gtest/gtest.h>

#include <string>

namespace winnow {
namespace {

// The three forms that rocksdb::DB::Open has had, with what it says and leaves behind.
struct UpTo9_10 {
  static bool Open(const std::string& path, UpTo9_10** opened) {
    if (path.empty()) return false;
    *opened = new UpTo9_10{"raw"};
    return true;
  }
  std::string form;
};

struct From9_11 {
  static bool Open(const std::string&, From9_11**) { return false; }
  static bool Open(const std::string& path, std::unique_ptr<From9_11>* opened) {
    if (path.empty()) return false;
    opened->reset(new From9_11{"owned, of both"});
    return true;
  }
  std::string form;
};

struct From11 {
  static bool Open(const std::string& path, std::unique_ptr<From11>* opened) {
    if (path.empty()) return false;
    opened->reset(new From11{"owned"});
    return true;
  }
  std::string form;
};

template <typename Database>
std::string FormOf(const std::string& path) {
  std::unique_ptr<Database> db;
  const bool ok =
      OpenPeerDatabase(&db, [&](auto* opened) -> decltype(Database::Open(path, opened)) {
        return Database::Open(path, opened);
      });
  EXPECT_EQ(ok, db != nullptr);
  return db == nullptr ? "none" : db->form;
}

TEST(OpenPeerDatabaseTest, TakesWhatTheReleaseGives) {
  EXPECT_EQ(FormOf<UpTo9_10>("path"), "raw");
  EXPECT_EQ(FormOf<From9_11>("path"), "owned, of both");
  EXPECT_EQ(FormOf<From11>("path"), "owned");
}

TEST(OpenPeerDatabaseTest, AFailureLeavesNothing) {
  EXPECT_EQ(FormOf<UpTo9_10>(""), "none");
  EXPECT_EQ(FormOf<From9_11>(""), "none");
  EXPECT_EQ(FormOf<From11>(""), "none");
}

}  // namespace
}  // namespace winnow
