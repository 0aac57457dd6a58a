// LevelDB's cache: the block cache of databases, and a cache of whatever a program puts into it.
#ifndef WINNOW_COMPAT_LEVELDB_CACHE_H_
#define WINNOW_COMPAT_LEVELDB_CACHE_H_

#include <cstddef>
#include <cstdint>

#include "leveldb/export.h"
#include "leveldb/slice.h"

namespace leveldb {

class Cache;

// A cache that drops what was not used for longest once more than `capacity` is charged. As
// Options::block_cache it gives each database that names it one shared block cache of `capacity`
// bytes, apart from the entries that the program itself inserts. The caller deletes it once no
// open database uses it.
Cache* NewLRUCache(size_t capacity);

// Thread-safe. A Cache of the program's own making can be used by the program but not as
// Options::block_cache: the database then has a cache of 8 MiB of its own.
class Cache {
 public:
  Cache() = default;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  // Calls the deleters of all entries; no handle may be held any more.
  virtual ~Cache();

  struct Handle {};

  // Adds an entry, replacing one of the same key; `deleter` is called when it is gone and no handle
  // holds it. The handle returned must be released.
  virtual Handle* Insert(const Slice& key, void* value, size_t charge,
                         void (*deleter)(const Slice& key, void* value)) = 0;
  // Null if there is no such entry; else a handle to release.
  virtual Handle* Lookup(const Slice& key) = 0;
  virtual void Release(Handle* handle) = 0;
  virtual void* Value(Handle* handle) = 0;
  virtual void Erase(const Slice& key) = 0;
  // A number that was not given before.
  virtual uint64_t NewId() = 0;
  // Drops every entry that no handle holds.
  virtual void Prune() {}
  // What is charged for the present entries.
  virtual size_t TotalCharge() const = 0;
};

}  // namespace leveldb

#endif  // WINNOW_COMPAT_LEVELDB_CACHE_H_
