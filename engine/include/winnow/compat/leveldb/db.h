// LevelDB's C++ interface, on Winnow: programs written for LevelDB 1.23 compile unchanged with
// include/winnow/compat on the include path, and link Winnow::leveldb_compat.
//
// What differs:
// - Files on disk are Winnow's. `winnow import --from=leveldb` carries a database over.
// - leveldb/table.h, leveldb/table_builder.h and leveldb/dumpfile.h, which work on LevelDB's files,
//   are left out.
// - Without a filter policy tables still get a filter (options.h), which changes no answer.
// - RepairDB puts what it replaces into the directory lost/ inside the database's.
// - "leveldb.stats" has LevelDB's heading and its first three columns; in "leveldb.sstables"
//   keys stand without sequence number and type.
// - Reads do not start compactions.
// - A scan that meets a damaged block ends there with an error, whether or not paranoid_checks is
//   set: LevelDB leaves the block out and goes on, and whoever does not ask for the iterator's
//   status takes what is left for all there is.
// - Open fails where a log or CURRENT is missing beside other files, or a log is damaged though the
//   database had been closed, whether or not paranoid_checks is set: LevelDB opens without what was
//   there. RepairDB keeps what can be read.
// - What Open replays from the log stays in memory and in the log, as with LevelDB's reuse_logs:
//   every Open may call the comparator. LevelDB writes it to a table first.
// - An error of closing a log whose entries are in tables already is not reported.
// - Databases of LevelDB and RocksDB are told by their files: Open, RepairDB and DestroyDB refuse
//   them and change nothing.
// - RepairDB of a directory without a database, or of an open one, is an IOError; LevelDB makes an
//   empty database.
// - Keys have at most 1 MiB and values 1 GiB; longer ones are InvalidArgument, in Get too.
// - A comparator's name has at most 255 bytes; Open with a longer one is InvalidArgument.
// - An Open in a directory whose parent is missing is an IOError, not NotFound.
// - After an error of CompactRange writes fail until another CompactRange succeeds, not for ever.
// - NewMemEnv's locks exclude each other.
#ifndef WINNOW_COMPAT_LEVELDB_DB_H_
#define WINNOW_COMPAT_LEVELDB_DB_H_

#include <cstdint>
#include <cstdio>
#include <string>

#include "leveldb/export.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace leveldb {

// The version of LevelDB whose interface this is.
__attribute__((unused)) static const int kMajorVersion = 1;
__attribute__((unused)) static const int kMinorVersion = 23;

class WriteBatch;

// A frozen state: from GetSnapshot to ReleaseSnapshot. As in LevelDB reading at one that has been
// released is wrong and does no harm while the database is open: what has been compacted or
// overwritten since may be missing.
class Snapshot {
 protected:
  virtual ~Snapshot();
};

// The keys in [start, limit).
struct Range {
  Range() = default;
  Range(const Slice& first, const Slice& end) : start(first), limit(end) {}
  Slice start;
  Slice limit;
};

// Thread-safe. Deleting it closes the database; iterators must be deleted and snapshots released
// before.
class DB {
 public:
  // Opens or creates the database in directory `name`; *dbptr is the caller's to delete, null on an
  // error. InvalidArgument: missing and create_if_missing is false, existing and error_if_exists is
  // true, or another comparator. IOError: locked by another user ("IO error: lock ..."), a database
  // of another engine, no parent directory. Corruption: damaged.
  static Status Open(const Options& options, const std::string& name, DB** dbptr);

  DB() = default;
  DB(const DB&) = delete;
  DB& operator=(const DB&) = delete;
  virtual ~DB();

  // Put and Delete have definitions for subclasses to call: a batch, which they hand to Write.
  virtual Status Put(const WriteOptions& options, const Slice& key, const Slice& value) = 0;
  // An absent key is no error.
  virtual Status Delete(const WriteOptions& options, const Slice& key) = 0;
  // Applies the whole batch or nothing.
  virtual Status Write(const WriteOptions& options, WriteBatch* updates) = 0;
  // IsNotFound, and *value unchanged, if the key is absent.
  virtual Status Get(const ReadOptions& options, const Slice& key, std::string* value) = 0;
  // At first on no entry; the caller deletes it before the database.
  virtual Iterator* NewIterator(const ReadOptions& options) = 0;
  virtual const Snapshot* GetSnapshot() = 0;
  virtual void ReleaseSnapshot(const Snapshot* snapshot) = 0;
  // "leveldb.num-files-at-level<N>", "leveldb.stats", "leveldb.sstables",
  // "leveldb.approximate-memory-usage", and Winnow's own ("winnow.stats" ...). False: no such name.
  virtual bool GetProperty(const Slice& property, std::string* value) = 0;
  // sizes[i]: roughly the bytes of files that hold the keys of ranges[i]. What is in memory is not
  // counted.
  virtual void GetApproximateSizes(const Range* ranges, int n, uint64_t* sizes) = 0;
  // Compacts the keys from *begin to *end, both included; null: from the first, to the last. An
  // error shows in later writes and in the property "winnow.background-error".
  virtual void CompactRange(const Slice* begin, const Slice* end) = 0;
};

// Removes the database and nothing else in its directory, which goes too if nothing is left; a
// missing one is no error.
Status DestroyDB(const std::string& name, const Options& options);

// Makes a damaged database open again with everything that can still be read.
Status RepairDB(const std::string& name, const Options& options);

}  // namespace leveldb

#endif  // WINNOW_COMPAT_LEVELDB_DB_H_
