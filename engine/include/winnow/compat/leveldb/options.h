// LevelDB's options, with LevelDB's defaults.
#ifndef WINNOW_COMPAT_LEVELDB_OPTIONS_H_
#define WINNOW_COMPAT_LEVELDB_OPTIONS_H_

#include <cstddef>

#include "leveldb/export.h"

namespace leveldb {

class Cache;
class Comparator;
class Env;
class FilterPolicy;
class Logger;
class Snapshot;

enum CompressionType { kNoCompression = 0x0, kSnappyCompression = 0x1 };

// Everything that is pointed to must outlive the database. Sizes outside the range given in
// brackets are moved to its nearest end.
struct Options {
  Options();

  const Comparator* comparator;  // BytewiseComparator()
  bool create_if_missing = false;
  bool error_if_exists = false;
  // True: a damaged write-ahead log keeps the database from opening. False: it does so only where
  // the database had been closed; otherwise what was written before the damage is kept.
  bool paranoid_checks = false;
  // Where files live: Env::Default(), or one of the program's own, of which the functions for files
  // and locks are used. Winnow runs its own background threads.
  Env* env;
  Logger* info_log = nullptr;  // not written to

  size_t write_buffer_size = 4 * 1024 * 1024;  // bytes [64 KiB - 1 GiB]
  int max_open_files = 1000;                   // tables open at one time [16 - 10 million]
  Cache* block_cache = nullptr;                // null: 8 MiB of the database's own
  size_t block_size = 4 * 1024;                // bytes before compression [1 KiB - 4 MiB]
  int block_restart_interval = 16;             // [1 - 1024]
  size_t max_file_size = 2 * 1024 * 1024;      // bytes [1 MiB - 1 GiB]
  CompressionType compression = kSnappyCompression;
  bool reuse_logs = false;  // without effect

  // Null: as the database was last opened, Winnow's blocked_bloom:10 for a new one under the
  // bytewise comparator, none under another one.
  const FilterPolicy* filter_policy = nullptr;
};

struct ReadOptions {
  bool verify_checksums = false;
  bool fill_cache = true;
  const Snapshot* snapshot = nullptr;  // null: the newest state
};

struct WriteOptions {
  bool sync = false;  // return only when the write survives a power failure
};

}  // namespace leveldb

#endif  // WINNOW_COMPAT_LEVELDB_OPTIONS_H_
