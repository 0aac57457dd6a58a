// Until 7.10 class Cache is here and takes a value with its deleter; since 8.0 it is in
// advanced_cache.h and takes an object with a helper, of which this header knows no more than the
// name.
#pragma once
#include <cstdint>

#include "status.h"
#include "version.h"

namespace ROCKSDB_NAMESPACE {

#if STAND_IN_VERSION >= 703
enum class CacheEntryRole { kDataBlock, kFilterConstruction, kMisc };
#endif

#if STAND_IN_VERSION >= 800
class Cache;
#else
class Cache {
 public:
  enum class Priority { HIGH, LOW };
  struct Handle {};
  using DeleterFn = void (*)(const Slice& key, void* value);
  virtual ~Cache() = default;
  virtual Status Insert(const Slice& key, void* value, size_t charge, DeleterFn deleter,
                        Handle** handle = nullptr, Priority priority = Priority::LOW) = 0;
  virtual bool Release(Handle* handle, bool erase_if_last_ref = false) = 0;
  virtual uint64_t NewId() = 0;
};
#endif

}  // namespace ROCKSDB_NAMESPACE
